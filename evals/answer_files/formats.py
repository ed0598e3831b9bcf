"""Answers as other tools save them: a table of formats, recognised by their fields and read into rows of one form.

A row has `problem_id`, `answer` (the gold) and `response`, and, where the file has them, `problem`, `finish_reason`,
`tokens`, `step`, `benchmark`, `labels` (their own verdicts on the sample, by the name that they have there, as they
stand there; `as_label` reads one), `their_answer` (what they extracted) and `sampling_error` (why their engine gave no
response). Nothing is guessed: `evals.answer_files.reading` reports what a file lacks.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evals.code_execution.program_grader import gold
from evals.files import UsageError
from evals.grading.verdicts import Verdict

Row = dict[str, Any]
NEEDED = ("problem_id", "answer", "response")
READ = (
    *(*NEEDED, "expected", "problem", "finish_reason", "tokens", "step", "seed", "train_seed", "benchmark"),
    *("their_answer", "sampling_error", "id", "correct", "truncated"),  # the last three: of a table of verdicts
    *("level", "subject", "type", "difficulty", "category", "source"),  # parts of a benchmark, for `rlvr audit`
)
"""Our columns, which `columns=` can name."""
ENDED = ("stop", "length", None)  # finish reasons of an evaluation's responses that can be graded
ABSENT = object()
BENCHMARK = "answers"  # of rows that name none
PER_SAMPLE = ("response", "labels", "their_answer", "tokens", "finish_reason")


def problem_of(row: Row) -> tuple[str, str]:
    """(benchmark, problem_id): what makes rows samples of one problem. A row of no benchmark is of `BENCHMARK`."""
    name = row.get("benchmark")
    return name if isinstance(name, str) and name else BENCHMARK, str(row["problem_id"])


@dataclass(frozen=True)
class Format:
    """How a tool saves samples.

    Attributes:
        made_by: the tool, and its files.
        fields: those by which its objects are recognised.
        columns: our name -> theirs (see `reach`); `labels` is their verdict, or several, the one to take first.
        more: columns that need more than a name, from the object.
        golds: how the tool counts several golds of a problem: "any" of them is right; None: it does not say.
    """

    made_by: str
    fields: tuple[str, ...]
    columns: Mapping[str, str] = field(default_factory=dict)
    more: Callable[[Row], Row] = lambda row: {}
    golds: str | None = None


def format_of(first: Mapping[str, Any]) -> str | None:
    """The format whose objects look like this one, or None."""
    return next((name for name, form in FORMATS.items() if set(form.fields) <= set(first)), None)


def read_object(name: str | None, number: int, value: Row, columns: Mapping[str, str]) -> list[Row]:
    """The rows of one object: several where its response is a list, as its answers and verdicts then are.

    Args:
        name: of its format; None for a table that only `columns` describe, whose other columns are kept.
        number: of the object in its file, from 1; the problem's id where there is no other.
        columns: our name -> theirs, beside those of the format; `expected` is their verdict.
    Raises:
        KeyError, IndexError, TypeError, AttributeError, ValueError: it is not of this format, or has no such column.
    """
    form = FORMATS.get(name or "", ANY)
    plain = name is None or name in OURS
    row = dict(value) if plain else {}
    if plain and "gold" in value:
        if "answer" in value and "answer" not in columns and str(value["answer"]) != str(value["gold"]):
            raise UsageError(
                "both gold and answer, and they differ: columns=answer:gold takes gold as the gold answer, "
                "columns=answer:answer takes answer"
            )
        row.setdefault("answer", value["gold"])
    if plain and isinstance(value.get("question"), str):
        row.setdefault("problem", value["question"])
    row |= {ours: found for ours, theirs in form.columns.items() if (found := reach(value, theirs)) is not ABSENT}
    if "labels" in form.columns:
        names = form.columns["labels"].split("|")
        row["labels"] = _labels({name: there for name in names if (there := _reach(value, name)) is not ABSENT})
    elif plain and "expected" in row:
        row["labels"] = _labels({"expected": row["expected"]})
    row |= form.more(value)
    for ours, theirs in columns.items():
        found = reach(value, theirs)
        row[ours] = row.get(theirs, ABSENT) if found is ABSENT else found
        if row[ours] is ABSENT:
            raise UsageError(f"no column {theirs!r} for {ours}; there are {', '.join(value)}")
    if "expected" in columns:
        row["labels"] = _labels({columns["expected"]: row.pop("expected")})
    for name in ("problem_id", "problem", "response"):
        if is_conversation(row.get(name)):
            row[name] = said(row[name]) if name == "response" else text_of(row[name])
    row.setdefault("problem_id", row.get("problem", number))
    if isinstance(row.get("response"), str) and isinstance(row.get("labels"), list):
        row["response"] = [row["response"]]
    if not isinstance(row.get("response"), list):
        return [row if plain else _as_texts(row)]
    per_sample = {key: row[key] for key in PER_SAMPLE if isinstance(row.get(key), list)}
    if len(set(map(len, per_sample.values()))) > 1:
        raise UsageError(f"lists of other lengths: {', '.join(f'{key} {len(of)}' for key, of in per_sample.items())}")
    samples = zip(*per_sample.values(), strict=True)
    return [_as_texts({**row, **dict(zip(per_sample, sample, strict=True))}) for sample in samples]


def _as_texts(row: Row) -> Row:
    """The row with its gold and its problem's id as texts."""
    texts = {key: str(row[key]) for key in ("answer", "problem_id") if isinstance(row.get(key), str | int | float)}
    return {**row, **texts}


