"""The rows with their verdicts, as a file: .jsonl or .parquet."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from evals.answer_files.rows import Row, as_text
from evals.grading import Grade

# the columns that we add; an input column of that name is kept as NAME_in_file
_OURS = ("verdict", "extracted", "reason")


def check_target(out: Path) -> Path:
    """Raises ValueError for a place that cannot be written."""
    if out.suffix not in (".jsonl", ".parquet"):
        raise ValueError(f"out is {str(out)!r}; expected a name that ends in .jsonl or .parquet")
    if not out.parent.is_dir():
        raise ValueError(f"out is {str(out)!r}, but there is no folder {str(out.parent)!r}")
    return out


def parquet_columns(path: Path, rows: list[Row]) -> dict[str, Any]:
    """The input as Parquet columns, so that what Parquet cannot hold is found before grading."""
    import pyarrow as pa

    columns = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        if name in ("problem_id", "answer", "gold", "prediction") and len(set(map(type, values))) > 1:
            values = [
                None if value is None else as_text(value) for value in values
            ]  # 7 beside "7": both are graded as text
        try:
            columns[_kept(name)] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise ValueError(
                f"{path}: the column {name!r} mixes types, which Parquet cannot hold ({error}); use .jsonl"
            ) from error
    return columns


def write(target: Path, rows: list[Row], grades: list[Grade], columns: dict[str, Any] | None) -> None:
    """Write beside the target and rename, so that nobody sees half a file."""
    ours = [(str(grade.verdict), grade.answer, grade.reason) for grade in grades]
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        if columns is None:
            with part.open("w", encoding="utf-8") as file:
                for row, own in zip(rows, ours, strict=True):
                    kept = {_kept(name): value for name, value in row.items()}
                    file.write(json.dumps(kept | dict(zip(_OURS, own, strict=True)), ensure_ascii=False) + "\n")
        else:
            import pyarrow as pa
            import pyarrow.parquet as pq

            own_columns = {
                name: pa.array(values, pa.string()) for name, values in zip(_OURS, zip(*ours, strict=True), strict=True)
            }
            pq.write_table(pa.table(columns | own_columns), part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _kept(name: str) -> str:
    return f"{name}_in_file" if name in _OURS else name
