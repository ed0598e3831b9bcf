"""The study's finished runs as one archive per paper, and the pages computed from these."""

from __future__ import annotations

import csv
import io
import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from harness.runs.archive import export_runs
from harness.runs.source import ArchivedRuns
from studies.tiny.design import Design
from studies.tiny.excerpts import stale_excerpts
from studies.tiny.jobs import base_jobs, study_jobs
from studies.tiny.page import FIGURES, write_pages
from studies.tiny.tuning import accuracies, search
from studies.tiny.variations import alternative_jobs, sweep_jobs

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


def write_from_records(design: Design, folder: Path, out: Path, *, pictures: bool = True) -> list[Path]:
    """The pages and figures from the archives in `folder`, written into `out`; see `write_pages`.

    Raises:
        ValueError: there are no archives.
    """
    archives = sorted((folder / RECORDS).glob("*.zip"))
    if not archives:
        raise ValueError(f"{folder / RECORDS}: expected archives of the study's runs, found none")
    return write_pages(design, ArchivedRuns(archives), out, pictures=pictures)


def differing_pages(design: Design, folder: Path) -> list[Path]:
    """The committed pages and figures' numbers that differ from those of the committed records; and pages above
    `folder` whose repeated tables differ from its page.

    Pages are compared byte for byte. The figures' numbers are unrounded and may differ by a millionth, because their
    last bits differ between types of CPU.
    """
    with tempfile.TemporaryDirectory() as scratch:
        fresh = write_from_records(design, folder, Path(scratch), pictures=False)
        compared = [(path, folder / path.relative_to(scratch)) for path in fresh]
        differing = [old for new, old in compared if not old.is_file() or not _same(new, old)]
        expected = {old for _, old in compared}
    figures = sorted(path for path in (folder / FIGURES).glob("*.csv") if path not in expected)
    return [*differing, *figures, *stale_excerpts(folder)]


def _same(new: Path, old: Path) -> bool:
    if new.suffix != ".csv":
        return new.read_bytes() == old.read_bytes()
    rows = [list(csv.reader(io.StringIO(path.read_text(encoding="utf-8")))) for path in (new, old)]
    return [len(row) for row in rows[0]] == [len(row) for row in rows[1]] and all(
        a == b or _close(a, b) for row_a, row_b in zip(*rows, strict=True) for a, b in zip(row_a, row_b, strict=True)
    )


def _close(a: str, b: str) -> bool:
    try:
        return math.isclose(float(a), float(b), rel_tol=1e-6, abs_tol=1e-9)
    except ValueError:  # a name
        return False
