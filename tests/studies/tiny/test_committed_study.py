"""The committed pages of the study are what the committed records give."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.tiny.design import STUDY
from studies.tiny.excerpts import stale_excerpts
from studies.tiny.records import _same, differing_pages

FOLDER = Path(__file__).parents[3] / "results" / "study"


def test_committed_pages_come_from_the_committed_records() -> None:
    assert differing_pages(STUDY, FOLDER) == []


def test_pages_above_repeat_tables_of_the_study() -> None:
    for page, tables in ((FOLDER.parents[1] / "README.md", 1), (FOLDER.parent / "README.md", 4)):
        assert page.read_text(encoding="utf-8").count("<!-- study table: ") == tables
    assert stale_excerpts(FOLDER) == {}


@pytest.mark.parametrize(
    ("name", "old", "same"),
    [
        ("a.md", "| 47.3 |\n", True),
        ("a.md", "| 47.4 |\n", False),  # edited by hand
        ("a.csv", "arm,mean\ngrpo,0.30000000000000004\n", True),
        ("a.csv", "arm,mean\ngrpo,0.3001\n", False),
        ("a.csv", "arm,mean\negsw,0.3\n", False),
        ("a.csv", "arm,mean\n", False),
    ],
)
def test_a_number_edited_by_hand_is_noticed(tmp_path: Path, name: str, old: str, same: bool) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / name).write_text(old)
    (tmp_path / "new" / name).write_text("| 47.3 |\n" if name == "a.md" else "arm,mean\ngrpo,0.3\n")
    assert _same(tmp_path / "new" / name, tmp_path / name) is same
