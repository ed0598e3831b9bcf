"""Differences of two runs and Holm's correction: by hand, against slow versions, and in simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, ttest_ind, ttest_rel

from benchmarks.coverage import Trained
from evals.stats.differences import Paired, estimated, holm, over_seeds_difference, paired, paired_average
from evals.stats.intervals import Interval, joined_estimate, t_quantile
from tests.evals.stats.test_intervals import matrices, slow_half_width


def test_the_p_value_with_seeds_is_that_of_the_interval() -> None:
    trained, rng = Trained(6, 30, 8, "normal", 0.04), np.random.default_rng(2)
    values = trained.measured(trained.rates(rng, 100), rng)
    compared = [paired(table[:3], table[3:]) for table in values]
    for result in compared:
        assert result.interval is not None and result.p_value is not None
        assert (result.p_value <= 0.05) is not (result.interval.low <= 0 <= result.interval.high)
    # two equal methods: about one in twenty looks different. One standard deviation is 0.022
    assert np.mean([r.p_value <= 0.05 for r in compared if r.p_value is not None]) <= 0.12


@settings(max_examples=25)
@given(matrices(6), st.floats(0.01, 0.5))
def test_equivalence_is_two_one_sided_tests(table: list[list[float]], margin: float) -> None:
    # the larger one-sided p is at most 5 % exactly if the 90 % interval is within the margin
    result = paired(table[:3], table[3:], margin=margin)
    narrow = estimated([(table[:3], table[3:])])[0].interval(0.9)
    assert narrow is not None and result.p_not_lower is not None and result.p_not_higher is not None
    if abs(narrow.low + margin) > 1e-6 and abs(narrow.high - margin) > 1e-6:
        assert (max(result.p_not_lower, result.p_not_higher) < 0.05) is (-margin < narrow.low and narrow.high < margin)


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
    # one seed is 10 points up on one benchmark and another on the other: in the average they are 5 points up each
    a1, a2 = np.full((3, 20), 0.5), np.full((3, 20), 0.5)
    a1[0] += 0.1
    a2[1] += 0.1
    base = np.full((1, 20), 0.5)
    alone, both = joined_estimate([[a1], [base]], None), joined_estimate([[a1, a2], [base, base]], None)
    assert (alone.seeds[0], both.seeds[0]) == (pytest.approx([0.6, 0.5, 0.5]), pytest.approx([0.55, 0.55, 0.5]))
    assert paired_average([(a1, base)], trained=(True, False)).seeds_covered


def one_each(higher: int, lower: int, problems: int) -> Paired:
    """Two models with one response to each problem, of which A alone solves `higher` and B alone `lower`."""
    a = np.array([1.0] * higher + [0.0] * lower + [1.0, 0.0] * problems)[:problems]
    b = np.array([0.0] * higher + [1.0] * lower + [1.0, 0.0] * problems)[:problems]
    return paired(a, b)


@pytest.mark.parametrize(("higher", "p"), [(4, 2 / 16), (5, 2 / 32), (6, 2 / 64), (7, 2 / 128)])
def test_few_problems_that_differ_are_decided_by_the_exact_test(higher: int, p: float) -> None:
    result = one_each(higher, 0, 20)  # so many coins all fall to one of the two sides
    assert result.interval is not None and result.p_value == pytest.approx(p, abs=1e-6)
    assert (result.interval.low > 0) is (p <= 0.05) and "McNemar's exact test" in result.test
    both = one_each(0, higher, 20)
    assert (both.p_value, both.difference) == (pytest.approx(p, abs=1e-6), -result.difference)


@pytest.mark.parametrize("problems", [20, 100])
@pytest.mark.parametrize("differ", [0.15, 0.5])
def test_false_verdicts_of_two_equal_models_with_one_response_a_problem(problems: int, differ: float) -> None:
    """Every outcome with its probability: a share `differ` of problems differs, each to either side alike."""
    false = 0.0
    for n in range(problems + 1):
        for higher in range(n // 2 + 1):
            weight = binom.pmf(n, problems, differ) * binom.pmf(higher, n, 0.5) * (2 if 2 * higher < n else 1)
            if weight > 1e-7:
                result = one_each(higher, n - higher, problems)
                assert result.p_value is not None
                exact = binomtest(higher, n).pvalue if n else 1.0
                assert result.p_value >= exact - 1e-6
                false += weight * (result.p_value <= 0.05)
    # 0.0018 and 0.0226 of 20 problems, 0.0273 and 0.0367 of 100 (by t alone 0.0085, 0.0413, 0.0459, 0.0494)
    assert 0 < false <= 0.05


def test_several_samples_or_seeds_are_decided_by_their_spread() -> None:
    a, b = np.array([1.0, 0.5, 1.0, 1.0, 1.0, 0.0]), np.zeros(6)
    assert paired(a, b).test == "t over problems"
    seeds = np.repeat(np.array([[1.0, 1.0, 1.0, 1.0, 1.0, 0.0]]), 3, axis=0)
    assert paired(seeds, b[None], trained=(True, False)).test == "t over problems and seeds"


def test_a_trained_arm_keeps_its_seeds_against_an_untrained_base() -> None:
    # seeds at 0.4, 0.4 and 0.7 on every problem, alone against a base of 0.45: two degrees of freedom
    a, base = np.repeat([[0.4], [0.4], [0.7]], 50, axis=1), np.full((1, 50), 0.45)
    result = paired(a, base, trained=(True, False), bounds=None)
    assert result.interval is not None
    # mean difference 0.05, variance 0.03 / 3, t = 0.95 / sqrt(2 * 0.975 * 0.025). The problems show none
    assert result.interval.high == pytest.approx(0.05 + 0.1 * 0.95 / math.sqrt(2 * 0.975 * 0.025))
    assert (result.seeds_covered, result.interval.covers) == (True, "problems and seeds")
    once = paired(a[:1], base, trained=(True, False))
    assert (once.seeds_covered, once.interval and once.interval.covers) == (False, "problems")
    assert paired(base, base + 0.1, trained=(False, False)).seeds_covered


def test_rows_of_an_untrained_model_are_averaged() -> None:
    a, base = np.random.default_rng(8).random((2, 3, 20))
    assert paired(a, base, trained=(True, False)) == paired(a, base.mean(axis=0), trained=(True, False))


def test_two_seeds_of_a_trained_side_give_no_verdict_about_the_method() -> None:
    a, b = np.random.default_rng(9).random((2, 3, 20))
    assert paired(a, b).seeds_covered
    result = paired(a[:2], b)
    assert not result.seeds_covered and result.interval is not None and result.interval.covers == "problems"
    assert result == paired(a[:2].mean(axis=0), b.mean(axis=0))


def test_curves_over_seeds_by_hand() -> None:
    # means 2 and 0.5. Variances 1 and 0.25 of 3 values: error^2 = 1/3 + 1/12 = 5/12. Welch: (5/12)^2 / ((1/9 + 1/144) /
    # 2) = 50/17 degrees of freedom
    result = over_seeds_difference([1, 2, 3], [0, 0.5, 1])
    assert result.interval is not None and result.difference == 1.5
    assert result.interval.high == pytest.approx(1.5 + t_quantile(0.975, 50 / 17) * math.sqrt(5 / 12))
    welch = ttest_ind([1, 2, 3], [0, 0.5, 1], equal_var=False)
    assert result.p_value == pytest.approx(welch.pvalue, abs=1e-8)
    assert not over_seeds_difference([1, 2], [0, 1, 2]).seeds_covered
    by_seed = over_seeds_difference([1, 2, 4], [0, 1.5, 2], paired_by_seed=True)
    assert by_seed.difference == pytest.approx(3.5 / 3)
    assert by_seed.p_value == pytest.approx(ttest_rel([1, 2, 4], [0, 1.5, 2]).pvalue, abs=1e-8)


def test_the_same_run_twice_has_no_difference() -> None:
    result = paired([0.5] * 30, [0.5] * 30)
    assert (result.difference, result.p_value) == (0.0, pytest.approx(1.0))
    u = 1 - 0.025 ** (1 / 30)  # a share u of all problems may differ, by up to 1, though none of 30 did
    assert result.interval == Interval(pytest.approx(-u), pytest.approx(u), 0.95, "problems", True)


@settings(max_examples=25)
@given(matrices(6))
def test_a_difference_has_a_sign(table: list[list[float]]) -> None:
    forward, back = paired(table[:3], table[3:]), paired(table[3:], table[:3])
    assert forward.difference == pytest.approx(-back.difference)
    assert forward.p_value == pytest.approx(back.p_value, abs=1e-8)
    assert forward.interval is not None
    assert back.interval is not None
    assert (forward.interval.low, forward.interval.high) == (
        pytest.approx(-back.interval.high),
        pytest.approx(-back.interval.low),
    )
    assert forward.interval.covers == "problems and seeds"


@settings(max_examples=25)
@given(matrices(6))
def test_the_seeds_of_both_runs_count(table: list[list[float]]) -> None:
    a, b = table[:3], table[3:]
    by_problem = [(sum(column[:3]) - sum(column[3:])) / 3 for column in zip(*table, strict=True)]
    half = slow_half_width(by_problem, [a, b])
    interval = paired(a, b, bounds=None).interval
    if interval is None:
        assert half < 1e-8
    else:
        assert (interval.high - interval.low) / 2 == pytest.approx(half, rel=1e-6)


def test_an_equal_shift_of_all_problems_with_seeds() -> None:
    # no spread at all: the interval at level 1 - p reaches zero where (p/2)^(1/P) = 1/2, so p = 2/2^5
    result = paired(np.ones((3, 5)), np.zeros((3, 5)))
    assert result.p_value == pytest.approx(2 / 2**5)


# many tests


def test_holm_by_hand() -> None:
    # sorted 0.01, 0.03, 0.04 times 3, 2, 1: 0.03, 0.06, 0.04. Then never below the one before: 0.03, 0.06, 0.06
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([]) == []
    # a declared family of five, two without a p-value: 5, 4, 3 times
    assert holm([0.04, None, 0.01, 0.03], family=5) == pytest.approx([0.12, None, 0.05, 0.12])
    with pytest.raises(ValueError, match="family: expected at least the 2"):
        holm([0.1, 0.2], family=1)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.sampled_from([0.01, 0.05, 0.3]))
def test_holm_rejects_what_the_step_down_rejects(p_values: list[float], alpha: float) -> None:
    rejected: set[int] = set()
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        if (len(p_values) - rank) * p_values[i] > alpha:
            break
        rejected.add(i)
    assert {i for i, p in enumerate(holm(p_values)) if p is not None and p <= alpha} == rejected
