"""Differences of two runs and Holm's correction: by hand, against slow versions, and in simulations."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.coverage import intervals as coverage
from benchmarks.coverage.intervals import Crossed
from evals.stats.differences import holm, over_seeds_difference, paired, paired_average, paired_interval
from evals.stats.intervals import (
    Interval,
    joined_estimate,
    joined_half,
    moderated_seeds,
    over_problems,
    seeds_df,
)
from tests.evals.stats.test_intervals import matrices, slow_half_width


def test_the_p_value_with_seeds_is_that_of_the_interval() -> None:
    values = Crossed(6, 30, 8, 0.0, 0.3).sample(np.random.default_rng(2), 100)
    compared = [paired(table[:3], table[3:]) for table in values]
    for result in compared:
        assert result.interval is not None and result.p_value is not None
        assert (result.p_value <= 0.05) is not (result.interval.low <= 0 <= result.interval.high)
    # two equal methods: about one in twenty looks different; one standard deviation is 0.022
    assert np.mean([r.p_value <= 0.05 for r in compared if r.p_value is not None]) <= 0.12


@pytest.mark.parametrize(("problems", "samples"), [(30, 1), (30, 8), (83, 1)])
def test_two_equal_checkpoints_differ_in_at_most_one_of_twenty(problems: int, samples: int) -> None:
    # 1,000 pairs: one standard deviation of a share near 0.05 is 0.007
    for kind in ("same", "other"):
        assert coverage.two_runs(problems, samples, 0.4, 1.0, kind, 1_000).share >= 0.95 - 2.5 * 0.007


def test_an_interval_and_its_p_value_say_the_same() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        a, b = rng.binomial(1, 0.6, 30), rng.binomial(1, 0.4, 30)
        result = paired(a, b)
        assert result.interval is not None and result.p_value is not None
        assert (result.p_value <= 0.05) is not (result.interval.low <= 0 <= result.interval.high)


@settings(max_examples=25)
@given(matrices(4), st.floats(0.01, 0.5))
def test_equivalence_is_two_one_sided_tests(table: list[list[float]], margin: float) -> None:
    # p_equal <= 5 % exactly if the 90 % interval is within the margin
    result = paired(table[:2], table[2:], margin=margin)
    narrow = paired_interval(table[:2], table[2:], level=0.9)
    assert narrow is not None and result.p_equal is not None
    if abs(narrow.low + margin) > 1e-6 and abs(narrow.high - margin) > 1e-6:
        assert (result.p_equal < 0.05) is (-margin < narrow.low and narrow.high < margin)


def test_an_average_of_one_benchmark_is_that_benchmark() -> None:
    a, b = np.random.default_rng(6).random((2, 3, 20))
    assert paired_average([(a, b)]) == paired(a, b)


def test_an_average_of_two_benchmarks_by_hand() -> None:
    # no noise in seeds: each benchmark's interval is its problems', and the halves add up as squares, by two
    rng = np.random.default_rng(7)
    a1, b1, a2, b2 = (rng.random((1, p)) for p in (20, 20, 30, 30))
    got = paired_average([(a1, b1), (a2, b2)], bounds=None)
    first, second = paired(a1, b1, bounds=None), paired(a2, b2, bounds=None)
    assert got.difference == pytest.approx((first.difference + second.difference) / 2)
    halves = [(r.interval.high - r.interval.low) / 2 for r in (first, second, got) if r.interval is not None]
    assert halves[2] == pytest.approx(math.hypot(*halves[:2]) / 2)


def test_the_seeds_of_an_average_are_those_of_all_benchmarks_together() -> None:
    # seeds +d and -d on one benchmark, -d and +d on the other: they cancel in the average, so its seeds show no spread
    a1, a2 = np.full((2, 20), 0.5), np.full((2, 20), 0.5)
    a1[0] += 0.1
    a2[1] += 0.1
    base = np.full((1, 20), 0.5)
    alone, both = joined_estimate([[a1], [base]], None), joined_estimate([[a1, a2], [base, base]], None)
    # seeds at 0.6 and 0.5: variance 0.005, half of it that of the mean
    assert (alone.seeds, both.seeds) == (pytest.approx(0.0025), pytest.approx(0.0))
    assert paired_average([(a1, base)], trained=(True, False)).seeds_covered


def test_a_trained_arm_keeps_its_seeds_against_an_untrained_base() -> None:
    # seeds at 0.4, 0.4 and 0.7 on every problem, alone against a base of 0.45: half of two degrees of freedom
    a, base = np.repeat([[0.4], [0.4], [0.7]], 50, axis=1), np.full((1, 50), 0.45)
    result = paired(a, base, trained=(True, False), bounds=None)
    assert result.interval is not None
    # mean difference 0.05, variance 0.03 / 3, t = tan(0.475 pi) on one degree of freedom; the problems show none
    assert result.interval.high == pytest.approx(0.05 + 0.1 * math.tan(0.475 * math.pi))
    assert (result.seeds_covered, result.interval.covers) == (True, "problems and seeds")
    once = paired(a[:1], base, trained=(True, False))
    assert (once.seeds_covered, once.interval and once.interval.covers) == (False, "problems")
    assert paired(base, base + 0.1, trained=(False, False)).seeds_covered


def test_degrees_of_freedom_of_seeds_by_hand() -> None:
    assert seeds_df([0.3], [3]) == 1  # one side alone: half of two
    assert seeds_df([0.3, 0.3], [5, 5]) == pytest.approx(4)  # alike: 1 / (2 (1/2)^2 / 2)
    assert seeds_df([0.3, 0.1], [5, 5]) == pytest.approx(1 / ((9 / 16 + 1 / 16) / 2))
    assert seeds_df([0.0, 0.3], [5, 5]) == 2  # the other side shows nothing
    assert seeds_df([0.3, 0.3], [2, 30]) == 1  # 1 / (1/2 + 1/58), 1.93, is more than the smaller side has
    assert (seeds_df([0.0], [3]), seeds_df([0.0, 0.0], [3, 4])) == (1, 2)


def test_the_seeds_declared_prior_by_hand() -> None:
    # two seeds of deviation 0, prior deviation 0.1 on two degrees of freedom: 2 * 0.01 / 3 is the variance of one, half
    # of it that of the mean, on 2 + 1
    variance, df = moderated_seeds([0.0], [2])
    assert (float(variance), float(df)) == (pytest.approx(0.01 / 3), 3)
    # the same again beside it: the variances add up, and Welch's 6 is capped at 3
    variance, df = moderated_seeds([0.0, 0.0], [2, 2])
    assert (float(variance), float(df)) == (pytest.approx(0.02 / 3), 3)
    # variances of the means 0.02 (s^2 = 0.04) and 0, S = 2: (0.02 + 0.04) / 3 / 2 = 0.01 and 0.01 / 3
    variance, df = moderated_seeds([0.02, 0.0], [2, 2])
    assert float(variance) == pytest.approx(0.04 / 3)
    assert float(df) == 3  # Welch's 1 / ((9 + 1) / 16 / 3) = 4.8
    # values in 0..100 and not in 0..1; many seeds outweigh the prior
    assert float(moderated_seeds([0.0], [2], 100.0)[0]) == pytest.approx(100 / 3)
    assert float(moderated_seeds([0.0004], [10_000])[0]) == pytest.approx(0.0004, rel=1e-3)


def test_two_seeds_resolve_a_gap_far_beyond_what_seeds_differ_by() -> None:
    # 72 points apart, each side's seeds 5 points apart
    a, b = (np.repeat([[mean + 0.025], [mean - 0.025]], 30, axis=1) for mean in (0.82, 0.10))
    result = paired(a, b)
    assert result.interval is not None and result.p_value is not None
    # with the prior (0.02 + 0.00125) / 3 a side, half of it twice: t = 0.72 / 0.0842 = 8.6 on 3 degrees, p = 0.0033;
    # bent to the bounds it is a little more
    assert 0.002 < result.p_value < 0.02
    # on their own they have one degree of freedom: variances of the means 0.025^2, t = 0.72 / (0.025 sqrt(2)) = 20.4
    own = paired(a, b, bounds=None)
    assert own.p_value == pytest.approx(1 - 2 * math.atan(0.72 / (0.025 * math.sqrt(2))) / math.pi)


@settings(max_examples=25)
@given(matrices(4))
def test_the_prior_never_widens_an_interval(table: list[list[float]]) -> None:
    tables = [[np.array(table[:2])], [np.array(table[2:])]]
    both = joined_estimate(tables, (-1.0, 1.0))
    own = replace(both, moderated=None).interval()
    got = both.interval()
    assert got is not None and own is not None
    assert own.low - 1e-12 <= got.low and got.high <= own.high + 1e-12


def test_many_degrees_of_freedom_at_once_are_each_alone() -> None:
    # `power` asks for all pairs of variances at once; below two degrees the half-width is Howe's alone
    degrees = [0.5, 1.0, 1.9, 2.0, 5.0]
    alone = [float(joined_half(0.1, 0.01, df, 0.975)) for df in degrees]
    assert joined_half(0.1, 0.01, degrees, 0.975) == pytest.approx(alone)
    assert alone[1] == pytest.approx(math.hypot(0.1, 0.1 * math.tan(0.475 * math.pi)))


def test_rows_of_an_untrained_model_are_averaged() -> None:
    a, base = np.random.default_rng(8).random((2, 3, 20))
    assert paired(a, base, trained=(True, False)) == paired(a, base.mean(axis=0), trained=(True, False))


@pytest.mark.parametrize("seeds", [2, 3])
@pytest.mark.parametrize("deviation", [0.0, 0.3, 0.8])
def test_two_equal_methods_differ_in_at_most_one_of_twenty(seeds: int, deviation: float) -> None:
    # 800 pairs: one standard deviation of a share near 0.05 is 0.008
    assert coverage.two_runs_with_seeds(Crossed(seeds, 30, 8, 0.0, deviation), 800).share >= 0.95 - 2 * 0.008


def test_curves_over_seeds_by_hand() -> None:
    # means 2 and 0.5; variances 1 and 0.5 of 3 and 2 values: error sqrt(1/3 + 1/4); halves of 2 and 1 degrees of
    # freedom, by Welch: (7/12)^2 / (1/9 / 1 + 1/16 / 0.5) = 49/34; at most that of the smaller side, 1
    result = over_seeds_difference([1, 2, 3], [0, 1])
    error = math.sqrt(1 / 3 + 1 / 4)
    assert result.interval is not None and result.difference == 1.5
    assert result.interval.high == pytest.approx(1.5 + error * math.tan(0.475 * math.pi))
    assert result.p_value == pytest.approx(1 - 2 * math.atan(1.5 / error) / math.pi)
    assert not over_seeds_difference([1], [0, 1]).seeds_covered
    assert over_seeds_difference([1, 2], [0, 1.5], paired_by_seed=True).difference == 0.75


def test_the_same_run_twice_has_no_difference() -> None:
    result = paired([0.5] * 30, [0.5] * 30)
    assert (result.difference, result.p_value) == (0.0, pytest.approx(1.0))
    u = 1 - 0.025 ** (1 / 30)  # a share u of all problems may differ, by up to 1, though none of 30 did
    assert result.interval == Interval(pytest.approx(-u), pytest.approx(u), 0.95, "problems", True)


@settings(max_examples=25)
@given(matrices(4))
def test_a_difference_has_a_sign(table: list[list[float]]) -> None:
    there, back = paired(table[:2], table[2:]), paired(table[2:], table[:2])
    assert there.difference == pytest.approx(-back.difference)
    assert there.p_value == pytest.approx(back.p_value, abs=1e-8)
    assert there.interval is not None
    assert back.interval is not None
    assert (there.interval.low, there.interval.high) == (
        pytest.approx(-back.interval.high),
        pytest.approx(-back.interval.low),
    )
    assert there.interval.covers == "problems and seeds"


@settings(max_examples=25)
@given(matrices(4))
def test_the_seeds_of_both_runs_count(table: list[list[float]]) -> None:
    a, b = table[:2], table[2:]
    by_problem = [(w + x - y - z) / 2 for w, x, y, z in zip(*table, strict=True)]
    half = slow_half_width(by_problem, [a, b])
    interval = paired(a, b, bounds=None).interval
    if interval is None:
        assert half < 1e-8
    else:
        assert (interval.high - interval.low) / 2 == pytest.approx(half, rel=1e-6)


def test_a_single_seed_on_one_side_covers_problems_only() -> None:
    a, b = np.array([[0.0, 0.5, 1.0], [0.5, 0.5, 1.0]]), np.array([0.25, 0.0, 0.5])
    result = paired(a, b)
    assert result.interval == over_problems(a.mean(axis=0) - b, bounds=(-1, 1))
    assert not result.seeds_covered


def test_one_problem_gives_no_interval_of_a_difference() -> None:
    result = paired([1.0], [0.0])
    assert (result.difference, result.interval, result.p_value) == (1.0, None, None)


def test_an_equal_shift_of_all_problems_with_seeds() -> None:
    # no spread at all: the interval at level 1 - p reaches zero where (p/2)^(1/P) = 1/2, so p = 2/2^5
    result = paired(np.ones((2, 5)), np.zeros((2, 5)))
    assert result.p_value == pytest.approx(2 / 2**5)


# many tests


def test_holm_by_hand() -> None:
    # sorted 0.01, 0.03, 0.04 times 3, 2, 1: 0.03, 0.06, 0.04; then never below the one before: 0.03, 0.06, 0.06
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([]) == []
    # of a declared family of five, two without a p-value: 5, 4, 3 times
    assert holm([0.04, None, 0.01, 0.03], family=5) == pytest.approx([0.12, None, 0.05, 0.12])
    with pytest.raises(ValueError, match="family: expected at least the 2"):
        holm([0.1, 0.2], family=1)


def test_holm_is_that_of_statsmodels() -> None:
    from statsmodels.stats.multitest import multipletests

    p_values = [0.04, 0.001, 0.03, 0.03, 0.2, 1.0, 0.0]
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1].tolist())


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.sampled_from([0.01, 0.05, 0.3]))
def test_holm_rejects_what_the_step_down_rejects(p_values: list[float], alpha: float) -> None:
    rejected: set[int] = set()
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        if (len(p_values) - rank) * p_values[i] > alpha:
            break
        rejected.add(i)
    assert {i for i, p in enumerate(holm(p_values)) if p is not None and p <= alpha} == rejected
