"""The study's finished runs as one archive a paper, and the pages computed from them again."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from harness.runs.archive import export_runs, imported
from harness.study.design import Design
from harness.study.jobs import base_jobs, study_jobs
from harness.study.page import FIGURES, write_pages
from harness.study.tuning import accuracies, search
from harness.study.variations import alternative_jobs, sweep_jobs

if TYPE_CHECKING:
    from harness.runs.track import Tracker

RECORDS = "records"


def write_records(design: Design, tracker: Tracker, folder: Path) -> list[Path]:
    """RECORDS/<paper>.zip of every paper that has finished runs of the design, those of the search included."""
    state = search(design, accuracies(tracker, design))
    jobs = [
        *base_jobs(design),
        *state.jobs,
        *study_jobs(design, state.settings),
        *alternative_jobs(design, state.settings),
        *sweep_jobs(design, state.settings),
    ]
    written = []
    for paper in design.papers():
        digests = frozenset(job.digest for job in jobs if job.paper == paper)
        path = folder / RECORDS / f"{paper}.zip"
        if export_runs(paper, tracker, path, digests=digests, missing_ok=True):
            written.append(path)
    return written


def write_from_records(design: Design, folder: Path, out: Path) -> list[Path]:
    """The pages and figures from the archives in `folder`, written into `out`.

    Raises:
        ValueError: there are no archives.
    """
    archives = sorted((folder / RECORDS).glob("*.zip"))
    if not archives:
        raise ValueError(f"{folder / RECORDS}: expected archives of the study's runs, found none")
    with imported(archives) as tracker:
        return write_pages(design, tracker, out)


def differing_pages(design: Design, folder: Path) -> list[Path]:
    """The committed pages, and the numbers of the figures, that are not what the committed records give."""
    with tempfile.TemporaryDirectory() as scratch:
        fresh = [path for path in write_from_records(design, folder, Path(scratch)) if path.suffix != ".png"]
        compared = [(path, folder / path.relative_to(scratch)) for path in fresh]
        differing = [old for new, old in compared if not old.is_file() or old.read_bytes() != new.read_bytes()]
        expected = {old for _, old in compared}
    return differing + sorted(path for path in (folder / FIGURES).glob("*.csv") if path not in expected)
