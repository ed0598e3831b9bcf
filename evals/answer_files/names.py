"""Exact names that people give to the columns of answers. A name counts as a whole, in small letters (`snake`)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


GOLDS = _words(
    """gold golds gold_answer gold_answers gold_label gold_solution answer answers answer_key final_answer final_answers
    correct_answer correct_answers expected expected_answer expected_output reference references reference_answer ref
    reference_solution ground_truth ground_truths groundtruth ground_truth_answer gt gts gt_answer gt_ans target targets
    ideal truth true_answer standard_answer official_answer"""
)
RESPONSES = _words(
    """response responses generation generations completion completions output outputs model_output model_outputs
    model_response model_responses model_generation model_prediction llm_response
    llm_output output_response output_text output_texts generated_text generated_texts generated_response
    generated_responses raw_output raw_generation raw_response decoded_responses full_response sampled reply"""
)
OWN_TOO = _words("answer answers final_answer final_answers")  # golds, or the model's own
UNSURE_GOLDS = _words("label labels solution solutions")  # golds in one file, verdicts or responses in the next
UNSURE_RESPONSES = _words("content text solution solutions code pred predict prediction predictions")
PROBLEM_IDS = _words("problem_id problem_idx problem_uid question_id question_idx task_id doc_id qid")
PROBLEMS = frozenset(["problem", "question", "problem_text", "question_text"])
ROW_IDS = _words("id idx uid index name key unique_id example_id example_idx prompt_id prompt_idx")
VERDICTS = _words(
    """correct is_correct iscorrect correctness label acc accuracy score passed is_passed pass reward rewards verdict
    exact_match em is_right right success solved is_solved resolved graded_list if_right true_false"""
)
MODELS = frozenset(["model", "model_name", "model_id", "generator"])
BENCHMARKS = frozenset(["benchmark", "benchmark_name", "dataset", "dataset_name", "data_source", "task_name"])


def snake(name: str) -> str:
    """`goldAnswer`, `Gold Answer`, `gold-answer` -> `gold_answer`."""
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()).strip("_")


def last_name(path: str) -> str:
    """The innermost name on a path, in small letters: `ground_truth` of `rewards.*.groundTruth.0`."""
    names = [part for part in path.split(".") if part != "*" and not re.fullmatch(r"-?\d+", part)]
    return snake(names[-1]) if names else ""


def named(paths: Iterable[str], *names: Collection[str]) -> list[str]:
    """The paths whose innermost name is one of the names."""
    return [path for path in paths if any(last_name(path) in group for group in names)]


def may_be_row(row: Mapping[str, object]) -> bool:
    """Whether an object has a text by a name that people give to golds or responses."""
    return any(isinstance(row[name], str) for name in named(row, GOLDS, UNSURE_GOLDS, RESPONSES, UNSURE_RESPONSES))


def holds_rows(whole: Mapping[str, object], row: Mapping[str, object]) -> bool:
    """Whether an object is no row itself, but holds a list that begins with `row`: it has no id or problem, or the row
    has its own."""
    texts = [name for name, value in whole.items() if isinstance(value, str | int)]
    id_names = (PROBLEM_IDS, PROBLEMS, ROW_IDS)
    return not named(texts, *id_names) or bool(named(row, *id_names, GOLDS))
