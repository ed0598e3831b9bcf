"""The simulations of results/coverage.md: they simulate what is shipped, and some of their cases."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import coverage_collapses, coverage_of_k
from evals.stats.intervals import over_problems


def test_the_simulated_intervals_are_the_shipped_ones() -> None:
    rng = np.random.default_rng(0)
    for problems, n in ((4, 3), (15, 8), (48, 64)):
        rates = rng.beta(0.3, 0.1, (40, problems))
        values = coverage_of_k.measured("pass", rates, n, max(1, n // 4), rng)
        values[0], values[1], values[2, 1:] = 1.0, 0.25, 0.0
        low, high, marked = coverage_of_k.ends(values)
        for row, ends in zip(values, zip(low, high, marked, strict=True), strict=True):
            shipped = over_problems(row)
            assert shipped is not None
            assert ends[:2] == (pytest.approx(shipped.low, abs=1e-9), pytest.approx(shipped.high, abs=1e-9))
            assert bool(ends[2]) == shipped.rough


@pytest.mark.parametrize(
    ("metric", "problems", "n", "k"), [("pass", 48, 64, 16), ("maj", 30, 16, 8), ("avg", 48, 64, 1)]
)
def test_an_interval_holds_the_truth_or_is_marked(metric: str, problems: int, n: int, k: int) -> None:
    # 400 samples a shape: one standard deviation of 5 % is 1.1; at most 7 % are allowed, and 23 shapes are tried
    row = coverage_of_k.row(metric, problems, n, k, 400)
    assert row.worst[0] <= 0.085
    assert row.mean >= 0.94


def test_no_false_verdict_needs_no_assumption_where_a_method_collapses() -> None:
    of = coverage_collapses.compare(3, 0.1, 0.5, runs=60)
    assert of.needs_none <= 0.05 and of.without > 0.3  # none of three shows a collapse in 73 %


def test_the_expected_majority_is_the_mean_of_its_estimates() -> None:
    rng = np.random.default_rng(1)
    rates = np.full(40_000, 0.4)
    estimates = coverage_of_k.measured("maj", rates, 8, 4, rng)
    # 40,000 values of a deviation of at most 0.5: one standard deviation of either mean is at most 0.0025
    assert estimates.mean() == pytest.approx(coverage_of_k.truth("maj", rates, 4, rng), abs=0.015)
