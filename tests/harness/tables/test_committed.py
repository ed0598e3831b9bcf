"""The committed tables are what the committed runs give: every number."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from harness.record.find import runs
from harness.tables.tabulate import report

pytestmark = pytest.mark.slow

RESULTS = Path(__file__).parents[3] / "results"


@pytest.mark.parametrize("archive", sorted((RESULTS / "records").glob("*.tar.xz")), ids=lambda path: path.name)
def test_committed_tables_come_from_the_committed_runs(archive: Path) -> None:
    paper = archive.name.partition(".")[0]
    made = list(csv.DictReader(report(paper, runs(archive)).csv().splitlines()))
    committed = list(csv.DictReader((RESULTS / paper / "tables.csv").read_text().splitlines()))
    assert len(made) == len(committed) > 20
    for made_row, committed_row in zip(made, committed, strict=True):
        for name, text in committed_row.items():
            try:
                assert float(made_row[name]) == pytest.approx(float(text), rel=1e-9), (name, committed_row)
            except ValueError:
                assert made_row[name] == text, (name, committed_row)
