"""results/leaks.md has the rates of the files beside it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from statsmodels.stats.proportion import proportion_confint

RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.parametrize("path", sorted((RESULTS / "leaks").glob("*.csv")), ids=lambda path: path.stem)
def test_every_rate_is_on_the_page_with_its_interval(path: Path) -> None:
    page = (RESULTS / "leaks.md").read_text(encoding="utf-8")
    (part,) = (text for text in page.split("\n## ") if text.partition("\n")[0].lower() == path.stem)
    rows = list(csv.DictReader(path.open(encoding="utf-8")))
    assert len(rows) == 7 * 5  # benchmarks. Three conditions complete, two of them have an answer
    for row in rows:
        hits, problems = int(row["hits"]), int(row["problems"])
        low, high = proportion_confint(hits, problems, method="wilson")
        assert f"| {hits} of {problems} [{100 * low:.1f}, {100 * high:.1f}] |" in part, row
