"""The simulations of results/coverage.md: they simulate what is shipped, and some of their cases."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import coverage_collapses, coverage_of_k
from evals.stats.differences import estimated
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


def test_the_simulated_intervals_of_differences_are_the_shipped_ones() -> None:
    rng = np.random.default_rng(1)
    for problems, n, k in ((4, 3, 1), (15, 8, 4), (48, 64, 16), (30, 1, 1)):  # the last: McNemar's exact test
        first = rng.beta(0.3, 0.1, (40, problems))
        sides = [coverage_of_k.measured("pass", rates, n, k, rng) for rates in (first, 2 * first / (1 + first))]
        sides[0][0], sides[1][0] = 0.5, 0.25  # all problems differ alike
        sides[1][1] = sides[0][1]  # and not at all
        interval_ends = coverage_of_k.ends(sides[0] - sides[1], difference=True)
        for a, b, low, high, marked in zip(*sides, *interval_ends, strict=True):
            shipped = estimated([(a, b)])[0].interval()
            assert shipped is not None
            assert (low, high) == (pytest.approx(shipped.low, abs=1e-9), pytest.approx(shipped.high, abs=1e-9))
            assert bool(marked) == shipped.rough


@pytest.mark.parametrize(
    ("metric", "problems", "n", "k", "kinds"),
    [
        ("pass", 48, 64, 16, ("",)),
        ("maj", 30, 16, 8, ("",)),
        ("avg", 48, 64, 1, ("",)),
        ("pass", 30, 16, 8, ("same", "lift")),
    ],
)
def test_an_interval_holds_the_truth_or_is_marked(
    metric: str, problems: int, n: int, k: int, kinds: tuple[str, ...]
) -> None:
    # the worst of 25 or 50 shapes is simulated 3,000 times again: one standard deviation of 7 % is then 0.5
    row = coverage_of_k.row(coverage_of_k.Size(metric, problems, n, k, kinds), 300, 3000)
    assert row.worst.unwarned <= 0.08 and row.mean >= 0.9
    assert row.unmarked is None or row.unmarked.covered >= 0.92


def test_a_difference_that_one_problem_could_undo_is_marked() -> None:
    # 40 problems, d = 0.001 and -0.001: 40 vary, and the half-width is t(39) 0.001 / sqrt(39) = 0.0003 < 1/40
    tiny = estimated([(np.tile([0.999, 0.998], 20), np.tile([0.998, 0.999], 20))])[0].interval()
    # d = 0.2 and -0.2: 2.02 * 0.2 / sqrt(39) = 0.065 > 1/40
    wide = estimated([(np.tile([0.6, 0.4], 20), np.tile([0.4, 0.6], 20))])[0].interval()
    # all d = 1: at most a share 1 - 0.025^(1/40) of all problems is otherwise
    alike = estimated([(np.ones(40), np.zeros(40))])[0].interval()
    assert tiny is not None and wide is not None and alike is not None and not alike.rough
    assert (tiny.rough, wide.rough) == (True, False) and tiny.high < 1 / 40 < wide.high


def test_what_a_row_names_is_simulated_again() -> None:
    size = coverage_of_k.Size("pass", 15, 8, 4)
    row = coverage_of_k.row(size, 50, 400)
    assert row.least == size.cell(row.least.shape, "", 400, again=True) != size.cell(row.least.shape, "", 400)


def test_no_false_verdict_needs_no_assumption_where_a_method_collapses() -> None:
    rules = coverage_collapses.compare(3, 0.1, 0.5, runs=60)
    assert rules.needs_none <= 0.05 and rules.without > 0.3  # none of three shows a collapse in 73 %


def test_the_expected_majority_is_the_mean_of_its_estimates() -> None:
    rng = np.random.default_rng(1)
    rates = np.full(40_000, 0.4)
    estimates = coverage_of_k.measured("maj", rates, 8, 4, rng)
    # 40,000 values of a deviation of at most 0.5: one standard deviation of either mean is at most 0.0025
    assert estimates.mean() == pytest.approx(coverage_of_k.truth("maj", rates, 4, rng), abs=0.015)