def reach(value: Any, name: str) -> Any:
    """value["a"]["b"] for "a.b" (or value["a.b"]); of "a|b", the first that has a value; ABSENT where there is none."""
    found = [there for path in name.split("|") if (there := _reach(value, path)) is not ABSENT]
    return next((there for there in found if there is not None), None if found else ABSENT)


def _reach(value: Any, path: str) -> Any:
    if isinstance(value, dict) and path in value:
        return value[path]
    first, dot, rest = path.partition(".")
    if isinstance(value, list) and first.isdecimal() and int(first) < len(value):
        inside = value[int(first)]
    elif isinstance(value, dict) and first in value:
        inside = value[first]
    else:
        return ABSENT
    return _reach(inside, rest) if dot else inside


def _labels(found: Row) -> Row | list[Row]:
    """Verdicts by their name, for an object or, where they are lists, for each of its samples."""
    lists = {name: verdicts for name, verdicts in found.items() if isinstance(verdicts, list)}
    if not lists:
        return found
    samples = range(max(map(len, lists.values())))
    return [{name: verdicts[at] for name, verdicts in lists.items() if at < len(verdicts)} for at in samples]


def as_label(value: Any, threshold: float | None = None) -> bool | None:
    """A verdict as tools write it: true and false, 1 and 0, pass and fail, C, I and N (no answer), also as text (as in
    a CSV); -1 is the reward of an incorrect answer. None for nothing: null, NaN, an empty text.

    Args:
        threshold: correct is what is this large or larger; None: nothing between 0 and 1 is a verdict.
    Raises:
        UsageError: another value, such as 0.1 or "P" (inspect's word for 0.5).
    """
    number: Any = value
    if isinstance(value, str):
        text = value.strip().lower()
        number = None if text in _NOTHING else _AS_NUMBER.get(text, value)
        if isinstance(number, str):
            number = float(text) if _NUMBER.fullmatch(text) else value
    if number is None or number != number:
        return None
    if isinstance(number, int | float):
        if threshold is not None:
            return number >= threshold
        if number in (1, 0, -1):  # True == 1 == 1.0
            return number == 1
    raise UsageError(
        f"{value!r} is no verdict; expected true or false, 1 or 0"
        + ("; or label_threshold=1: 1 is correct, less is not" if isinstance(number, int | float) else "")
    )


