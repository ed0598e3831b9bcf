"""Answers as other tools save them: a table of formats, recognised by their fields and read into rows of one form.

A row has `problem_id`, `answer` (the gold) and `response`, and, where the file has them, `problem`, `finish_reason`,
`tokens`, `step`, `benchmark`, `labels` (their own verdicts on the sample, by the name that they have there: true,
false, or null for values between) and `their_answer` (what they extracted). Nothing is guessed:
`evals.answer_files.reading` reports what a file lacks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
NEEDED = ("problem_id", "answer", "response")
ABSENT = object()


@dataclass(frozen=True)
class Format:
    """How a tool saves samples.

    Attributes:
        made_by: the tool, and its files.
        fields: those by which its objects are recognised.
        columns: our name -> theirs. Dots reach into objects and lists; of `a|b`, the first that has a value. An object
            with a list of responses is a row for each; their answers and verdicts are then lists too.
        labels: their verdicts: a field, or an object with one for each name.
        more: columns that need more than a name, from the object.
    """

    made_by: str
    fields: tuple[str, ...]
    columns: Mapping[str, str]
    labels: str = ""
    more: Callable[[Row], Row] = lambda row: {}


def format_of(first: Mapping[str, Any]) -> str | None:
    """The format whose objects look like this one, or None."""
    return next((name for name, form in FORMATS.items() if set(form.fields) <= set(first)), None)


def read_object(name: str, number: int, value: Row) -> list[Row]:
    """The rows of one object of a format.

    Args:
        number: of the object in its file, from 0; the problem's id where there is no other.
    Raises:
        KeyError, IndexError, TypeError, AttributeError, ValueError: it is not one.
    """
    if name in OURS:
        if "gold" in value:
            value.setdefault("answer", value["gold"])
        return [value]
    form = FORMATS[name]
    row = {ours: found for ours, theirs in form.columns.items() if (found := reach(value, theirs)) is not ABSENT}
    row |= _labels(form.labels, value) | form.more(value)
    if name == "task_outputs":
        row["problem_id"] = f"{row['benchmark']}-{number}"
    row.setdefault("problem_id", row.get("problem", number))
    for ours in NEEDED[:1] + NEEDED[2:]:
        if ours not in row:
            raise KeyError(form.columns[ours])
    answer = row.get("answer")
    gold = {} if answer is None else {"answer": str(answer[0] if isinstance(answer, list) else answer)}
    common = {**row, **gold, "problem_id": str(row["problem_id"])}
    if not isinstance(row["response"], list):
        return [common]
    alone = ("response", "labels", "their_answer", "tokens", "finish_reason")
    per_sample = {key: row[key] for key in alone if isinstance(row.get(key), list)}
    samples = zip(*per_sample.values(), strict=True)
    return [{**common, **dict(zip(per_sample, sample, strict=True))} for sample in samples]


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


def _labels(name: str, value: Row) -> Row:
    """`labels` of an object, or of each of its samples; nothing where it has none."""
    field = next((path for path in name.split("|") if _reach(value, path) is not ABSENT), None)
    verdicts = None if field is None else _reach(value, field)
    if isinstance(verdicts, dict):
        return {"labels": {key: as_label(verdict) for key, verdict in verdicts.items()}}
    if isinstance(verdicts, list) and verdicts:
        return {"labels": [{} if verdict is None else {field: as_label(verdict)} for verdict in verdicts]}
    return (
        {} if field is None or not isinstance(verdicts, str | int | float) else {"labels": {field: as_label(verdicts)}}
    )


def as_label(value: Any) -> bool | None:
    """A verdict as tools write it: true and false, 1 and 0, C, I and N (no answer), also as text (as in a CSV); -1 is
    the reward of an incorrect answer. None for values in between (0.5, "P") and other values."""
    if isinstance(value, str):
        return _AS_TEXT.get(value.strip().lower())
    numbers = {1.0: True, 0.0: False, -1.0: False}  # True == 1 == 1.0
    return numbers.get(value) if isinstance(value, int | float) else None


_AS_TEXT = {
    **dict.fromkeys(("true", "1", "1.0", "c", "correct"), True),
    **dict.fromkeys(("false", "0", "0.0", "-1", "-1.0", "i", "n", "incorrect", "wrong"), False),
}


# -- what a name does not say ------------------------------------------------------------------------------------------


def _lm_eval(row: Row) -> Row:
    responses = [r for group in row["resps"] for r in (group if isinstance(group, list) else [group])]
    if len(responses) != 1:  # a metric of all samples is not a verdict on one
        return {"response": responses}
    name = row.get("filter") or "none"
    metrics = [m for m in row.get("metrics") or ("exact_match",) if m in row]
    extracted = (row.get("filtered_resps") or [None])[0]
    return {
        "response": responses[0],
        "labels": {f"{metric},{name}": as_label(row[metric]) for metric in metrics},
        "their_answer": extracted if isinstance(extracted, str) else None,
    }


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
    gold, limit = doc["gold_index"], doc.get("generation_size")
    texts = output["text"]
    tokens = [len(ids) if ids else None for ids in output.get("output_tokens") or ()]
    counts = [*tokens, *[None] * len(texts)][: len(texts)]
    metrics = (row.get("metric") or {}) if len(texts) == 1 else {}
    return {
        "answer": doc["choices"][gold[0] if isinstance(gold, list) else gold],
        "tokens": counts,
        "finish_reason": [
            None if not limit or count is None else "length" if count >= limit else "stop" for count in counts
        ],
        "labels": {name: as_label(_of_one(name, value)) for name, value in metrics.items()},
    }


def _inspect(row: Row) -> Row:
    scores, question = row.get("scores") or {}, row.get("input")
    answers = [score.get("answer") for score in scores.values()]
    completion = reach(row, "output.completion|output.choices.0.message.content")
    return {
        "problem": question if isinstance(question, str) else text_of((question or [])[-1:]),
        "response": text_of(None if completion is ABSENT else completion),
        "finish_reason": {"stop": "stop", "max_tokens": "length"}.get(str(reach(row, "output.choices.0.stop_reason"))),
        "labels": {name: as_label(score.get("value")) for name, score in scores.items()},
        "their_answer": answers[0] if len(answers) == 1 else None,
    }


def _evalscope(row: Row) -> Row:
    questions = [m for m in row.get("messages") or () if m.get("role") == "user"]
    return {"problem": text_of(questions[-1:]) or row.get("input")}


def _trl(row: Row) -> Row:
    rewards = {name: as_label(value) for name, value in row.items() if isinstance(value, float) and name != "advantage"}
    return {"problem": text_of(row["prompt"]), "response": text_of(row["completion"]), "labels": rewards}


def _rollouts(row: Row) -> Row:
    samples = row["rollouts"]
    return {
        "response": [sample["text"] for sample in samples],
        "labels": [{"correct": as_label(sample.get("correct"))} for sample in samples],
    }


def text_of(messages: Any) -> str:
    """The text of a conversation, or of a message in parts; a string is returned unchanged."""
    if messages is None or isinstance(messages, str):
        return messages or ""
    parts = (m.get("content", m.get("text")) if isinstance(m, dict) else m for m in messages)
    return "\n".join(text_of(part) for part in parts)


# -- the formats -------------------------------------------------------------------------------------------------------

FORMATS: dict[str, Format] = {
    "rows": Format("ours", NEEDED, {}),
    "qwen_math": Format(
        "evaluation of Qwen2.5-Math and SimpleRL",
        ("idx", "gt", "code"),
        {"problem_id": "idx", "problem": "question", "answer": "gt", "response": "code", "their_answer": "pred"},
        "score",
    ),
    "lm_eval": Format(
        "lm-evaluation-harness, samples_*.jsonl: an object for each doc and filter",
        ("doc_id", "target", "resps"),
        {"problem_id": "doc_id", "problem": "doc.problem|doc.question", "answer": "target", "response": "resps"},
        more=_lm_eval,
    ),
    "lighteval": Format(
        "lighteval, details_*.parquet",
        ("doc", "model_response"),
        {"problem_id": "doc.id", "problem": "doc.query", "response": "model_response.text"},
        more=_lighteval,
    ),
    "evalscope": Format(
        "evalscope, reviews/<model>/*.jsonl",
        ("index", "target", "sample_score"),
        {
            "problem_id": "sample_score.group_id|index",
            "answer": "target",
            "response": "sample_score.score.prediction",
            "their_answer": "sample_score.score.extracted_prediction",
        },
        "sample_score.score.value",
        _evalscope,
    ),
    "inspect": Format(
        "inspect_ai, logs .json or .eval (zip)",
        ("id", "target", "output"),
        {"problem_id": "id", "answer": "target", "tokens": "output.usage.output_tokens"},
        more=_inspect,
    ),
    "task_outputs": Format(
        "understand-r1-zero's evaluator: a JSON list",
        ("task_name", "gt", "model_output"),
        {"benchmark": "task_name", "problem": "prompt", "answer": "gt", "response": "model_output"},
        "reward",
    ),
    "oat": Format(
        "oat's evaluation: a JSON list; without ids, so equal prompts are one problem",
        ("input", "output", "scores", "reference"),
        {"problem": "input", "answer": "reference", "response": "output"},
        "scores",
    ),
    "rollouts": Format(
        "nested rollouts of one problem",
        ("qid", "gold", "rollouts"),
        {"problem_id": "qid", "problem": "question", "answer": "gold"},
        more=_rollouts,
    ),
    "example_rows": Format(
        "JSON Lines without verdicts",
        ("example_id", "answer", "response"),
        {"problem_id": "example_id", "problem": "prompt", "answer": "answer", "response": "response"},
    ),
    "verl": Format(
        "veRL, validation dumps; without ids, so equal prompts are one problem",
        ("input", "output", "gts"),
        {"problem": "input", "answer": "gts", "response": "output", "step": "step", "their_answer": "pred"},
        "acc|score",
    ),
    "trl": Format(
        "TRL's trainers, completions_*.parquet; without ids, so equal prompts are one problem",
        ("step", "prompt", "completion"),
        {"answer": "answer", "step": "step"},
        more=_trl,
    ),
    "gold_rows": Format("ours, by other names", ("gold", "response"), {}),
    "answer_rows": Format("ours, without ids", ("answer", "response"), {}),
}
"""Tried in this order."""
OURS = ("rows", "gold_rows", "answer_rows")
"""Their columns are kept as they are."""
