"""The page of promises: every test that it names is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.faults.gate import HELD

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", [test for _, *tests in HELD for test in tests])
def test_a_named_test_is_there(name: str) -> None:
    file, _, function = name.partition("::")
    assert f"def {function}(" in (ROOT / file).read_text(encoding="utf-8")


def test_the_page_shows_the_record() -> None:
    from benchmarks.faults.__main__ import KEPT, page
    from evals.files import read_json

    assert (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8") == page(read_json(KEPT) or {})
