"""The page of each paper: its coverage is whole (`tests/docs` has its commands)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import reproductions
from harness.analysis.families import families
from harness.spec import catalogue
from tests.shared import paper_text

FOLDER = Path(reproductions.__path__[0])
NUMBER = {  # in the paper's text. None: our text is a page about the paper.
    "egsw": 0,
    "erpo": 1,
    "trial_and_error": 2,
    "entropy_advantage": 3,
    "forking_tokens": None,
}
DECLARED = list(NUMBER)


def coverage(key: str) -> list[list[str]]:
    """The rows of a page's table of coverage, three cells each."""
    page = (FOLDER / key / "README.md").read_text()
    section = page.partition("## How to run each table, figure, ablation and analysis\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


@pytest.mark.parametrize("key", DECLARED)
def test_no_row_of_the_coverage_is_blank_and_its_figures_exist(key: str) -> None:
    rows = coverage(key)
    assert len(rows) >= 8
    for row in rows:
        assert len(row) == 3 and all(row), row
        for name in re.findall(r"`only=([\w,]+)`", row[2]):
            assert set(name.split(",")) <= set(families()), row


@pytest.mark.parametrize("key", DECLARED)
def test_the_coverage_names_every_arm_table_and_figure(key: str) -> None:
    rows = coverage(key)
    text = " ".join(cell for row in rows for cell in row)
    sets = catalogue.arm_sets(catalogue.load(key))
    named = {arm for name in re.findall(r"`?arms=(\w+)", text) for _, arm in sets[name] if name != "all"}
    for arm in catalogue.load(key).arms:
        assert arm.key in named or f"`{arm.key}`" in text or f"arm={arm.key}" in text or arm.key in text, arm.key
    assert {cell.table for cell in catalogue.published(key)} <= {row[0] for row in rows}
    number = NUMBER[key]
    if number is not None:  # every table and figure that the paper's text speaks of
        body = paper_text(number)
        start, end = body.rfind("\nReferences"), body.rfind("Appendix A")
        body = body[:start] + body[end:] if 0 < start < end else body
        for kind, pattern in (("Table", r"\bTable\s+(\d+)"), ("Figure", r"\bFig(?:ure|\.)\s+(\d+)")):
            for place in {int(n) for n in re.findall(pattern, body)}:
                assert f"{kind} {place}" in {row[0].partition(",")[0] for row in rows}, (key, kind, place)
