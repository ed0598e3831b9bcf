"""Intervals against closed forms, against slow versions from the equations, and against the truth in simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from benchmarks.coverage import intervals as coverage
from benchmarks.coverage.intervals import Crossed
from evals.stats.differences import holm, paired, paired_interval
from evals.stats.intervals import (
    Bounds,
    Interval,
    effective_number,
    estimate,
    over_problems,
    over_seeds,
    t_quantile,
)

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


def test_t_agrees_with_the_printed_table() -> None:
    # two-sided 5 % points of any table of Student's t
    for df, point in {4: 2.776, 9: 2.262, 29: 2.045, 99: 1.984, 10_000: 1.960}.items():
        assert t_quantile(0.975, df) == pytest.approx(point, abs=5e-4)


# one run


def test_unbounded_values_get_the_t_interval() -> None:
    # 1, 2, 3: mean 2, variance 1, standard error 1/sqrt(3); t(0.975, 2) = 0.95 / sqrt(2 * 0.975 * 0.025)
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


def slow_problems_half(values: list[float], noise: float, low: float, high: float) -> float:
    """min(t on Kish's number x standard error, z x that of all-or-nothing values), in loops; differences if low < 0."""
    count, mean = len(values), sum(values) / len(values)

    def kish(weights: list[float]) -> float:
        squares = sum(w * w for w in weights)
        return sum(weights) ** 2 / squares if squares else 0.0

    if low < 0:
        effective, share = kish([abs(v) for v in values]), [v / high for v in values]
    else:
        effective = min(kish([v - low for v in values]), kish([high - v for v in values]))
        share = [(v - low) / (high - low) for v in values]
    scale = high if low < 0 else high - low
    variance = max(0.0, sum((v - mean) ** 2 for v in values) / (count - 1) / count - noise)
    most = sum(abs(x) for x in share) / count - (sum(share) / count) ** 2
    if effective == 0:
        return 0.0
    t = t_quantile(0.975, min(count - 1, effective))
    return min(t * math.sqrt(variance), 1.959964 * scale * math.sqrt(max(0.0, most) / count))


def test_few_problems_give_few_degrees_of_freedom() -> None:
    # 26 problems at 0, four at 1/8: Kish's number is (1/2)^2 / (4/64) = 4; s^2/P = (4/64 - 30 (1/60)^2) / 29 / 30;
    # t(0.975, 4) = 2.776; all or nothing, 1.96 sqrt((1/60)(59/60) / 30) = 0.046, is wider than 0.022
    values = [0.0] * 26 + [0.125] * 4
    assert effective_number(np.array(values), (0.0, 1.0)) == pytest.approx(4.0)
    half = t_quantile(0.975, 4) * math.sqrt((4 / 64 - 30 / 3600) / 29 / 30)
    assert half == pytest.approx(slow_problems_half(values, 0.0, 0.0, 1.0), rel=1e-6)
    got, p = over_problems(values), 1 / 60
    assert got is not None and got.rough
    for x in (got.low, got.high):
        assert (x - p) ** 2 == pytest.approx(half**2 * x * (1 - x) / (p * (1 - p)), rel=1e-6)


@given(vectors)
def test_binary_values_give_the_widest_interval(values: list[float]) -> None:
    count, mean = len(values), sum(values) / len(values)
    got = over_problems(values)
    assert got is not None
    if len(set(values)) > 1:  # Wilson's ends for `count` right or wrong answers with that mean
        ratio = 1.959964**2 / count
        reach = math.sqrt(ratio * mean * (1 - mean) + ratio * ratio / 4) / (1 + ratio)
        centre = (mean + ratio / 2) / (1 + ratio)
        assert got.low >= centre - reach - 1e-6
        assert got.high <= centre + reach + 1e-6


@pytest.mark.parametrize(
    ("values", "bounds", "number"),
    [
        ([0, 0, 0, 1], (0.0, 1.0), 1.0),
        ([1, 1, 1, 0], (0.0, 1.0), 1.0),  # one failed
        ([0, 0, 1, 1], (0.0, 1.0), 2.0),
        ([0.5, 0.5, 0.5, 0.5], (0.0, 1.0), 4.0),
        ([-1, 0, 0, 1], (-1.0, 1.0), 2.0),  # two of four differ
        ([-1, 0, 0, 1], (-1.0, 2.0), 2.0),  # no differences: 0, 1, 1, 2 from the lower bound, 3, 2, 2, 1 from the upper
        ([3, 4, 5, 6], None, 4.0),
    ],
)
def test_the_effective_number_of_problems_by_hand(values: list[float], bounds: Bounds, number: float) -> None:
    if bounds == (-1.0, 2.0):  # 4^2 / (1 + 1 + 4) = 2.67 and 8^2 / (9 + 4 + 4 + 1) = 3.56
        number = 16 / 6
    assert effective_number(np.array(values, dtype=float), bounds) == pytest.approx(number)


def test_no_spread_gets_clopper_and_pearson() -> None:
    # none of 30 seen: the rate u at which that has a chance of 2.5 %, (1-u)^30 = 0.025
    u = 1 - 0.025 ** (1 / 30)
    for value, low, high in [(0.0, 0.0, u), (1.0, 1 - u, 1.0), (0.25, 0.25 - u / 4, 0.25 + u * 3 / 4)]:
        rough = value != 0.25  # nothing was ever solved, or failed: no problem shows the chance
        assert over_problems([value] * 30) == Interval(pytest.approx(low), pytest.approx(high), 0.95, "problems", rough)
    assert over_problems([7.0] * 30, bounds=None) is None


def test_one_problem_has_no_interval() -> None:
    assert over_problems([0.5]) is None
    assert estimate([[[0.5], [0.7]]]).interval() is None


@given(vectors, st.sampled_from([0.5, 0.8, 0.95, 0.99]))
def test_an_interval_holds_the_mean_within_bounds_and_has_width(values: list[float], level: float) -> None:
    got = over_problems(values, level=level)
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


def slow_half_width(
    by_problem: list[float],
    tables: list[list[list[float]]],
    low: float | None = None,
    high: float = 1.0,
    prior: float = 0.0,
) -> float:
    """The mean of Howe's and Satterthwaite's half-widths of (problems less noise) + (seed means), in loops."""

    def variance_of_mean(values: list[float]) -> float:
        mean = sum(values) / len(values)
        return sum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values)

    noise_part, parts = 0.0, []
    for table in tables:
        s, p = len(table), len(table[0])
        rows = [sum(row) / p for row in table]
        columns = [sum(row[j] for row in table) / s for j in range(p)]
        mean = sum(rows) / s
        noise = sum((table[i][j] - rows[i] - columns[j] + mean) ** 2 for i in range(s) for j in range(p))
        noise_part += noise / ((s - 1) * (p - 1)) / (s * p)
        known = s - 1 + prior
        parts.append((((s - 1) * variance_of_mean(rows) + prior * 0.1**2 / s) / known, known))
    seeds_part, df = sum(v for v, _ in parts), float(min(d for _, d in parts))
    if len(tables) == 2 and seeds_part > 0:  # Welch's, from half of each
        df = min(df, seeds_part**2 / sum(v**2 / (d / 2) for v, d in parts))
    if low is None:
        problems = t_quantile(0.975, len(by_problem) - 1) * math.sqrt(
            max(0.0, variance_of_mean(by_problem) - noise_part)
        )
    else:
        problems = slow_problems_half(by_problem, noise_part, low, high)
    howe = math.sqrt(problems**2 + t_quantile(0.975, df) ** 2 * seeds_part)
    if df < 2:
        return howe
    variance = (problems / 1.95996398) ** 2 + seeds_part
    if variance == 0:
        return 0.0
    degrees = df / max((seeds_part / variance) ** 2, 1e-9)
    return (howe + t_quantile(0.975, degrees) * math.sqrt(variance)) / 2


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
    # the seeds' own spread s^2 / 3 on two degrees of freedom, or (2 (10 points)^2 + 2 s^2) / 4 / 3 on four
    got = estimate([table]).interval()
    half = min(slow_half_width(by_problem, [table], 0.0, prior=prior) for prior in (0.0, 2.0))
    p = sum(by_problem) / len(by_problem)
    if half > 1e-6 and got is not None:
        for x in (got.low, got.high):
            assert (x - p) ** 2 == pytest.approx(half**2 * x * (1 - x) / (p * (1 - p)), rel=1e-4, abs=1e-9)


