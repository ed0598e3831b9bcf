"""Check the committed tables: compute them again from the committed runs and compare byte for byte."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness.record.find import runs
from harness.tables.tabulate import report


def differing_tables(archives: Sequence[Path], folder: Path) -> list[tuple[Path, str]]:
    """The files of `folder`/<paper>/ that differ from the tables of the archives' runs, each with its first differing
    line.

    Raises:
        DamagedFileError: a file is not an archive.
    """
    differing = []
    archived = runs(*archives)
    with tempfile.TemporaryDirectory() as scratch:
        for paper in sorted({run.paper for run in archived}):
            for fresh in report(paper, archived).write(Path(scratch) / paper):
                committed = folder / paper / fresh.name
                if line := _first_difference(fresh, committed):
                    differing.append((committed, line))
    return differing


def _first_difference(fresh: Path, committed: Path) -> str | None:
    if not committed.is_file():
        return "the file is missing"
    new, old = (path.read_text(encoding="utf-8").splitlines() for path in (fresh, committed))
    for number in range(max(len(new), len(old))):
        a, b = (lines[number] if number < len(lines) else "(end of file)" for lines in (old, new))
        if a != b:
            return f"line {number + 1}: committed {a[:120]!r}, computed {b[:120]!r}"
    return None if fresh.read_bytes() == committed.read_bytes() else "line ends"