_NOTHING = ("", "null", "none", "nan")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?")
_AS_NUMBER = {
    **dict.fromkeys(("true", "c", "correct", "pass", "passed"), 1.0),
    **dict.fromkeys(("false", "i", "n", "incorrect", "wrong", "fail", "failed"), 0.0),
    "p": 0.5,
}


# -- what a name does not say ------------------------------------------------------------------------------------------


def _lm_eval(row: Row) -> Row:
    responses = [r for group in row["resps"] for r in (group if isinstance(group, list) else [group])]
    if any(isinstance(response, list) for response in responses):
        raise UsageError(
            "resps holds log-likelihoods of choices and no response, so nothing can be graded; rlvr audit takes its "
            "verdicts: columns=id:doc_id,correct:acc"
        )
    if len(responses) != 1:  # a metric of all samples is not a verdict on one
        return {"response": responses}
    name = row.get("filter") or "none"
    metrics = [m for m in row.get("metrics") or ("exact_match",) if m in row]
    extracted = (row.get("filtered_resps") or [None])[0]
    doc = row.get("doc") or {}
    code = {"answer": test_of(doc)} if is_program(doc) else {}
    labels = {f"{metric},{name}": row[metric] for metric in metrics}
    theirs = dict.fromkeys(labels, extracted) if isinstance(extracted, str) else {}
    return {**code, "response": responses[0], "labels": labels, "answers_of_labels": theirs}


def is_program(row: Row) -> bool:
    """Whether a row is a task of HumanEval or HumanEval+ as published."""
    return {"prompt", "test", "entry_point"} <= set(row)


def test_of(row: Row) -> str:
    """The gold answer of such a task: its test."""
    return gold(row["prompt"], row["test"], row["entry_point"])


def samples_named(metric: str) -> int | None:
    """The n in a metric's name, such as 4 in "pass@k:k=1&n=4", "math_pass@1:4_samples", "avg@n:n=4"."""
    match = re.search(r"(?:\bn=|pass@1:)(\d+)", metric)
    return int(match[1]) if match else None


def _of_one(metric: str, value: Any) -> Any:
    """lighteval divides by the n of pass@1 even for a single sample: 1/4 then means one correct sample of one."""
    n = samples_named(metric)
    first = re.search(r"k=1\b|pass@1:", metric)
    return value * n if n and first and isinstance(value, float) and value == 1 / n else value


def _lighteval(row: Row) -> Row:
    doc, output = row["doc"], row["model_response"]
    limit = doc.get("generation_size")
    texts = output["text"]
    tokens = [len(ids) if ids else None for ids in output.get("output_tokens") or ()]
    counts = [*tokens, *[None] * len(texts)][: len(texts)]
    metrics = (row.get("metric") or {}) if len(texts) == 1 else {}
    return {
        "answer": [doc["choices"][index] for index in _list(doc["gold_index"])],
        "tokens": counts,
        "finish_reason": [
            None if not limit or count is None else "length" if count >= limit else "stop" for count in counts
        ],
        "labels": {name: _of_one(name, value) for name, value in metrics.items()},
    }


def _inspect(row: Row) -> Row:
    scores, question = row.get("scores") or {}, row.get("input")
    answers = [score.get("answer") for score in scores.values()]
    completion = reach(row, "output.completion|output.choices.0.message.content")
    return {
        "problem": question if isinstance(question, str) else text_of((question or [])[-1:]),
        "response": text_of(None if completion is ABSENT else completion),
        "finish_reason": {"stop": "stop", "max_tokens": "length"}.get(str(reach(row, "output.choices.0.stop_reason"))),
        "labels": {name: score.get("value") for name, score in scores.items()},
        "their_answer": answers[0] if len(answers) == 1 else None,
        "sampling_error": _message(row.get("error")),
    }


def _message(error: Any) -> str | None:
    """The text of inspect's error of a sample."""
    return None if error is None else f"error: {error.get('message', error) if isinstance(error, dict) else error}"


