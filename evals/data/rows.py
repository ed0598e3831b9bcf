"""The rows of a data file: JSON Lines (also gzipped), Parquet or CSV. Errors name file and line."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast


def read_rows(path: Path) -> list[dict[str, Any]]:
    """All rows, in order.

    Raises:
        ValueError: the content does not match the file's ending, or a line is not a JSON object in UTF-8 (with its
            number).
    """
    if path.suffix == ".parquet":
        return _parquet(path)
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with cast(IO[bytes], opened(path, "rb")) as file:
            lines = [_text(line, path, number) for number, line in enumerate(file, 1)]
    except (OSError, EOFError, zlib.error) as error:  # of gzip: not gzipped, or cut off
        raise ValueError(f"{path}: cannot be read ({error})") from error
    if lines:
        lines[0] = lines[0].removeprefix("\ufeff")
    if path.suffix == ".csv":
        return list(_csv(lines, path))
    return [_json_object(line, path, number) for number, line in enumerate(lines, 1) if line.strip()]


def _text(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}, line {number}: not UTF-8 text ({error.reason} at byte {error.start})") from error


def _csv(lines: list[str], path: Path) -> Iterator[dict[str, Any]]:
    reader = csv.DictReader(lines)
    try:
        for row in reader:
            if None in row or None in row.values():
                raise ValueError(f"{path}, line {reader.line_num}: expected {len(reader.fieldnames or ())} cells")
            yield row
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: not CSV ({error})") from error


def _json_object(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
        line_of = json.dumps(row, ensure_ascii=False)
        line_of.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"{path}, line {number}: half of a surrogate pair, which is no character") from error
    except RecursionError as error:
        raise ValueError(f"{path}, line {number}: nested too deeply") from error
    except ValueError as error:  # not JSON, or a number of thousands of digits
        raise ValueError(f"{path}, line {number}: not JSON ({str(error).splitlines()[0]})") from error
    if not isinstance(row, dict):
        raise ValueError(f"{path}, line {number}: expected a JSON object, got {type(row).__name__}")
    return row


def _parquet(path: Path) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path}: not readable as Parquet ({str(error).splitlines()[0]})") from error
    return rows
