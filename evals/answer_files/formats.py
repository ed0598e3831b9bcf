"""Answers as other tools save them, recognised by their content and read into rows of one form.

Each reader turns one object of a file into rows with `problem_id`, `answer` (the gold) and `response`, and, where the
file has them, `problem`, `finish_reason`, `expected` (their own verdict on the sample: true or false), `their_answer`
(what they extracted) and `benchmark`. Nothing is guessed: what a file lacks is an error that names it.

    rows            our own: problem_id, answer, response
    qwen_math       evaluation of Qwen2.5-Math and SimpleRL: `code` (responses), `gt`, `pred`, `score`, `idx`
    lm_eval         samples_*.jsonl of lm-evaluation-harness: doc_id, target, resps
    lighteval       details_*.parquet of lighteval: doc, model_response, metric
    inspect         logs of inspect_ai, `.json` or `.eval` (zip): samples with target, output, scores
    verl            validation dumps of veRL: input, output, gts, score
    task_outputs    a JSON list of task_name, gt, model_output, reward (understand-r1-zero's evaluator)
    example_rows    JSON Lines of example_id, answer, response (no verdicts)
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]
NEEDED = ("problem_id", "answer", "response")


def read_rows(path: Path, columns: Mapping[str, str] | None = None) -> tuple[str, list[Row]]:
    """(name of the format, its rows). Compressed (.gz) files are read as what they hold.

    Args:
        columns: our name -> the file's, for a table of any other form, as {"problem_id": "idx", "response": "output"};
            columns with our own names need no entry.
    Raises:
        ValueError: the file is empty, of no known form, or lacks something; the message says what is there.
        OSError: it cannot be read.
    """
    objects = list(_objects(path))
    if not objects:
        raise ValueError(f"{path}: expected rows, found none")
    if columns:
        return "mapped", [_mapped(path, number, row, columns) for number, row in enumerate(objects, 1)]
    for name, (keys, reader) in READERS.items():
        if set(keys) <= set(objects[0]):
            rows: list[Row] = []
            for number, value in enumerate(objects, 1):
                try:
                    rows += reader(number - 1, value)
                except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
                    raise ValueError(
                        f"{path}, row {number}: not a row of {name}: {type(error).__name__} {error}"
                    ) from error
            return name, rows
    raise ValueError(
        f"{path}: no known format has the fields {', '.join(objects[0])}; expected {', '.join(NEEDED)}, or give "
        "columns=problem_id:THEIRS,answer:THEIRS,response:THEIRS"
    )


def _mapped(path: Path, number: int, row: Row, columns: Mapping[str, str]) -> Row:
    mapped = {**row}
    for ours in dict.fromkeys((*NEEDED, *columns)):
        theirs = columns.get(ours, ours)
        if theirs not in row:
            raise ValueError(f"{path}, row {number}: no column {theirs!r} for {ours}; there are {', '.join(row)}")
        mapped[ours] = row[theirs]
    return mapped


def _objects(path: Path) -> Iterable[Row]:
    """The objects of a file: JSON Lines, a JSON list, Parquet, CSV, or an inspect log."""
    data = path.read_bytes()
    name = path.name.removesuffix(".gz")
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if data[:4] == b"PAR1":
        import pyarrow.parquet as pq

        return list(pq.read_table(io.BytesIO(data)).to_pylist())
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            inside = sorted(n for n in archive.namelist() if n.startswith("samples/") and n.endswith(".json"))
            return [json.loads(archive.read(n)) for n in inside]
    if name.endswith(".csv"):
        import csv

        return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
    return _json_objects(path, data)


def _json_objects(path: Path, data: bytes) -> list[Row]:
    text = data.decode("utf-8-sig")
    try:
        whole = json.loads(text)
    except ValueError:
        whole = None
    if isinstance(whole, dict) and isinstance(whole.get("samples"), list):  # an inspect log
        whole = whole["samples"]
    if whole is not None:
        rows = whole if isinstance(whole, list) else [whole]
    else:
        rows = []
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                try:
                    rows.append(json.loads(line))
                except ValueError as error:
                    raise ValueError(f"{path}, line {number}: not JSON ({error})") from error
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise ValueError(f"{path}, row {number}: expected an object, got {type(row).__name__}")
    return rows


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
            "expected": verdict,
            "their_answer": answer,
        }
        for response, verdict, answer in zip(row["code"], verdicts, extracted, strict=True)
    ]


def _lm_eval(_: int, row: Row) -> list[Row]:
    responses = [r for group in row["resps"] for r in (group if isinstance(group, list) else [group])]
    label = row.get("exact_match")
    single = len(responses) == 1 and label in (0, 1, 0.0, 1.0)
    doc = row.get("doc") or {}
    return [
        {
            "problem_id": str(row["doc_id"]),
            "problem": doc.get("problem") or doc.get("question"),
            "answer": str(row["target"]),
            "response": response,
            "expected": bool(label) if single else None,
        }
        for response in responses
    ]


def _lighteval(_: int, row: Row) -> list[Row]:
    doc, output = row["doc"], row["model_response"]
    gold = doc["gold_index"]
    tokens, limit = output.get("output_tokens") or [], doc.get("generation_size")
    values = list((row.get("metric") or {}).values())
    single = len(output["text"]) == 1 and len(values) == 1 and values[0] in (0.0, 1.0)
    rows = []
    for i, response in enumerate(output["text"]):
        cut = None if not limit or i >= len(tokens) else "length" if len(tokens[i]) >= limit else "stop"
        rows.append(
            {
                "problem_id": str(doc["id"]),
                "problem": doc["query"],
                "answer": doc["choices"][gold[0] if isinstance(gold, list) else gold],
                "response": response,
                "finish_reason": cut,
                "expected": bool(values[0]) if single else None,
            }
        )
    return rows


def _inspect(_: int, row: Row) -> list[Row]:
    target = row["target"]
    choice = (row["output"].get("choices") or [{}])[0]
    completion = row["output"].get("completion")
    if completion is None:
        completion = (choice.get("message") or {}).get("content")
    values = [score.get("value") for score in (row.get("scores") or {}).values()]
    known = {"C": True, "I": False, 1: True, 0: False}
    reason = choice.get("stop_reason")
    question = row.get("input")
    return [
        {
            "problem_id": str(row["id"]),
            "problem": question if isinstance(question, str) else None,
            "answer": target[0] if isinstance(target, list) else target,
            "response": completion,
            "finish_reason": {"stop": "stop", "max_tokens": "length"}.get(reason),
            "expected": known.get(values[0]) if len(values) == 1 and not isinstance(values[0], list | dict) else None,
        }
    ]


def _verl(_: int, row: Row) -> list[Row]:
    labels: dict[Any, bool] = {1.0: True, 0.0: False, -1.0: False}
    return [
        {
            "problem_id": row["input"],  # the dump has no id: equal prompts are one problem
            "problem": row["input"],
            "answer": str(row["gts"]),
            "response": row["output"],
            "expected": labels.get(row.get("acc", row.get("score"))),
        }
    ]


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
            "expected": None if reward is None else reward == 1.0,
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
    "inspect": (("id", "target", "output"), _inspect),
    "task_outputs": (("task_name", "gt", "model_output"), _task_outputs),
    "example_rows": (("example_id", "answer", "response"), _example_rows),
    "verl": (("input", "output", "gts"), _verl),
}
"""Format -> (fields that its objects have, reader of one object), tried in this order."""