def test_two_seeds_and_few_problems_are_marked_approximate() -> None:
    many = np.random.default_rng(0).random((3, 20))
    three, two, sparse = (estimate([t]).interval() for t in (many, many[:2], many * (np.arange(20) < 4)))
    assert three is not None and two is not None and sparse is not None
    assert (three.rough, two.rough, sparse.rough) == (False, True, True)
    differing = [1.0, 0.5, *[0.5] * 18]
    few, alike = paired_interval(differing, [0.5] * 20), paired_interval(many[0], many[1])
    assert few is not None and alike is not None
    assert (few.rough, alike.rough) == (True, False)


def test_one_seed_covers_problems_only() -> None:
    assert estimate([[[0.0, 0.5, 1.0]]]).interval() == over_problems([0.0, 0.5, 1.0])


def test_an_interval_over_seeds_alone_is_students_t() -> None:
    # 0.2, 0.4: mean 0.3, standard error 0.1, one degree of freedom: t = tan(0.475 pi)
    got = over_seeds([0.2, 0.4], bounds=None)
    assert got is not None
    assert got.high == pytest.approx(0.3 + 0.1 * math.tan(0.475 * math.pi))
    assert got.covers == "seeds"
    assert over_seeds([0.2]) is None
    assert over_seeds([0.2, 0.2, 0.2]) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: over_problems([]), "not empty"),
        (lambda: over_problems([[0.1, 0.2]]), r"got shape \(1, 2\)"),
        (lambda: estimate([[0.1, 0.2]]).interval(), r"\[S, P\]"),
        (lambda: over_problems([0.1, float("nan")]), "finite"),
        (lambda: over_problems([10.0, 50.0]), "lie in"),
        (lambda: over_problems([0.1, 0.2], level=95), "level"),
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
@pytest.mark.parametrize(("problems", "rate"), [(30, 0.3), (40, 0.5), (83, 0.15), (272, 0.9)])
def test_coverage_over_problems(problems: int, rate: float, shape: float, samples: int) -> None:
    # 3,000 samples: one standard deviation of a share near 0.95 is 0.004
    simulated = coverage.beta_problems(problems, samples, rate, shape, 3_000)
    assert not simulated.labelled
    assert 0.93 <= simulated.share <= 0.97


