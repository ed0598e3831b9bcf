"""What the tables' averages say about the number of runs behind them."""

from __future__ import annotations

import pytest

from reproductions.egsw.doubts import doubts, fits


@pytest.mark.parametrize(
    ("printed", "benchmark", "runs", "right"),
    [
        ("25.0", "aime24", 2, [15]),  # 15/60
        ("25.0", "aime24", 3, []),  # 22/90 = 24.44, 23/90 = 25.56
        ("11.65", "aime25", 2, [7]),  # 7/60 = 11.667: the mean of 10.0 and 13.3 as printed
        ("11.65", "aime25", 3, []),  # 10/90 = 11.11, 11/90 = 12.22
        ("34.09", "gpqa_diamond", 2, [135]),  # 135/396 = 34.0909
        ("34.09", "gpqa_diamond", 3, []),  # 202/594 = 34.007, 203/594 = 34.175
        ("17.78", "aime25", 3, [16]),  # 16/90
        ("0.0", "aime25", 1, [0]),
    ],
)
def test_counts_by_hand(printed: str, benchmark: str, runs: int, right: list[int]) -> None:
    assert fits(printed, benchmark, runs) == right


def test_the_doubts_are_about_the_egsw_rows() -> None:
    first, second = doubts()
    assert first.startswith("Table 1, GRPO + EGSW") and "all cells fit 2" in first and "15/60" in first
    # Table 2's 14.3: 12/90 = 13.3, 13/90 = 14.4, 4/30, 5/30, 8/60 = 13.3, 9/60 = 15
    assert second.startswith("Table 2, GRPO + EGSW: AIME24 14.3") and "no number of runs" in second
