"""Evaluations without training (`rlvr eval`): where they are, and their mirror in MLflow."""

from __future__ import annotations

import calendar
import time
from collections.abc import Mapping
from pathlib import Path

from harness.record.run import RECORD, Run
from harness.runs.track import Tracker, home

NAME = "evaluations"  # of the folder, and of MLflow's experiment


def folder_of(name: str) -> Path:
    """Where an evaluation of that name goes."""
    return home() / NAME / name


def evaluations() -> list[Run]:
    """The finished evaluations under RLVR_HOME."""
    return [Run(path.parent) for path in sorted((home() / NAME).glob(f"*/{RECORD}"))]


def to_mlflow(folder: Path, params: Mapping[str, str], values: Mapping[str, float]) -> None:
    """Write an evaluation into MLflow; again, it writes the same run.

    Args:
        values: metric -> value.
    Raises:
        StoreError: the store cannot be used.
    """
    run, tracker = Run(folder), Tracker.open()
    started = calendar.timegm(time.strptime(run.record["started"], "%Y-%m-%dT%H:%M:%SZ")) * 1000
    tags = {"rlvr.kind": "evaluation", "rlvr.folder": str(folder)}
    run_id = tracker.run_of(NAME, folder.name, tags, run.record["id"], started)
    tracker.params(run_id, params)
    now = int(time.time() * 1000)
    tracker.log_points(run_id, [(name, 0, now, value) for name, value in values.items()])
    for name in (*run.record["files"], RECORD):
        tracker.artifact(run_id, folder / name, name.rpartition("/")[0] or None)
    tracker.status(run_id, "FINISHED", now)