@pytest.mark.parametrize("samples", [8, 64])
@pytest.mark.parametrize("shape", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("rate", [0.01, 0.05])
def test_coverage_of_low_rates_on_30_problems_is_labelled_or_kept(rate: float, shape: float, samples: int) -> None:
    # Student's t on 29 degrees of freedom covers 74 to 91 % here, without a warning
    simulated = coverage.beta_problems(30, samples, rate, shape, 2_000)
    assert simulated.share >= 0.925
    assert simulated.labelled or simulated.share <= 0.98


def test_exact_coverage_of_one_sample_a_problem() -> None:
    # no samples: 31 possible intervals, so the coverage jumps, but around 95 %
    share = coverage.one_sample_exactly(30, np.linspace(0.17, 0.83, 200))
    assert 0.92 <= share.min() <= share.max() <= 0.98
    assert 0.945 <= share.mean() <= 0.955


@pytest.mark.parametrize("deviation", [0.0, 0.3, 0.8])  # up to ten points between seeds
@pytest.mark.parametrize(("seeds", "centre"), [(2, 0.0), (3, -2.0), (3, 0.0), (5, 0.0)])
def test_coverage_over_problems_and_seeds(seeds: int, centre: float, deviation: float) -> None:
    # 1,000 samples: one standard deviation is 0.007
    simulated = coverage.both(Crossed(seeds, 30, 8, centre, deviation), 1_000)
    assert 0.93 <= simulated.share <= (1 if seeds == 2 else 0.975)
    assert simulated.labelled is (seeds == 2)


@pytest.mark.parametrize("deviation", [0.0, 0.8])
@pytest.mark.parametrize("seeds", [3, 10])
def test_coverage_over_seeds_on_fixed_problems(seeds: int, deviation: float) -> None:
    assert 0.93 <= coverage.on_fixed_problems(Crossed(seeds, 30, 16, 0.0, deviation), 2_000).share <= 0.97


@pytest.mark.parametrize("kind", ["same", "other", "lift"])
@pytest.mark.parametrize("samples", [1, 16])
def test_coverage_of_differences(samples: int, kind: str) -> None:
    assert 0.93 <= coverage.two_runs(83, samples, 0.4, 1.0, kind, 2_000).share <= 0.975


def test_coverage_of_differences_with_seeds() -> None:
    # the smaller side's degrees of freedom: at equal variances the interval is wider than it would have to be
    assert coverage.two_runs_with_seeds(Crossed(3, 30, 8, 0.0, 0.3), 1_000).share >= 0.95


def test_problems_alone_do_not_cover_seeds() -> None:
    # why the interval over both is needed: with seeds that differ by ten points, the other one misses too often
    values = Crossed(3, 100, 8, 0.0, 0.8).sample(np.random.default_rng(1), 500)
    assert coverage.held(0.5, [over_problems(table.mean(axis=0)) for table in values]).share < 0.8
