"""The rows with their verdicts, as a file: .jsonl or .parquet.

They get the columns of a verdict table (`evals.grading.verdicts`), which `rlvr compare` reads: `benchmark`, `sample`,
`gold`, `verdict`, `extracted`, `reason`, `answer_class`, `boxed`. An input column of one of these names is kept as
NAME_in_file; a text in `benchmark` is taken as the benchmark's name.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evals.answer_files.formats import Row
from evals.answer_files.reading import as_text
from evals.files import write_atomically
from evals.grading import Grade, Grader

BENCHMARK = "answers"  # the benchmark of rows that name none
Columns = Mapping[str, Sequence[Any]]  # our columns by name, a value for each row
OURS_ADDED = ("benchmark", "sample", "gold", "verdict", "extracted", "reason", "answer_class", "boxed")


def check_target(out: Path) -> Path:
    """The target itself.

    Raises:
        ValueError: it has another suffix, or its folder does not exist.
    """
    if out.suffix not in (".jsonl", ".parquet"):
        raise ValueError(f"out is {str(out)!r}; expected a name that ends in .jsonl or .parquet")
    if not out.parent.is_dir():
        raise ValueError(f"out is {str(out)!r}, but there is no folder {str(out.parent)!r}")
    return out


def columns_of_responses(rows: Sequence[Row], grades: Sequence[Grade], grader: Grader) -> Columns:
    """Our columns for responses; samples are numbered within a problem in row order."""
    by_problem: dict[str, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        by_problem[str(row["problem_id"])].append(index)
    samples = [0] * len(rows)
    classes: list[int | None] = [None] * len(rows)
    for indices in by_problem.values():
        of_problem = [grades[index] for index in indices]
        answer_classes = grader.answer_classes([grade.answer for grade in of_problem], of_problem)
        for sample, (index, answer_class) in enumerate(zip(indices, answer_classes, strict=True)):
            samples[index], classes[index] = sample, answer_class
    names = (row.get("benchmark") for row in rows)
    return {
        "benchmark": [name if isinstance(name, str) and name else BENCHMARK for name in names],
        "sample": samples,
        "gold": [as_text(row["answer"]) for row in rows],
        "verdict": [str(grade.verdict) for grade in grades],
        "extracted": [grade.answer for grade in grades],
        "reason": [grade.reason for grade in grades],
        "answer_class": classes,
        "boxed": [grade.boxed for grade in grades],
    }


def parquet_columns(path: Path, rows: Sequence[Row], ours: Sequence[str]) -> dict[str, Any]:
    """The input's columns as Arrow arrays, by their names in the written file.

    A column of texts and numbers that is graded as text (7 beside "7") is written as text.

    Raises:
        ValueError: a column mixes types, which Parquet cannot hold.
    """
    import pyarrow as pa

    columns = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        if name in ("problem_id", "answer", "gold") and len(set(map(type, values))) > 1:
            values = [None if value is None else as_text(value) for value in values]
        try:
            columns[_kept(name, ours)] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise ValueError(
                f"{path}: the column {name!r} mixes types, which Parquet cannot hold ({error}); use .jsonl"
            ) from error
    return columns


def write_parquet(target: Path, columns: Mapping[str, Any], ours: Columns) -> None:
    """Write the input's columns (`parquet_columns`) with ours beside them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {"sample": pa.int32(), "answer_class": pa.int32(), "boxed": pa.bool_()}
    added = {name: pa.array(values, kinds.get(name, pa.string())) for name, values in ours.items()}
    write_atomically(target, lambda part: pq.write_table(pa.table({**columns, **added}), part))


def write_lines(target: Path, rows: Sequence[Row], ours: Columns) -> None:
    """Write the rows with our columns as JSON Lines."""

    def write(part: Path) -> None:
        with part.open("w", encoding="utf-8") as file:
            for row, values in zip(rows, zip(*ours.values(), strict=True), strict=True):
                kept = {_kept(name, ours): value for name, value in row.items()}
                file.write(json.dumps(kept | dict(zip(ours, values, strict=True)), ensure_ascii=False) + "\n")

    write_atomically(target, write)


def _kept(name: str, ours: Sequence[str] | Columns) -> str:
    """The name of an input column in the written file."""
    return f"{name}_in_file" if name in ours else name
