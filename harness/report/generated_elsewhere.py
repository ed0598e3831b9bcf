"""Imported logs in a report: their table, and their samples in the viewer with both verdicts, the authors' and ours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from harness.record.run import Run
from harness.report.viewer import Shown
from harness.spec import Reproduction
from harness.tables.elsewhere import logs_of


def log_responses(paper: Reproduction, runs: Iterable[Run]) -> list[Shown]:
    """The samples of each log of the paper's base models and benchmarks; `label` is the verdict that came with it."""
    shown: list[Shown] = []
    for run in logs_of(paper, runs):
        record = run.record
        step = "" if record["step"] is None else f" step {record['step']}"
        golds = f", golds of {record['golds']}" if record.get("golds") else ""
        name = f"{record['settings']['model']} by {record['repository']}@{record['commit'][:7]}{step}{golds}"
        shown += [_shown(name, record["benchmark"], row) for row in run.rows(record["benchmark"])]
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
