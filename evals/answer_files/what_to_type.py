"""What to type where a file is of no known format, or a row lacks its gold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard

from evals.answer_files.labels import as_label
from evals.answer_files.paths import reach

_VERDICTS = ("correct", "is_correct", "correctness", "label", "acc", "accuracy", "score", "passed", "reward", "rewards")
_IDS = ("problem_id", "id", "uid", "qid", "question_id", "task_id", "doc_id", "example_id", "unique_id", "idx")
_BENCHMARKS = ("benchmark", "benchmark_name", "dataset", "dataset_name", "data_source", "task", "task_name")
_GOLDS = (
    *("gold", "answer", "expected_answer", "ground_truth", "target", "reference", "references", "gt", "gts"),
    *("gold_answer", "correct_answer", "final_answer", "label", "ground_truths", "solution"),
)
_RESPONSES = (
    *("response", "generation", "completion", "output", "model_output", "output_response", "prediction"),
    *("responses", "generations", "completions", "outputs", "model_outputs", "predictions", "decoded_responses"),
    *("model_response", "llm_response", "model_prediction", "model_generation", "raw_generation", "raw_output"),
    *("generated_text", "predict", "content", "text", "solution", "code"),
)

DEEPEST = 7  # objects and lists around a text
SHOWN = 12  # paths of texts that an error lists
Objects = Sequence[Mapping[str, object]]


def may_be_row(row: Mapping[str, object]) -> bool:
    """Whether an object has a text by a name that people give to golds or responses."""
    return any(isinstance(row.get(name), str) for name in (*_GOLDS, *_RESPONSES))


def inside(row: Mapping[str, object]) -> list[str]:
    """The paths of the texts inside the objects and lists of a row, of each list its first item."""
    return [path for path in _texts(row, "", DEEPEST) if "." in path][:SHOWN]


def _texts(value: object, at: str, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield at
        return
    items = list(value.items()) if isinstance(value, Mapping) else [(0, value[0])] if _is_list(value) else []
    for name, of in items if depth else ():
        yield from _texts(of, f"{at}.{name}" if at else str(name), depth - 1)


def _is_text(value: object) -> bool:
    """Whether a response may be read of a value: a text, a list of texts, a conversation."""
    first = value[0] if _is_list(value) else value
    return not isinstance(first, dict) or "role" in first


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list) and bool(value)


def missing_gold(row: Mapping[str, object]) -> str:
    """That a row has no gold, and what to type."""
    theirs = next((column for column in _GOLDS if row.get(column)), "THEIRS")
    return (
        f"this row has no gold answer. Its columns are {', '.join(row)}. If one of them is the gold answer, type "
        f"columns=answer:{theirs}. If the gold answers are in another file, type gold=FILE. FILE needs answer, and "
        "problem_id or problem"
    )


def unread(objects: Objects, columns: Mapping[str, str]) -> tuple[str, ...]:
    """The columns that may be verdicts and are read as nothing else: of truth values, or of the names of verdicts with
    nothing but verdicts."""
    return tuple(
        name
        for name in objects[0]
        if name not in columns.values()
        and (
            all(_is_truth(row.get(name)) for row in objects)
            or (name in _VERDICTS and all(_is_label(row.get(name)) for row in objects))
        )
    )


def _is_truth(value: object) -> bool:
    """true or false, also as a CSV has it."""
    return isinstance(value, bool) or str(value).lower() in ("true", "false")


def _is_label(value: object) -> bool:
    try:
        as_label(value)
    except ValueError:
        return False
    return True


def given_by(objects: Objects) -> str:
    """The columns of an unknown table as they may be meant, by names that people give them; THEIRS where none is. An id
    that tells rows with the same question apart is none of the problem."""
    row = objects[0]
    nested = [f"{name}.{key}" for name, of in row.items() if isinstance(of, dict) for key in of]
    paths = {path.rpartition(".")[2]: path for path in reversed([*row, *nested])}

    def of(names: Sequence[str]) -> str | None:
        return next((paths[name] for name in names if name in paths), None)

    problem, gold = of(("problem", "question", "prompt", "input")), of(_GOLDS)
    response = of([name for name in _RESPONSES if paths.get(name) != gold])
    used = {"expected": gold or ""}
    verdict = of([name for name in _VERDICTS if paths.get(name) != gold]) or next(iter(unread(objects, used)), None)
    key = of(_IDS)
    if key and problem and len({str(reach(o, key)) for o in objects}) != len({str(reach(o, problem)) for o in objects}):
        key = None
    benchmark = of(_BENCHMARKS)
    if benchmark == "benchmark" or len({str(reach(o, benchmark)) for o in objects if benchmark}) < 2:
        benchmark = None
    given = {
        "problem_id": None if key == "problem_id" else key,
        "problem": problem,
        "answer": gold or "THEIRS",
        "response": response or "THEIRS",
        "expected": verdict,
        "benchmark": benchmark,
    }
    named = ",".join(f"{ours}:{theirs}" for ours, theirs in given.items() if theirs)
    elsewhere = "" if gold else " (or, instead of answer, gold=FILE)"
    texts = [] if response and _is_text(reach(row, response)) else inside(row)
    return f"columns={named}{elsewhere}" + (f". Texts inside a row: {', '.join(texts)}" if texts else "")


def verdicts_by(objects: Objects) -> str | None:
    """The columns of a table of verdicts without responses, as they may be meant; None without a column of verdicts."""
    row = objects[0]
    verdict = next((name for name in (*_VERDICTS, *unread(objects, {})) if name in row), None)
    others = [name for name in row if name != verdict]
    key = next((name for name in (*_IDS, "problem", "question", "prompt", *others) if name in others), None)
    return None if verdict is None or key is None else f"columns=id:{key},correct:{verdict}"
