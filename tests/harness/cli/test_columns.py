"""Aligned tables, and the page that the benchmarks of speed print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.bench import __main__ as bench
from benchmarks.bench.__main__ import report
from benchmarks.bench.timing import Row, medians
from harness.cli.columns import columns


def test_columns_are_markdown_and_aligned() -> None:
    assert columns(("name", "n"), [("a|b", "5"), ("c", "1234")]).splitlines() == [
        "| name |    n |",
        "|------|-----:|",
        "| a\\|b |    5 |",
        "| c    | 1234 |",
    ]


def test_timed_calls_alternate() -> None:
    order: list[str] = []
    seconds = medians({"ours": lambda: order.append("o"), "theirs": lambda: order.append("t")}, 3, warm=False)
    assert order == ["o", "t"] * 3
    assert seconds.keys() == {"ours", "theirs"} and min(seconds.values()) >= 0


def test_the_page_lists_measured_and_unmeasured_parts() -> None:
    text = report([Row("grader", "verdicts/s", 600.0, 30.0, "a loop", 3, "all identical")], "grader was skipped: x")
    (row,) = [line for line in text.splitlines() if line.startswith("| grader")]
    assert [cell.strip() for cell in row.strip("|").split("|")] == [
        "grader", "a loop", "20.00", "600", "30", "verdicts/s", "all identical",
    ]  # fmt: skip
    assert "Medians of 3 rounds" in text and "grader was skipped: x" in text and "commit " in text


def test_a_part_measured_again_leaves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "KEPT", tmp_path / "performance.json")
    bench.keep({"engine": "old engine", "grader": "old grader"})
    bench.keep({"engine": "new engine"})
    text = (tmp_path / "performance.md").read_text()
    assert "old grader" in text and "new engine" in text and "old engine" not in text


def test_the_committed_page_is_that_of_the_committed_tables() -> None:
    assert bench.KEPT.with_suffix(".md").read_text() == bench.page(json.loads(bench.KEPT.read_text()))
