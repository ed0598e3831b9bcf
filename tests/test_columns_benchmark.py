"""Aligned tables."""

from __future__ import annotations

from benchmarks.columns import columns


def test_columns_are_markdown_and_aligned() -> None:
    assert columns(("name", "n"), [("a|b", "5"), ("c", "1234")]).splitlines() == [
        "| name |    n |",
        "|------|-----:|",
        "| a\\|b |    5 |",
        "| c    | 1234 |",
    ]
