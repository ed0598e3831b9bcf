"""Pages in MLflow, whose artifact view shows them: a paper's report as a run of its own beside the paper's runs, a page
on some runs in each of these."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from evals.files import read_object
from harness.record.evaluations import NAME
from harness.record.record import LINK
from harness.record.run import Run
from harness.runs.track import Tracker, local_store

PAGE, FIGURES = "page.html", "figures"  # artifacts


def has_store() -> bool:
    """Whether there is a store to show a page in. None is made for it."""
    store = local_store()
    return bool(os.environ.get("MLFLOW_TRACKING_URI")) if store is None else store.is_file()


def show_report(paper: str, scale: str, page: Path, figures: Mapping[str, str]) -> None:
    """A paper's report at one scale. The next one replaces it.

    Args:
        figures: name -> the text of an SVG file.
    Raises:
        StoreError: the store cannot be used.
    """
    tracker = Tracker.open()
    now = int(1000 * time.time())
    run_id = tracker.run_of(paper, f"report, {scale} scale", f"report-{paper}-{scale}", now)
    tracker.client.set_tag(run_id, "rlvr.kind", "report")
    _show(tracker, run_id, page, figures)
    tracker.client.set_terminated(run_id, "FINISHED", now)


def show_page(runs: Iterable[Run], page: Path, figures: Mapping[str, str]) -> None:
    """A page on runs, in those of them that are in MLflow. Arguments and errors are `show_report`'s."""
    tracker = Tracker.open()
    for run in runs:
        for run_id in _ids(tracker, run):
            _show(tracker, run_id, page, figures)


def _ids(tracker: Tracker, run: Run) -> list[str]:
    """The runs in MLflow that mirror a run: one of an arm; of an evaluation, one for each set of values it has had."""
    if (link := read_object(run.folder / LINK, "run_id")) is not None:
        return [str(link["run_id"])] if tracker.has_run(link["run_id"]) else []
    experiment = tracker.client.get_experiment_by_name(NAME)
    if experiment is None:
        return []
    mirrors = [
        mirrored
        for folder in {str(run.folder), str(run.folder.resolve())}
        for mirrored in tracker.client.search_runs([experiment.experiment_id], f'tags.`rlvr.folder` = "{folder}"')
    ]
    return [str(mirrored.info.run_id) for mirrored in mirrors]


def _show(tracker: Tracker, run_id: str, page: Path, figures: Mapping[str, str]) -> None:
    tracker.client.log_text(run_id, page.read_text(encoding="utf-8"), PAGE)
    for name, svg in figures.items():
        tracker.client.log_text(run_id, svg, f"{FIGURES}/{name}.svg")