def _trl(row: Row) -> Row:
    rewards = {name: value for name, value in row.items() if isinstance(value, float) and name != "advantage"}
    return {"problem": text_of(row["prompt"]), "response": text_of(row["completion"]), "labels": rewards}


def _verdicts(row: Row) -> Row:
    known = [verdict.value for verdict in Verdict]
    if row["verdict"] not in known:
        raise UsageError(f"verdict is {row['verdict']!r}; expected one of {', '.join(known)}")
    correct = None if row["verdict"] == Verdict.UNSCORED else row["verdict"] == Verdict.CORRECT
    answered = row["extracted"] if "extracted" in row else row.get("answer")  # `rlvr grade out=`; an evaluation
    read = {"labels": {"verdict": correct}, "their_answer": answered}
    if row.get("sampling_error"):  # of `rlvr grade out=`
        read["sampling_error"] = row["sampling_error"]
    elif "extracted" not in row and row.get("finish_reason") not in ENDED:  # of an evaluation: a server withheld it
        read["sampling_error"] = row.get("reason") or f"server: no response ({row['finish_reason']})"
    return read


def _rollouts(row: Row) -> Row:
    samples = row["rollouts"]
    names = [name for name in ("text", "response", "output", "completion") if samples and name in samples[0]]
    name = (names or ["text"])[0]
    if lacking := next((sample for sample in samples if name not in sample), None):
        raise UsageError(f"rollouts: expected text (or response) of each, got one with {', '.join(lacking)}")
    return {
        "response": [sample[name] for sample in samples],
        "labels": [{"correct": sample.get("correct")} for sample in samples],
    }


def _lighteval_before(row: Row) -> Row:
    texts, golds = _list(row["predictions"]), _list(row["gold"])
    return {"answer": golds, "response": texts, "labels": dict(row["metrics"] or {}) if len(texts) == 1 else {}}


def _list(value: Any) -> list[Any]:
    """A list, also one that was written as Python shows it."""
    if isinstance(value, str) and value.startswith("["):
        value = ast.literal_eval(value)
    return value if isinstance(value, list) else [value]


def _opencompass(row: Row) -> Row:
    correct = row.get("correct")
    verdict = correct[0] if isinstance(correct, list) and len(correct) == 1 else correct
    prompt = row.get("origin_prompt", row.get("prompt"))
    return {
        "problem": text_of(prompt),
        "labels": {} if verdict is None else {"correct": verdict},
        "their_answer": row["predictions"] if isinstance(row.get("predictions"), str) else None,
    }


def _skyrl(row: Row) -> Row:
    score = row["score"]
    return {
        "labels": {"score": sum(score) if isinstance(score, list) else score},  # a reward of each token, or of all
        "finish_reason": row["stop_reason"] if row.get("stop_reason") in ("stop", "length") else None,
    }


def _verifiers(row: Row) -> Row:
    return {
        "answer": row.get("answer") or None,  # some environments keep theirs elsewhere, and write an empty one
        "labels": {"reward": row["reward"], **(row.get("metrics") or {})},
        "finish_reason": "length" if row.get("is_truncated") else None,
        "sampling_error": _message(row.get("error")),
    }


_JUDGED = re.compile(r"judge?ment\W{0,6}(yes|no)\b", re.IGNORECASE)


def _nemo_skills(row: Row) -> Row:
    labels: Row = {name: row[name] for name in ("symbolic_correct", "is_correct") if name in row}
    if "judgement" in row:
        judged = _JUDGED.findall(row["judgement"] or "")
        labels["judgement"] = None if not judged else judged[-1].lower() == "yes"
    return {
        "labels": labels,
        "finish_reason": row["finish_reason"] if row.get("finish_reason") in ("stop", "length") else None,
    }


def _open_r1(row: Row) -> Row:
    reasons = row.get("finish_reasons")
    known = [reason if reason in ("stop", "length") else None for reason in reasons or ()]
    return {"finish_reason": known or [None] * len(row["generations"])}


