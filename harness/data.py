"""Training problems: from the hub, from a local file, or the tiny family; checked before anything costly."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

COLUMNS = ("problem", "answer")
TINY_PROBLEMS = 4000


def load_problems(dataset: str, *, seed: int = 0) -> list[dict[str, str]]:
    """Rows with the columns `problem` and `answer`.

    Args:
        dataset: "tiny"; a local .jsonl or .parquet file; or a hub data set id, of which the train split is read. A hub
            row without `answer` but with `solution` (as in MATH) gives the last box of the solution.
        seed: of the tiny family only.
    Raises:
        ValueError: the file is missing, a row lacks a column (row and column are named), or there are no rows.
    """
    if dataset == "tiny":
        from harness.tiny.problems import train_problems

        rows: list[dict[str, Any]] = train_problems(TINY_PROBLEMS, seed=seed)
    elif dataset.endswith((".jsonl", ".parquet")):
        rows = _read_file(Path(dataset))
    else:
        from datasets import load_dataset

        rows = [_with_answer(row) for row in load_dataset(dataset, split="train")]
    if not rows:
        raise ValueError(f"dataset: expected rows in {dataset!r}, got none")
    for number, row in enumerate(rows):
        for column in COLUMNS:
            if not isinstance(row.get(column), str) or not row[column].strip():
                raise ValueError(
                    f"dataset {dataset!r}, row {number}: expected text in {column!r}, got {row.get(column)!r}"
                )
    return [{column: row[column] for column in COLUMNS} for row in rows]


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
    """MATH keeps its answers inside its solutions."""
    if row.get("answer") is None and isinstance(row.get("solution"), str):
        from evals.extraction import boxes

        found = boxes(row["solution"])
        return {**row, "answer": found[-1] if found else None}
    return row


def content_hash(rows: list[dict[str, str]]) -> str:
    """SHA-256 of the problems and answers in order, for the record."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(json.dumps([row[c] for c in COLUMNS], ensure_ascii=False).encode() + b"\n")
    return digest.hexdigest()
