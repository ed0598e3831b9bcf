"""Answer files of other people as runs: graded into verdict tables, which every command reads
(`evals.answer_files.formats` lists the recognised formats).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evals.answer_files.reading import NOTHING_SAID, AnswerFile, Reading, clean_name, read_answers
from evals.answer_files.table import BENCHMARK


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
    file = read_answers(path, reading)
    print(f"{path}: {len(file.rows)} responses read as {file.format}, grading", file=sys.stderr, flush=True)
    write_verdicts(file.rows, folder, policy)
    return file


def write_verdicts(rows: Sequence[Mapping[str, Any]], folder: Path, policy: str | None) -> None:
    """Grade rows of our form, a folder and a table for each benchmark."""
    from evals.answer_files import policy_for
    from evals.answer_files.reading import as_text
    from evals.answer_files.table import columns_of_responses
    from evals.files import write_parquet
    from evals.grading import Grader

    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(clean_name(str(row.get("benchmark") or BENCHMARK)), []).append(dict(row))
    with Grader() as grader:
        for name, own in groups.items():
            triples = [(as_text(row["answer"]), row["response"], row.get("finish_reason")) for row in own]
            grades = grader.grade_responses(triples, policy or policy_for(own))
            ours = columns_of_responses(own, grades, grader)
            (folder / name).mkdir(parents=True, exist_ok=True)
            write_parquet(_table(name, own, ours), folder / name / "verdicts.parquet")


def _table(benchmark: str, rows: list[dict[str, Any]], ours: Mapping[str, Any]) -> Any:
    import pyarrow as pa

    from evals.grading.verdicts import schema

    columns: dict[str, Any] = {
        **ours,
        "benchmark": [benchmark] * len(rows),
        "problem_id": [str(row["problem_id"]) for row in rows],
        "seed": [None] * len(rows),
        "response": [row["response"] for row in rows],
        "tokens": [row.get("tokens") for row in rows],
        "finish_reason": [row.get("finish_reason") for row in rows],
        "answer": ours["extracted"],
        "label": [row.get("expected") for row in rows],
        "their_answer": [None if row.get("their_answer") is None else str(row["their_answer"]) for row in rows],
        "problem": [row.get("problem") for row in rows],
        "step": [row.get("step") for row in rows],
    }
    kinds = {"label": pa.bool_(), "their_answer": pa.string(), "problem": pa.string(), "step": pa.int64()}
    whole = pa.schema([*schema(), *(pa.field(name, kind) for name, kind in kinds.items())])
    return pa.table({name: columns[name] for name in whole.names}, schema=whole)
