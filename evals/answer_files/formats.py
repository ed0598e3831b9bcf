"""Answers as other tools save them, recognised by their content and read into rows of one form.

Each reader turns one object of a file into rows with `problem_id`, `answer` (the gold) and `response`, and, where the
file has them, `problem`, `finish_reason`, `tokens`, `step`, `labels` (their own verdicts on the sample, by the name
that they have there: true, false, or null for values between), `their_answer` (what they extracted) and `benchmark`.
Nothing is guessed: `evals.answer_files.reading` reports what a file lacks.

    rows            our own: problem_id, answer, response
    qwen_math       evaluation of Qwen2.5-Math and SimpleRL: `code` (responses), `gt`, `pred`, `score`, `idx`
    lm_eval         samples_*.jsonl of lm-evaluation-harness: doc_id, target, resps; a row for each doc and filter
    lighteval       details_*.parquet of lighteval: doc, model_response, metric
    inspect         logs of inspect_ai, `.json` or `.eval` (zip): samples with target, output, scores
    evalscope       reviews/<model>/*.jsonl of evalscope: index, target, sample_score
    verl            validation dumps of veRL: input, output, gts, score
    trl             completions_*.parquet of TRL's trainers: step, prompt, completion, a column for each reward
    task_outputs    a JSON list of task_name, gt, model_output, reward (understand-r1-zero's evaluator)
    example_rows    JSON Lines of example_id, answer, response (no verdicts)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Row = dict[str, Any]
NEEDED = ("problem_id", "answer", "response")


def format_of(first: Mapping[str, Any]) -> str | None:
    """The format whose objects look like this one, or None."""
    return next((name for name, (keys, _) in READERS.items() if set(keys) <= set(first)), None)


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


def _ours(_: int, row: Row) -> list[Row]:
    return [row]


def _qwen_math(_: int, row: Row) -> list[Row]:
    verdicts = row.get("score") or [None] * len(row["code"])
    extracted = row.get("pred") or [None] * len(row["code"])
    return [
        {
            "problem_id": str(row["idx"]),
            "problem": row.get("question"),
            "answer": str(row["gt"]),
            "response": response,
            "labels": {} if verdict is None else {"score": as_label(verdict)},
            "their_answer": answer,
        }
        for response, verdict, answer in zip(row["code"], verdicts, extracted, strict=True)
    ]


def _lm_eval(_: int, row: Row) -> list[Row]:
    responses = [r for group in row["resps"] for r in (group if isinstance(group, list) else [group])]
    doc = row.get("doc") or {}
    common: Row = {
        "problem_id": str(row["doc_id"]),
        "problem": doc.get("problem") or doc.get("question"),
        "answer": str(row["target"]),
    }
    if len(responses) != 1:  # a metric of all samples is not a verdict on one
        return [{**common, "response": response} for response in responses]
    name = row.get("filter") or "none"
    metrics = [m for m in row.get("metrics") or ("exact_match",) if m in row]
    labels = {f"{metric},{name}": as_label(row[metric]) for metric in metrics}
    filtered = row.get("filtered_resps") or [None]
    extracted = filtered[0] if isinstance(filtered[0], str) else None
    return [{**common, "response": responses[0], "labels": labels, "their_answer": extracted}]


def samples_named(metric: str) -> int | None:
    """The n in a metric's name, such as 4 in "pass@k:k=1&n=4", "math_pass@1:4_samples", "avg@n:n=4"."""
    match = re.search(r"(?:\bn=|pass@1:)(\d+)", metric)
    return int(match[1]) if match else None


def _of_one(metric: str, value: Any) -> Any:
    """lighteval divides by the n of pass@1 even for a single sample: 1/4 then means one correct sample of one."""
    n = samples_named(metric)
    first = re.search(r"k=1\b|pass@1:", metric)
    return value * n if n and first and isinstance(value, float) and value == 1 / n else value


def _lighteval(_: int, row: Row) -> list[Row]:
    doc, output = row["doc"], row["model_response"]
    gold = doc["gold_index"]
    tokens, limit = output.get("output_tokens") or [], doc.get("generation_size")
    single = len(output["text"]) == 1
    metrics = (row.get("metric") or {}) if single else {}
    labels = {name: as_label(_of_one(name, value)) for name, value in metrics.items()}
    rows = []
    for i, response in enumerate(output["text"]):
        count = len(tokens[i]) if i < len(tokens) and tokens[i] else None
        rows.append(
            {
                "problem_id": str(doc["id"]),
                "problem": doc["query"],
                "answer": doc["choices"][gold[0] if isinstance(gold, list) else gold],
                "response": response,
                "tokens": count,
                "finish_reason": None if not limit or count is None else "length" if count >= limit else "stop",
                "labels": labels,
            }
        )
    return rows


