"""Rows of a local file: .jsonl (an object a line), .json (a list of objects) or .parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SUFFIXES = (".jsonl", ".json", ".parquet")


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows in order, nested columns as dicts and lists; a Parquet file is read in batches.

    Raises:
        ValueError: no such file, another suffix, or a row that is not a JSON object (the row is named, from 0).
    """
    _check_file(path)
    if path.suffix == ".parquet":
        for batch in _parquet(path).iter_batches():
            yield from batch.to_pylist()
    else:
        for number, row in enumerate(_lines(path) if path.suffix == ".jsonl" else _list(path)):
            if not isinstance(row, dict):
                raise ValueError(f"dataset {path}, row {number}: expected a JSON object, got {str(row)[:80]!r}")
            yield row


def count_file_rows(path: Path) -> int:
    """Number of rows; the content of the rows is not checked. Raises ValueError as `read_rows`."""
    _check_file(path)
    if path.suffix == ".parquet":
        return int(_parquet(path).metadata.num_rows)
    if path.suffix == ".json":
        return len(_list(path))
    with path.open("rb") as file:
        return sum(bool(line.strip()) for line in file)


def _check_file(path: Path) -> None:
    if path.suffix not in SUFFIXES:
        raise ValueError(f"dataset: expected a file ending in {', '.join(SUFFIXES)}, got {path}")
    if not path.is_file():
        raise ValueError(f"dataset: expected a file at {path}, there is none")


def _parquet(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"dataset {path}: expected a Parquet file ({error})") from error


def _lines(path: Path) -> Iterator[Any]:
    number = -1
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(line for line in file if line.strip()):
                try:
                    yield json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise ValueError(
                        f"dataset {path}, row {number}: expected JSON, got {line[:80]!r} ({error})"
                    ) from error
    except UnicodeDecodeError as error:
        raise ValueError(f"dataset {path}, after row {number}: expected text in UTF-8 ({error})") from error


def _list(path: Path) -> list[Any]:
    try:
        rows = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"dataset {path}: expected JSON ({error})") from error
    if not isinstance(rows, list):
        raise ValueError(f"dataset {path}: expected a JSON list of rows, got a {type(rows).__name__}")
    return rows
