"""Intervals against closed forms, against slow versions from the equations, and against the truth in simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom

from benchmarks import coverage
from benchmarks.coverage import Trained
from evals.stats.differences import holm, paired
from evals.stats.intervals import (
    Bounds,
    Estimate,
    Interval,
    _score_ends,
    estimate,
    over_problems,
    over_seeds,
    t_quantile,
    varying,
)
from evals.stats.verdict_table import pass_at_k

Vector = NDArray[np.float64]
fractions = st.sampled_from([i / 4 for i in range(5)])
vectors = st.lists(fractions, min_size=2, max_size=12)


def matrices(seeds: int) -> st.SearchStrategy[list[list[float]]]:
    return st.integers(2, 6).flatmap(
        lambda problems: st.lists(
            st.lists(fractions, min_size=problems, max_size=problems), min_size=seeds, max_size=seeds
        )
    )


# Student's t


@given(st.floats(0.001, 0.999))
def test_t_quantiles_equal_closed_forms(p: float) -> None:
    assert t_quantile(p, 1) == pytest.approx(math.tan(math.pi * (p - 0.5)), rel=1e-9, abs=1e-12)
    assert t_quantile(p, 2) == pytest.approx((2 * p - 1) / math.sqrt(2 * p * (1 - p)), rel=1e-9, abs=1e-12)


# one run


def test_unbounded_values_get_the_t_interval() -> None:
    # 1, 2, 3: mean 2, variance 1, standard error 1/sqrt(3). t(0.975, 2) = 0.95 / sqrt(2 * 0.975 * 0.025)
    half = 0.95 / math.sqrt(2 * 0.975 * 0.025) / math.sqrt(3)
    got = over_problems([1, 2, 3], bounds=None)
    assert got is not None
    assert (got.low, got.high) == (pytest.approx(2 - half), pytest.approx(2 + half))
    assert (got.level, got.covers) == (0.95, "problems")


@pytest.mark.parametrize("right", [1, 7, 15, 29])
def test_binary_values_get_wilsons_interval(right: int) -> None:
    # values of 0 or 1 cannot vary more, so the ends x solve Wilson's equation, (x - p)^2 = z^2 x(1-x)/P
    got = over_problems([1.0] * right + [0.0] * (30 - right))
    assert got is not None
    p, z = right / 30, 1.959964
    assert got.low < p < got.high
    for x in (got.low, got.high):
        assert (x - p) ** 2 == pytest.approx(z * z * x * (1 - x) / 30, rel=1e-6)


def slow_effective(weights: list[float]) -> float:
    """Kish's effective number of weights, in loops."""
    squares = sum(w * w for w in weights)
    return sum(weights) ** 2 / squares if squares else 0.0


def misses(x: float, p: float, half: float, problems_half: float, problems: int) -> float:
    """d^2 - [h^2 x(1-x) / (p(1-p)) + e d (x or 1 - x)] of an end x of a score's interval, which is 0.

    e: the odds q / (1 - q) of a hidden share q = 1 - 0.05^(1/P), or z^2 / P if less. Minus h_P^2 / (p(1-p)), at least 0
    """
    hidden_share = 1 - 0.05 ** (1 / problems)
    room = min(hidden_share / (1 - hidden_share), 1.959964**2 / problems)
    e = max(0.0, room - problems_half**2 / (p * (1 - p)))
    d = abs(x - p)
    return d**2 - half**2 * x * (1 - x) / (p * (1 - p)) - e * d * (x if x < p else 1 - x)


def slow_problems_half(values: list[float], noise: float, low: float, high: float) -> float:
    """min(t on the problems that vary x standard error, z x that of all-or-nothing values), in loops. Differences if
    low < 0."""
    count, mean = len(values), sum(values) / len(values)
    if low < 0:
        vary = slow_effective([abs(v) for v in values])
        most = sum(abs(v) for v in values) / count * high
    else:
        vary = min(slow_effective([v - low for v in values]), slow_effective([high - v for v in values]))
        most = (mean - low) * (high - mean)
    if vary == 0:
        return 0.0
    variance = max(0.0, sum((v - mean) ** 2 for v in values) / (count - 1) / count - noise)
    t = t_quantile(0.975, min(count - 1, vary))
    return min(t * math.sqrt(variance), 1.959964 * math.sqrt(max(0.0, most) / count))