def _inspect(_: int, row: Row) -> list[Row]:
    target, output = row["target"], row["output"]
    choice = (output.get("choices") or [{}])[0]
    completion = output.get("completion")
    if completion is None:
        completion = text_of((choice.get("message") or {}).get("content"))
    scores = row.get("scores") or {}
    question = row.get("input")
    answers = [score.get("answer") for score in scores.values()]
    return [
        {
            "problem_id": str(row["id"]),
            "problem": question if isinstance(question, str) else text_of((question or [])[-1:]),
            "answer": target[0] if isinstance(target, list) else target,
            "response": completion,
            "tokens": (output.get("usage") or {}).get("output_tokens"),
            "finish_reason": {"stop": "stop", "max_tokens": "length"}.get(choice.get("stop_reason")),
            "labels": {name: as_label(score.get("value")) for name, score in scores.items()},
            "their_answer": answers[0] if len(answers) == 1 else None,
        }
    ]


def _evalscope(_: int, row: Row) -> list[Row]:
    scored = row["sample_score"]
    score = scored.get("score") or {}
    target = row["target"]
    asked = [m for m in row.get("messages") or () if m.get("role") == "user"]
    group = scored.get("group_id")
    return [
        {
            "problem_id": str(row["index"] if group is None else group),
            "problem": text_of(asked[-1:]) or row.get("input"),
            "answer": target[0] if isinstance(target, list) else target,
            "response": score["prediction"],
            "labels": {name: as_label(value) for name, value in (score.get("value") or {}).items()},
            "their_answer": score.get("extracted_prediction"),
        }
    ]


def _verl(_: int, row: Row) -> list[Row]:
    name = "acc" if "acc" in row else "score"
    return [
        {
            "problem_id": row["input"],  # the dump has no id: equal prompts are one problem
            "problem": row["input"],
            "answer": str(row["gts"]),
            "response": row["output"],
            "step": row.get("step"),
            "labels": {name: as_label(row[name])} if name in row else {},
            "their_answer": row.get("pred"),
        }
    ]


def _trl(_: int, row: Row) -> list[Row]:
    problem = text_of(row["prompt"])
    rewards = {k: v for k, v in row.items() if isinstance(v, float) and k != "advantage"}
    known = {name: row[name] for name in ("answer",) if name in row}
    return [
        {
            "problem_id": problem,  # the log has no id: equal prompts are one problem
            "problem": problem,
            **known,
            "response": text_of(row["completion"]),
            "step": row["step"],
            "labels": {name: as_label(value) for name, value in rewards.items()},
        }
    ]


def text_of(messages: Any) -> str:
    """The text of a conversation, or of a message in parts; a string is returned unchanged."""
    if messages is None or isinstance(messages, str):
        return messages or ""
    parts = (m.get("content", m.get("text")) if isinstance(m, dict) else m for m in messages)
    return "\n".join(text_of(part) for part in parts)


def _task_outputs(number: int, row: Row) -> list[Row]:
    rewards = row.get("reward") or [None] * len(row["model_output"])
    gold = row["gt"][0] if isinstance(row["gt"], list) else row["gt"]
    return [
        {
            "problem_id": f"{row['task_name']}-{number}",
            "benchmark": row["task_name"],
            "problem": row.get("prompt"),
            "answer": str(gold),
            "response": response,
            "labels": {} if reward is None else {"reward": as_label(reward)},
        }
        for response, reward in zip(row["model_output"], rewards, strict=True)
    ]


def _example_rows(_: int, row: Row) -> list[Row]:
    return [
        {
            "problem_id": str(row["example_id"]),
            "problem": row.get("prompt"),
            "answer": str(row["answer"]),
            "response": row["response"],
        }
    ]


READERS: dict[str, tuple[Sequence[str], Callable[[int, Row], list[Row]]]] = {
    "rows": (NEEDED, _ours),
    "qwen_math": (("idx", "gt", "code"), _qwen_math),
    "lm_eval": (("doc_id", "target", "resps"), _lm_eval),
    "lighteval": (("doc", "model_response"), _lighteval),
    "evalscope": (("index", "target", "sample_score"), _evalscope),
    "inspect": (("id", "target", "output"), _inspect),
    "task_outputs": (("task_name", "gt", "model_output"), _task_outputs),
    "example_rows": (("example_id", "answer", "response"), _example_rows),
    "verl": (("input", "output", "gts"), _verl),
    "trl": (("step", "prompt", "completion"), _trl),
}
"""Format -> (fields that its objects have, reader of one object), tried in this order."""
