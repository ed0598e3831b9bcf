"""`nox -s bench`: calls alternate, and the page shows the ratio of what was measured."""

from __future__ import annotations

from benchmarks.speed import Row, medians, page


def test_timed_calls_alternate_after_one_untimed_each() -> None:
    order: list[str] = []
    seconds = medians({"ours": lambda: order.append("o"), "theirs": lambda: order.append("t")}, 3)
    assert order == ["o", "t"] * 4
    assert seconds.keys() == {"ours", "theirs"} and min(seconds.values()) >= 0


def test_the_page_has_the_ratio() -> None:
    (row,) = [line for line in page([Row("x", "n/s", 600.0, 30.0, "y", "z")], 3).splitlines() if "| x" in line]
    assert [cell.strip() for cell in row.strip("|").split("|")] == ["x", "y", "20.00", "600", "30", "n/s", "z"]