def test_few_problems_give_few_degrees_of_freedom() -> None:
    # 26 problems at 0, four at 1/8: four vary; s^2/P = (4/64 - 30 (1/60)^2) / 29 / 30; t(0.975, 4) = 2.776; all or
    # nothing, 1.96 sqrt((1/60)(59/60) / 30) = 0.046, is wider than 0.022
    values = [0.0] * 26 + [0.125] * 4
    half = t_quantile(0.975, 4) * math.sqrt((4 / 64 - 30 / 3600) / 29 / 30)
    assert half == pytest.approx(slow_problems_half(values, 0.0, 0.0, 1.0), rel=1e-6)
    got, p = over_problems(values), 1 / 60
    assert got is not None and got.rough
    assert got.low < p < got.high
    for x in (got.low, got.high):
        assert misses(x, p, half, half, 30) == pytest.approx(0, abs=1e-9)


def test_an_interval_near_the_ceiling_leaves_room_for_problems_that_were_not_seen() -> None:
    # pass@16 of 48 problems with 64 samples, 42 always right and 6 with 30 right: 1 - C(34, 16) / C(64, 16), which is
    # 1 - 4.5e-6 each. A share q of problems that are never solved shows in none of 48 with probability (1 - q)^48, that
    # is 5 % for q = 6.05 %: the interval reaches down to 1 - q, about. It was [0.9999986, 0.9999998].
    value = pass_at_k(64, 30, 16)
    got = over_problems([1.0] * 42 + [value] * 6)
    assert got is not None
    assert got.low == pytest.approx(0.05 ** (1 / 48), abs=1e-4)
    assert got.low == pytest.approx(0.9395, abs=1e-4)
    assert got.high == pytest.approx(1, abs=1e-5)


@given(st.integers(2, 60), st.floats(0.05, 0.95), st.floats(0.001, 0.4))
def test_the_ends_of_a_score_are_those_of_a_mixture_with_a_hidden_share(count: int, p: float, spread: float) -> None:
    # Half of the problems at p - s and half at p + s, and a share q more that has the value 0. The mean of the mixture
    # is x = (1 - q) p, its variance (1 - q) s^2 + q (1 - q) p^2. With the same z for both parts the lower end solves
    # (p - x)^2 = z^2 / P times that variance. _score_ends gets h^2 = z^2 s^2 / P and e = z^2 / P - h^2 / (p(1 - p)).
    s = min(spread, p, 1 - p) * 0.9
    z2 = 1.959964**2 / count
    low, high = _score_ends(p, math.sqrt(z2) * s, z2 - z2 * s * s / (p * (1 - p)), 0.0, 1.0)
    for end, mean in ((low, p), (1 - high, 1 - p)):  # the upper end: the same of the share of failures
        q = (mean - end) / mean
        assert (mean - end) ** 2 == pytest.approx(z2 * ((1 - q) * s * s + q * (1 - q) * mean**2), rel=1e-6)


@pytest.mark.parametrize(
    ("values", "bounds", "number"),
    [
        ([0, 0, 0, 1], (0.0, 1.0), 1),
        ([1, 1, 1, 0], (0.0, 1.0), 1),  # one failed
        ([0, 0, 1, 1], (0.0, 1.0), 2),
        ([0.5, 0.5, 0.5, 0.5], (0.0, 1.0), 4),
        ([-1, 0, 0, 1], (-1.0, 1.0), 2),  # two of four differ
        ([-1, 0, 0, 1], (-1.0, 2.0), 2.666666667),  # no differences: distances 0, 1, 1, 2 to -1: 4^2 / 6
        ([1, 1 - 1e-6, 1 - 1e-6, 0], (0.0, 1.0), 1.000004),  # (1 + 2e-6)^2 / (1 + 2e-12): one carries the spread
        ([0.5, 0, 0, 0.25], (-1.0, 1.0), 1.8),  # 0.75^2 / 0.3125
        ([3, 4, 5, 6], None, 4),
    ],
)
def test_the_number_of_problems_that_vary_by_hand(values: list[float], bounds: Bounds, number: float) -> None:
    assert varying(np.array(values, dtype=float), bounds) == number


def test_no_spread_gets_clopper_and_pearson() -> None:
    # none of 30 seen: the rate u at which that has a chance of 2.5 %, (1-u)^30 = 0.025
    u = 1 - 0.025 ** (1 / 30)
    for value, low, high in [(0.0, 0.0, u), (1.0, 1 - u, 1.0), (0.25, 0.25 - u / 4, 0.25 + u * 3 / 4)]:
        rough = value != 0.25  # nothing was ever solved, or failed: no problem shows the chance
        assert over_problems([value] * 30) == Interval(pytest.approx(low), pytest.approx(high), 0.95, "problems", rough)
    assert over_problems([7.0] * 30, bounds=None) is None


