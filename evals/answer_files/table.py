"""The rows with their verdicts, as a file: .jsonl or .parquet.

Bare answers get the columns `verdict`, `extracted` and `reason`. Responses also get the columns of a verdict table
(`evals.grading.verdicts`), which `rlvr compare` reads: `benchmark`, `sample`, `gold`, `answer_class`, `boxed`. An input
column of one of these names is kept as NAME_in_file; a text in `benchmark` is taken as the benchmark's name.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evals.answer_files.rows import Row, as_text
from evals.files import write_atomically
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


def benchmark_of(row: Row) -> str:
    """The benchmark that a row names."""
    name = row.get("benchmark")
    return name if isinstance(name, str) and name else BENCHMARK


def columns_of_pairs(grades: Sequence[Grade]) -> Columns:
    """Our columns for pairs of bare answers."""
    return {
        "verdict": [str(grade.verdict) for grade in grades],
        "extracted": [grade.answer for grade in grades],
        "reason": [grade.reason for grade in grades],
    }


def columns_of_responses(rows: Sequence[Row], grades: Sequence[Grade], grader: Grader) -> Columns:
    """Our columns for responses; samples are numbered within a problem in row order."""
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
    return {
        "benchmark": [benchmark_of(row) for row in rows],
        "sample": samples,
        "gold": [as_text(row["answer"]) for row in rows],
        **columns_of_pairs(grades),
        "answer_class": classes,
        "boxed": [grade.boxed for grade in grades],
    }


class ParquetColumns:
    """The Parquet types of the input's columns, determined piece by piece before grading, to reject unsupported ones.

    A column of texts and numbers that is graded as text (7 beside "7") is written as text.
    """

    def __init__(self, path: Path, answers: bool) -> None:
        self._path, self._ours = path, _OF_PAIRS if answers else _OF_RESPONSES
        self._kinds: dict[str, set[type]] = {}
        self._types: dict[str, Any] = {}  # of the values as they are, None where they mix in a column of answers
        self._rows = 0

    def add(self, rows: Sequence[Row]) -> None:
        """Look at the next rows.

        Raises:
            ValueError: a column mixes types.
        """
        import pyarrow as pa

        for name in dict.fromkeys((*self._kinds, *(name for row in rows for name in row))):
            values = [row.get(name) for row in rows]
            kinds = self._kinds.setdefault(name, {type(None)} if self._rows else set())
            kinds.update(map(type, values))
            if name in _AS_TEXT and len(kinds) > 1:
                self._types[name] = pa.string()
                continue
            try:
                self._types[name] = _common(self._types.get(name, pa.null()), pa.array(values).type)
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                raise ValueError(
                    f"{self._path}: the column {name!r} mixes types, which Parquet cannot hold ({error}); use .jsonl"
                ) from error
        self._rows += len(rows)

    def table(self, rows: Sequence[Row], ours: Columns) -> Any:
        """The rows with our columns beside theirs."""
        import pyarrow as pa

        columns = {}
        for name, kind in self._types.items():
            values = [row.get(name) for row in rows]
            if name in _AS_TEXT and len(self._kinds[name]) > 1:
                values = [None if value is None else as_text(value) for value in values]
            columns[_kept(name, self._ours)] = pa.array(values, kind)
        own = {"sample": pa.int32(), "answer_class": pa.int32(), "boxed": pa.bool_()}
        return pa.table(columns | {name: pa.array(values, own.get(name, pa.string())) for name, values in ours.items()})


_AS_TEXT = ("problem_id", "answer", "gold", "prediction")


def _common(one: Any, other: Any) -> Any:
    """The common type of both, for the values of one column."""
    import pyarrow as pa

    schemas = [pa.schema([("value", kind)]) for kind in (one, other)]
    return pa.unify_schemas(schemas, promote_options="permissive").field("value").type


def write(target: Path, pieces: Iterable[tuple[Sequence[Row], Columns]], columns: ParquetColumns | None) -> None:
    """Write rows with our columns, piece by piece; as JSON Lines without `columns`."""
    if columns is None:
        write_atomically(target, lambda part: _write_lines(part, pieces))
    else:
        write_atomically(target, lambda part: _write_parquet(part, pieces, columns))


def _write_lines(path: Path, pieces: Iterable[tuple[Sequence[Row], Columns]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for rows, ours in pieces:
            for row, own in zip(rows, zip(*ours.values(), strict=True), strict=True):
                kept = {_kept(name, ours): value for name, value in row.items()}
                file.write(json.dumps(kept | dict(zip(ours, own, strict=True)), ensure_ascii=False) + "\n")


def _write_parquet(path: Path, pieces: Iterable[tuple[Sequence[Row], Columns]], columns: ParquetColumns) -> None:
    """A group of rows for each piece."""
    import pyarrow.parquet as pq

    tables = (columns.table(rows, ours) for rows, ours in pieces)
    first = next(tables)
    with pq.ParquetWriter(path, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)


def _kept(name: str, ours: Sequence[str] | Columns) -> str:
    """The name of an input column in the written file."""
    return f"{name}_in_file" if name in ours else name
