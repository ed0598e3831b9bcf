"""Counts behind printed scores, against all counts printed in every way."""

from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.errors import UsageError
from evals.stats.printed_counts import Counts, counts, counts_of, nearest_counts, percent


@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.integers(0, 3))
def test_a_count_is_among_those_of_its_print(pair: tuple[int, int], digits: int) -> None:
    count, tries = pair
    for rounding in (ROUND_HALF_EVEN, ROUND_HALF_UP, ROUND_DOWN):
        shown = str((Decimal(100 * count) / tries).quantize(Decimal(1).scaleb(-digits), rounding))
        assert count in counts(shown, tries)
        range_found = counts_of(shown, tries)
        assert range_found is not None
        assert rounding == ROUND_DOWN or range_found.low <= count <= range_found.high


@pytest.mark.parametrize(
    ("printed", "tries", "expected"),
    [
        ("43.75", 1920, Counts(840, 840, 1920)),
        ("47.4", 1920, Counts(910, 911, 1920)),  # 910/1920 = 47.396, 911/1920 = 47.448
        ("26.66", 30, Counts(8, 8, 30, "cut")),  # 26.667
        ("40.63", 1319, Counts(536, 536, 1319, "cut")),  # 40.637
        ("88.30", 1319, Counts(1165, 1165, 1319, "padded")),  # 88.324: 88.3
        ("50.6", 40, None),
        ("50.6", 83, Counts(42, 42, 83)),
        ("11.65", 90, None),
        ("13/30", 60, Counts(26, 26, 60)),
        ("13/30", 40, None),
        ("0.0", 30, Counts(0, 0, 30)),
        ("100", 30, Counts(30, 30, 30)),
        ("47.4%", 1920, Counts(910, 911, 1920)),
    ],
)
def test_counts_of_prints(printed: str, tries: int, expected: Counts | None) -> None:
    assert counts_of(printed, tries) == expected


def test_the_nearest_counts_are_around_it() -> None:
    assert nearest_counts("57.1", 30) == (17, 18)
    assert nearest_counts("100", 30) == (30, 30)


@pytest.mark.parametrize("text", ["", "x", "-3", "147", "14/13", "1/0", "4,5", "nan", "1e2"])
def test_what_is_no_score_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no score"):
        percent(text)