def _evalplus(row: Row) -> Row:
    return {"labels": {name: row[key] for name in ("plus", "base") if (key := f"{name}_status") in row}}


def _every_eval_ever(row: Row) -> Row:
    if len(row["output"]["raw"]) != 1:
        raise UsageError(
            f"output.raw: expected one response, which is_correct is about, got {len(row['output']['raw'])}"
        )
    return {"response": row["output"]["raw"][0]}


def text_of(messages: Any) -> str:
    """The text of a conversation, or of a message in parts; a string is returned unchanged."""
    if messages is None or isinstance(messages, str):
        return messages or ""
    parts = (m.get("content", m.get("text", m.get("prompt"))) if isinstance(m, dict) else m for m in messages)
    return "\n".join(text_of(part) for part in parts)


def is_conversation(value: Any) -> bool:
    """Whether it is a list of messages."""
    return isinstance(value, list) and all(isinstance(m, dict) and "role" in m for m in value) and bool(value)


def said(messages: list[Row]) -> str:
    """What the model said in a conversation."""
    return text_of([message for message in messages if message["role"].lower() in ("assistant", "bot")])


# -- the formats -------------------------------------------------------------------------------------------------------

ANY = Format("a table that the user's columns describe", ())
VERDICTS = "verdicts"
FORMATS: dict[str, Format] = {
    VERDICTS: Format(
        "ours: verdicts of an evaluation or of `rlvr grade out=`",
        ("problem_id", "gold", "response", "verdict"),
        {
            **{name: name for name in ("problem_id", "problem", "response", "finish_reason", "tokens", "benchmark")},
            **{"graded_by": "graded_by", "answer": "golds|gold"},
        },
        _verdicts,
        "any",
    ),
    "rows": Format("ours", NEEDED),
    "qwen_math": Format(
        "evaluation of Qwen2.5-Math and SimpleRL",
        ("idx", "gt", "code"),
        {
            "problem_id": "idx",
            "problem": "question",
            "answer": "gt",
            "response": "code",
            "their_answer": "pred",
            "labels": "score",
        },
    ),
    "lm_eval": Format(
        "lm-evaluation-harness, samples_*.jsonl: an object for each doc and filter",
        ("doc_id", "target", "resps"),
        {"problem_id": "doc_id", "problem": "doc.problem|doc.question", "answer": "target"},
        _lm_eval,
        "any",
    ),
    "lighteval": Format(
        "lighteval, details_*.parquet",
        ("doc", "model_response"),
        {"problem_id": "doc.id", "problem": "doc.query", "response": "model_response.text"},
        _lighteval,
        "any",
    ),
    "inspect": Format(
        "inspect_ai, logs .json or .eval (zip)",
        ("id", "target", "output"),
        {"problem_id": "id", "answer": "target", "tokens": "output.usage.output_tokens"},
        _inspect,
        "any",
    ),
    "every_eval_ever": Format(
        "Every Eval Ever, instances of one turn and one response",
        ("sample_id", "input", "output", "evaluation"),
        {
            "problem_id": "sample_id",
            "problem": "input.raw",
            "answer": "input.reference",
            "their_answer": "answer_attribution.0.extracted_value",
            "labels": "evaluation.is_correct",
            "tokens": "token_usage.output_tokens",
            "benchmark": "evaluation_name",
        },
        _every_eval_ever,
    ),
    "verl_generation": Format(
        "veRL's main_generation, *.parquet",
        ("prompt", "reward_model", "responses"),
        {"problem": "prompt", "answer": "reward_model.ground_truth", "response": "responses"},
    ),
    "lighteval_before": Format(
        "lighteval before version 0.10, details_*.parquet; without ids, so equal prompts are one problem",
        ("full_prompt", "predictions", "gold", "metrics"),
        {"problem": "full_prompt"},
        _lighteval_before,
        "any",
    ),
    "opencompass": Format(
        "OpenCompass, predictions/*.json",
        ("origin_prompt", "prediction"),
        {"problem_id": "idx", "answer": "gold", "response": "prediction"},
        _opencompass,
        "any",
    ),
    "opencompass_details": Format(
        "OpenCompass, results/*.json with details",
        ("origin_prediction", "predictions", "references"),
        {"problem_id": "idx", "answer": "references", "response": "origin_prediction"},
        _opencompass,
        "any",
    ),
    "skyrl": Format(
        "SkyRL, dumped_evals/*/*.jsonl; without ids, so equal prompts are one problem",
        ("input_prompt", "output_response", "env_extras"),
        {
            "problem": "input_prompt",
            "answer": "env_extras.reward_spec.ground_truth|env_extras.reward_model.ground_truth",
            "response": "output_response",
            "benchmark": "data_source",
        },
        _skyrl,
    ),
    "verifiers": Format(
        "verifiers and prime-rl, results.jsonl",
        ("example_id", "prompt", "completion", "reward"),
        {"problem_id": "example_id", "problem": "prompt", "response": "completion", "labels": "reward"},
        _verifiers,
    ),
    "nemo_skills": Format(
        "NeMo-Skills, output*.jsonl",
        ("expected_answer", "generation"),
        {
            "problem_id": "id|problem|question",
            "problem": "problem|question",
            "answer": "expected_answer",
            "response": "generation",
            "their_answer": "predicted_answer",
            "tokens": "num_generated_tokens",
            "labels": "symbolic_correct|is_correct|judgement",
        },
        _nemo_skills,
    ),
    "open_r1": Format(
        "OpenR1's and its descendants' data with several generations of a problem",
        ("generations", "correctness_math_verify"),
        {
            "problem_id": "uuid|problem",
            "problem": "problem",
            "answer": "answer",
            "response": "generations",
            "labels": "correctness_math_verify|correctness_llama",
        },
        _open_r1,
    ),
    "human_eval": Format(
        "human-eval, samples.jsonl and *_results.jsonl; give gold=HumanEval.jsonl.gz",
        ("task_id", "completion"),
        {"problem_id": "task_id", "response": "completion", "labels": "passed"},
    ),
    "evalplus": Format(
        "evalplus, samples and *_eval_results.json; give gold=HumanEvalPlus-OriginFmt.jsonl.gz, of HumanEval or MBPP+",
        ("task_id", "solution"),
        {"problem_id": "task_id", "response": "solution"},
        _evalplus,
    ),
    "oat": Format(
        "oat's evaluation: a JSON list; without ids, so equal prompts are one problem",
        ("input", "output", "scores", "reference"),
        {"problem": "input", "answer": "reference", "response": "output", "labels": "scores"},
        golds="any",
    ),
    "rollouts": Format(
        "nested rollouts of one problem",
        ("qid", "gold", "rollouts"),
        {"problem_id": "qid", "problem": "question", "answer": "gold"},
        _rollouts,
    ),
    "verl": Format(
        "veRL, validation dumps; without ids, so equal prompts are one problem",
        ("input", "output", "gts"),
        {
            "problem": "input",
            "answer": "gts",
            "response": "output",
            "step": "step",
            "their_answer": "pred",
            "labels": "acc|score",
        },
    ),
    "trl": Format(
        "TRL's trainers, completions_*.parquet; without ids, so equal prompts are one problem",
        ("step", "prompt", "completion"),
        {"answer": "answer", "step": "step"},
        _trl,
    ),
    "gold_rows": Format("ours, by other names", ("gold", "response")),
    "answer_rows": Format("ours, without ids", ("answer", "response")),
}
"""Tried in this order."""
AS_PROGRAMS = {"human_eval": "program_completion", "evalplus": "program_whole"}
"""What the responses of a format are, where they are programs."""
OURS = ("rows", "gold_rows", "answer_rows")
"""Their columns are kept as they are."""