def test_no_spread_over_benchmarks_gets_that_of_the_fewest_problems() -> None:
    # all of 10 and all of 1,000 problems are solved: the 10 say least, (1-u)^10 = 0.025
    both = Estimate(1.0, ((np.ones(10), 0.0), (np.ones(1000), 0.0)), (), (0.0, 1.0))
    interval = both.interval()
    assert interval is not None and (interval.low, interval.high) == (pytest.approx(0.025 ** (1 / 10)), 1.0)


def test_one_problem_has_no_interval() -> None:
    assert over_problems([0.5]) is None
    assert estimate([[[0.5], [0.7]]]).interval() is None


@given(vectors, st.sampled_from([0.5, 0.8, 0.95, 0.99]))
def test_an_interval_holds_the_mean_within_bounds_and_has_width(values: list[float], level: float) -> None:
    got = estimate([[values]]).interval(level)
    assert got is not None
    assert 0 <= got.low <= np.mean(values) + 1e-12
    assert np.mean(values) - 1e-12 <= got.high <= 1
    assert got.low < got.high


@given(vectors)
def test_incorrect_is_the_mirror_of_correct(values: list[float]) -> None:
    right, wrong = over_problems(values), over_problems([1 - v for v in values])
    assert right is not None
    assert wrong is not None
    assert (1 - wrong.high, 1 - wrong.low) == (pytest.approx(right.low), pytest.approx(right.high))


@given(vectors)
def test_intervals_scale_with_the_bounds(values: list[float]) -> None:
    plain, stretched = over_problems(values), over_problems([10 * v - 3 for v in values], bounds=(-3, 7))
    assert plain is not None
    assert stretched is not None
    assert stretched.rough == plain.rough
    assert stretched.low == pytest.approx(10 * plain.low - 3)
    assert stretched.high == pytest.approx(10 * plain.high - 3)


# several training seeds


def slow_noise(table: list[list[float]]) -> float:
    """The residual mean square of the crossed table over its cells, in loops."""
    s, p = len(table), len(table[0])
    rows = [sum(row) / p for row in table]
    columns = [sum(row[j] for row in table) / s for j in range(p)]
    mean = sum(rows) / s
    noise = sum((table[i][j] - rows[i] - columns[j] + mean) ** 2 for i in range(s) for j in range(p))
    return noise / ((s - 1) * (p - 1)) / (s * p)


def slow_half_width(
    by_problem: list[float], tables: list[list[list[float]]], low: float | None = None, high: float = 1.0
) -> float:
    """The root of (half-width of the problems less noise)^2 + (that of the seeds by Student's or Welch's t)^2."""

    def variance_of_mean(values: list[float]) -> float:
        mean = sum(values) / len(values)
        return sum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values)

    noise_part, parts = 0.0, []
    for table in tables:
        noise_part += slow_noise(table)
        parts.append((variance_of_mean([sum(row) / len(row) for row in table]), len(table) - 1))
    total = sum(v for v, _ in parts)
    df = total**2 / sum(v**2 / d for v, d in parts) if total > 0 else 1.0
    if low is None:
        error = math.sqrt(max(0.0, variance_of_mean(by_problem) - noise_part))
        problems = t_quantile(0.975, len(by_problem) - 1) * error
    else:
        problems = slow_problems_half(by_problem, noise_part, low, high)
    return math.sqrt(problems**2 + t_quantile(0.975, df) ** 2 * total)


@given(matrices(3))
def test_problem_and_seed_variances_add_up(table: list[list[float]]) -> None:
    got = estimate([table], bounds=None).interval()
    half = slow_half_width([sum(column) / 3 for column in zip(*table, strict=True)], [table])
    if got is None:
        assert half < 1e-8
    else:
        assert got.covers == "problems and seeds"
        assert (got.high - got.low) / 2 == pytest.approx(half, rel=1e-6, abs=1e-8)
        assert (got.high + got.low) / 2 == pytest.approx(np.mean(table))


@given(matrices(3))
def test_problem_and_seed_variances_of_bounded_values(table: list[list[float]]) -> None:
    by_problem = [sum(column) / 3 for column in zip(*table, strict=True)]
    got = estimate([table]).interval()
    half = slow_half_width(by_problem, [table], 0.0)
    p = sum(by_problem) / len(by_problem)
    if half > 1e-6 and got is not None:
        noise = slow_noise(table)
        problems_half = slow_problems_half(by_problem, noise, 0.0, 1.0)
        for x in (got.low, got.high):
            assert misses(x, p, half, problems_half, len(by_problem)) == pytest.approx(0, abs=1e-5)


