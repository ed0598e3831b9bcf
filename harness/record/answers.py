"""Answer files of other people as runs: graded into verdict tables, which every command reads
(`evals.answer_files.formats` lists the recognised formats).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evals.answer_files.reading import NOTHING_SAID, AnswerFile, Reading, as_text, clean_name, read_answers
from evals.answer_files.table import BENCHMARK, columns_of_responses


def holds_verdicts(path: Path) -> bool:
    """Whether a file is a table of verdicts (`verdicts.parquet`, or what `rlvr grade out=` wrote)."""
    import json

    with path.open("rb") as file:
        start = file.read(4)
        if start == b"PAR1":
            import pyarrow as pa
            import pyarrow.parquet as pq

            try:
                return "verdict" in pq.read_schema(path).names
            except pa.ArrowInvalid:
                return True  # damaged: the reader of verdicts reports it
        file.seek(0)
        first = file.readline()
    try:
        row = json.loads(first)
    except ValueError:
        return False
    return isinstance(row, dict) and "verdict" in row


def graded(path: Path, folder: Path, reading: Reading = NOTHING_SAID, policy: str | None = None) -> AnswerFile:
    """Grade a file of answers into `folder`: <benchmark>/verdicts.parquet for each benchmark that it names.

    Raises:
        ValueError: as `evals.answer_files.reading.read_answers`, or a row that cannot be graded.
        OSError: it cannot be read.
    """
    from evals.answer_files import policy_for
    from evals.files import write_parquet
    from evals.grading import Grader

    file = read_answers(path, reading)
    print(f"{path}: {len(file.rows)} responses read as {file.format}, grading", file=sys.stderr, flush=True)
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in file.rows:
        groups.setdefault(clean_name(str(row.get("benchmark") or BENCHMARK)), []).append(row)
    with Grader() as grader:
        for benchmark, rows in groups.items():
            triples = [(as_text(row["answer"]), row["response"], row.get("finish_reason")) for row in rows]
            grades = grader.grade_responses(triples, policy or policy_for(rows))
            (folder / benchmark).mkdir(parents=True, exist_ok=True)
            table = _table(benchmark, rows, columns_of_responses(rows, grades, grader))
            write_parquet(table, folder / benchmark / "verdicts.parquet")
    return file


def _table(benchmark: str, rows: Sequence[Mapping[str, Any]], ours: Mapping[str, Any]) -> Any:
    """A table of verdicts, with the problems' texts beside them."""
    import pyarrow as pa

    from evals.grading.verdicts import schema

    columns: dict[str, Any] = {
        **ours,
        "benchmark": [benchmark] * len(rows),
        "problem_id": [str(row["problem_id"]) for row in rows],
        "seed": [None] * len(rows),
        "answer": ours["extracted"],
        **{name: [row.get(name) for row in rows] for name in ("response", "tokens", "finish_reason", "problem")},
    }
    fields = pa.schema([*schema(), pa.field("problem", pa.string())])
    return pa.table({name: columns[name] for name in fields.names}, schema=fields)
