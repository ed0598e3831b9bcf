"""The tables of the reference pages are those that the code writes."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.reference import PAGES, REGION, TABLES, renewed


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_the_tables_of_a_page_are_those_of_the_code(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == renewed(text), f"{page.name}: type python -m benchmarks.reference --write"


def test_each_table_is_on_one_page() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES.glob("*.md"))
    assert Counter(name for _, name, _ in REGION.findall(text)) == Counter(list(TABLES))
    assert len(re.findall("<!-- TABLE", text)) == len(re.findall("<!-- /TABLE", text)) == len(TABLES)


def test_a_changed_table_is_written_again() -> None:
    page = (PAGES / "methods.md").read_text(encoding="utf-8")
    assert renewed(page.replace("`entropies`", "`entropy`")) == page