def test_few_seeds_and_few_problems_are_marked_approximate() -> None:
    many = np.random.default_rng(0).random((5, 20))
    five, three, sparse = (estimate([t]).interval() for t in (many, many[:3], many * (np.arange(20) < 4)))
    assert five is not None and three is not None and sparse is not None
    assert (five.rough, three.rough, sparse.rough) == (False, True, True)
    differing = [1.0, 0.5, *[0.5] * 18]
    few, alike = paired(differing, [0.5] * 20).interval, paired(many[0], many[1]).interval
    assert few is not None and alike is not None
    assert (few.rough, alike.rough) == (True, False)


def test_two_seeds_are_averaged_and_not_covered() -> None:
    two = [[0.0, 0.5, 1.0], [0.5, 0.5, 0.5]]
    assert estimate([two]).interval() == over_problems([0.25, 0.5, 0.75])


def test_an_interval_over_seeds_alone_is_students_t() -> None:
    # 0.2, 0.3, 0.4: mean 0.3, standard error 0.1 / sqrt(3), two degrees of freedom
    got = over_seeds([0.2, 0.3, 0.4], bounds=None)
    assert got is not None
    assert got.high == pytest.approx(0.3 + 0.1 / math.sqrt(3) * 0.95 / math.sqrt(2 * 0.975 * 0.025))
    assert got.covers == "seeds"
    assert over_seeds([0.2, 0.4]) is None
    assert over_seeds([0.2, 0.2, 0.2]) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: over_problems([]), "not empty"),
        (lambda: over_problems([[0.1, 0.2]]), r"got shape \(1, 2\)"),
        (lambda: estimate([[0.1, 0.2]]).interval(), r"\[S, P\]"),
        (lambda: over_problems([0.1, float("nan")]), "finite"),
        (lambda: over_problems([10.0, 50.0]), "lie in"),
        (lambda: paired([0.1, 0.2], [0.1]), "same problems, got 2 and 1"),
        (lambda: holm([0.5, 1.5]), "p-value"),
    ],
)
def test_bad_input_is_refused(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        call()


# coverage: does a 95 % interval hold the truth 95 % of the time? results/coverage.md has many more cases and samples.


@pytest.mark.parametrize("samples", [1, 16])
@pytest.mark.parametrize("shape", [0.3, 2.0])
@pytest.mark.parametrize(("problems", "rate"), [(30, 0.3), (83, 0.15), (272, 0.9)])
def test_coverage_over_problems(problems: int, rate: float, shape: float, samples: int) -> None:
    # 2,000 samples: one standard deviation of a share near 0.95 is 0.005. With 16 samples a problem the room for
    # problems that were not seen makes an interval wider than its spread asks for
    simulated = coverage.one_score(problems, samples, rate, shape, 2_000)
    assert simulated.marked < 0.25
    assert 0.93 <= simulated.covered <= (0.97 if samples == 1 else 0.985)


def test_exact_coverage_of_one_sample_a_problem() -> None:
    # 31 possible intervals, so the coverage jumps, but around 95 %. The number of correct problems is binomial
    rates = np.linspace(0.17, 0.83, 200)
    ends = [over_problems([1.0] * correct + [0.0] * (30 - correct)) for correct in range(31)]
    inside = np.array([[i is not None and i.low <= rate <= i.high for i in ends] for rate in rates])
    share = (inside * binom.pmf(np.arange(31), 30, rates[:, None])).sum(axis=1)
    assert 0.92 <= share.min() <= share.max() <= 0.98
    assert 0.945 <= share.mean() <= 0.955


@pytest.mark.parametrize("kind", ["same", "other", "lift"])
@pytest.mark.parametrize("samples", [1, 16])
def test_coverage_of_differences(samples: int, kind: str) -> None:
    assert 0.93 <= coverage.one_difference(83, samples, 0.4, 1.0, kind, 1_000).covered <= 0.98


@pytest.mark.parametrize("shape", coverage.SHAPES)
def test_coverage_of_differences_with_seeds(shape: str) -> None:
    # skewed seeds on both sides cancel. 500 samples: one standard deviation is 0.01
    assert coverage.difference_of_seeds(Trained(3, 30, 8, shape, 0.06), runs=500).covered >= 0.93
