"""Training problems and solutions: from the hub, a local file, or the tiny family; checked before anything costly."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from harness.datasets import SETS

COLUMNS = ("problem", "answer")
SOLUTION_COLUMNS = ("problem", "solution")
TINY_PROBLEMS = 4000


def load_problems(dataset: str, *, seed: int = 0) -> list[dict[str, str]]:
    """Rows with the columns `problem` and `answer`.

    Args:
        dataset: "tiny"; a local .jsonl or .parquet file; a name in `harness.datasets.SETS`; or a hub data set id, of
            which the train split is read. A row without `answer` but with `solution` (as in MATH) gives the last box of
            the solution; one without `problem` but with `question` (as in STILL-3) gives that.
        seed: of the tiny family only.
    Raises:
        ValueError: the file is missing, a row lacks a column (row and column are named), or there are no rows.
    """
    if dataset == "tiny":
        from harness.tiny.problems import train_problems

        return _checked(dataset, train_problems(TINY_PROBLEMS, seed=seed), COLUMNS)
    return _checked(dataset, _read(dataset), COLUMNS)


def load_solutions(dataset: str, *, seed: int = 0) -> list[dict[str, str]]:
    """Rows with the columns `problem` and `solution`, for supervised fine-tuning.

    Args:
        dataset, seed: as for `load_problems`; the tiny family gives the same problems, with right solutions.
    Raises:
        ValueError: as for `load_problems`.
    """
    if dataset == "tiny":
        from harness.tiny.solutions import train_solutions

        return _checked(dataset, train_solutions(TINY_PROBLEMS, seed=seed), SOLUTION_COLUMNS)
    return _checked(dataset, _read(dataset), SOLUTION_COLUMNS)


def _checked(dataset: str, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> list[dict[str, str]]:
    """The columns asked for of every row; ValueError names the first row that lacks one."""
    if not rows:
        raise ValueError(f"dataset: expected rows in {dataset!r}, got none")
    for number, row in enumerate(rows):
        for column in columns:
            if not isinstance(row.get(column), str) or not row[column].strip():
                raise ValueError(
                    f"dataset {dataset!r}, row {number}: expected text in {column!r}, got {row.get(column)!r}"
                )
    return [{column: row[column] for column in columns} for row in rows]


def _read(dataset: str) -> list[dict[str, Any]]:
    if dataset.endswith((".jsonl", ".parquet")):
        return _read_file(Path(dataset))
    if dataset in SETS:
        return [_with_answer(row) for row in SETS[dataset].load()]
    from datasets import load_dataset

    return [_with_answer(row) for row in load_dataset(dataset, split="train")]


def _read_file(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        raise ValueError(f"dataset: expected a file at {path}, found none")
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    else:
        rows = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    return [_with_answer(row) for row in rows]


def _with_answer(row: dict[str, Any]) -> dict[str, Any]:
    """STILL-3 calls the problem a question; MATH keeps its answers inside its solutions."""
    if row.get("problem") is None and "question" in row:
        row = {**row, "problem": row["question"]}
    if row.get("answer") is None and isinstance(row.get("solution"), str):
        from evals.grading.extraction import boxes

        found = boxes(row["solution"])
        return {**row, "answer": found[-1] if found else None}
    return row


def content_hash(rows: list[dict[str, str]]) -> str:
    """SHA-256 of the values of all rows in order (of problems and answers, say), for the record."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(json.dumps(list(row.values()), ensure_ascii=False).encode() + b"\n")
    return digest.hexdigest()
