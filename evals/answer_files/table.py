"""The rows with their verdicts, as a file: .jsonl or .parquet.

Bare answers get the columns `verdict`, `extracted` and `reason`. Responses also get what makes the file a verdict table
(`evals.grading.verdicts`), which `rlvr compare` reads: `benchmark`, `sample`, `gold`, `answer_class`, `boxed`. An input
column of one of these names is kept as NAME_in_file; a text in `benchmark` is taken as the benchmark's name.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evals.answer_files.rows import Row, as_text
from evals.files import write_atomically, write_text
from evals.grading import Grade, Grader

BENCHMARK = "answers"  # the benchmark of rows that name none
Columns = Mapping[str, Sequence[Any]]  # our columns by name, a value for each row
_OF_PAIRS = ("verdict", "extracted", "reason")
_OF_RESPONSES = ("benchmark", "sample", "gold", *_OF_PAIRS, "answer_class", "boxed")


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


def columns_of_pairs(grades: Sequence[Grade]) -> Columns:
    """What we say of pairs of bare answers."""
    return {
        "verdict": [str(grade.verdict) for grade in grades],
        "extracted": [grade.answer for grade in grades],
        "reason": [grade.reason for grade in grades],
    }


def columns_of_responses(rows: Sequence[Row], grades: Sequence[Grade], grader: Grader) -> Columns:
    """What we say of responses; samples are numbered within a problem in the order of the rows."""
    by_problem: dict[str, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        by_problem[str(row["problem_id"])].append(index)
    samples = [0] * len(rows)
    classes: list[int | None] = [None] * len(rows)
    for indices in by_problem.values():
        own = [grades[index] for index in indices]
        answer_classes = grader.answer_classes([grade.answer for grade in own], own)
        for sample, (index, answer_class) in enumerate(zip(indices, answer_classes, strict=True)):
            samples[index], classes[index] = sample, answer_class
    names = (row.get("benchmark") for row in rows)
    return {
        "benchmark": [name if isinstance(name, str) and name else BENCHMARK for name in names],
        "sample": samples,
        "gold": [as_text(row["answer"]) for row in rows],
        **columns_of_pairs(grades),
        "answer_class": classes,
        "boxed": [grade.boxed for grade in grades],
    }


def parquet_columns(path: Path, rows: list[Row], answers: bool) -> dict[str, Any]:
    """The input as Parquet columns; built before grading, to reject what Parquet cannot hold."""
    import pyarrow as pa

    columns, ours = {}, _OF_PAIRS if answers else _OF_RESPONSES
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        if name in ("problem_id", "answer", "gold", "prediction") and len(set(map(type, values))) > 1:
            values = [
                None if value is None else as_text(value) for value in values
            ]  # 7 beside "7": both are graded as text
        try:
            columns[_kept(name, ours)] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise ValueError(
                f"{path}: the column {name!r} mixes types, which Parquet cannot hold ({error}); use .jsonl"
            ) from error
    return columns


def write(target: Path, rows: list[Row], ours: Columns, columns: dict[str, Any] | None) -> None:
    """Write the rows with our columns; `columns` are theirs as `parquet_columns` made them, None for JSON Lines."""
    if columns is None:
        kept = ({_kept(name, ours): value for name, value in row.items()} for row in rows)
        lines = [
            json.dumps(row | dict(zip(ours, own, strict=True)), ensure_ascii=False) + "\n"
            for row, own in zip(kept, zip(*ours.values(), strict=True), strict=True)
        ]
        write_text(target, "".join(lines))
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {"sample": pa.int32(), "answer_class": pa.int32(), "boxed": pa.bool_()}
    own_columns = {name: pa.array(values, kinds.get(name, pa.string())) for name, values in ours.items()}
    table = pa.table(columns | own_columns)
    write_atomically(target, lambda part: pq.write_table(table, part))


def _kept(name: str, ours: Sequence[str] | Columns) -> str:
    """The name of an input column in the written file."""
    return f"{name}_in_file" if name in ours else name
