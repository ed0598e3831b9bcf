"""Imported logs in a report: their table, and their samples in the viewer with both verdicts, the authors' and ours."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from harness.report.viewer import Shown
from harness.runs.logs import log_verdicts
from harness.runs.track import Tracker
from harness.spec import Reproduction
from harness.tables.elsewhere import records_of


def log_responses(paper: Reproduction, tracker: Tracker) -> list[Shown]:
    """The samples of each log of the paper's base models and benchmarks; `label` is the verdict that came with it."""
    shown: list[Shown] = []
    with tempfile.TemporaryDirectory() as scratch:
        for record in records_of(paper, tracker):
            step = "" if record["step"] is None else f" step {record['step']}"
            golds = f", golds of {record['golds']}" if record.get("golds") else ""
            name = f"{record['settings']['model']} by {record['repository']}@{record['commit'][:7]}{step}{golds}"
            for row in log_verdicts(record, tracker, Path(scratch)):
                shown.append(_shown(name, record["benchmark"], row))
    return shown


def _shown(name: str, benchmark: str, row: dict[str, Any]) -> Shown:
    label = row.get("label")
    return Shown(
        run=name,
        benchmark=benchmark,
        problem=str(row["problem_id"]),
        sample=int(row["sample"]),
        seed=None,
        verdict=str(row["verdict"]),
        answer=row["answer"],
        gold=str(row["gold"]),
        prompt=row.get("problem"),
        text=str(row["response"]),
        length=row["tokens"],
        label=None if label is None else "correct" if label else "wrong",
    )
