"""The noise of two printed scores: the bound against exact enumeration, its claim against random weights."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from benchmarks import agree as simulated
from evals.stats.agree import (
    DIFFERENCE,
    NOISE,
    RHO,
    UNDECIDED,
    Chance,
    Score,
    _Tails,
    answer,
    chance,
    hypergeometric,
    largest_by_hoeffding,
    largest_probability,
    measured_spread,
    needed,
    smallest_gap,
    typical_probability,
)

Vector = NDArray[np.float64]
RATES = st.lists(st.one_of(st.sampled_from([0.0, 1.0, 0.5]), st.floats(0, 1)), min_size=1, max_size=4)


def poisson_binomial(rates: list[float], samples: int) -> Vector:
    """P(0), P(1), ... correct of `samples` of each problem: one convolution per sample."""
    distribution = np.ones(1)
    for rate in rates:
        for _ in range(samples):
            distribution = np.convolve(distribution, [1 - rate, rate])
    return distribution


def exact(rates: list[float], a: int, b: int, x: int, y: int) -> float:
    """P(|X/N - Y/M| >= |x/N - y/M| given X + Y = x + y), by enumeration."""
    first, second = poisson_binomial(rates, a), poisson_binomial(rates, b)
    n, m = len(rates) * a, len(rates) * b
    gap, total, beyond = abs(x * m - y * n), 0.0, 0.0  # in units of 1 / (n m), exact
    for i in range(max(0, x + y - m), min(n, x + y) + 1):
        p = float(first[i] * second[x + y - i])
        total += p
        beyond += p * (abs(i * m - (x + y - i) * n) >= gap)
    return beyond / total if total > 0 else 0.0


@given(rates=RATES, a=st.integers(1, 3), b=st.integers(1, 3))
def test_no_rates_make_a_gap_more_probable_than_the_bound(rates: list[float], a: int, b: int) -> None:
    n, m = len(rates) * a, len(rates) * b
    for x, y in list(product(range(n + 1), range(m + 1)))[::3]:
        assert exact(rates, a, b, x, y) <= largest_probability(Score(x, n), Score(y, m)) + 1e-9


@pytest.mark.parametrize(("a", "b"), [(1, 1), (3, 3)])
def test_equal_rates_reach_the_bound_for_equal_numbers(a: int, b: int) -> None:
    # at equal rates the count of A given the total is hypergeometric, whatever the rate
    for x, y in ((0, 4 * b), (1, 3), (4 * a, 1)):
        probability = largest_probability(Score(x, 4 * a), Score(y, 4 * b))
        assert probability == pytest.approx(exact([0.3] * 4, a, b, x, y)) if x * b != y * a else probability == 1


def test_the_bound_is_fishers_exact_test_where_numbers_are_equal() -> None:
    from scipy.stats import fisher_exact

    for x, y, n in ((13, 8, 30), (356, 370, 500), (0, 7, 40)):
        expected = fisher_exact([[x, n - x], [y, n - y]]).pvalue
        assert largest_probability(Score(x, n), Score(y, n)) == pytest.approx(expected, rel=1e-9)


@given(
    slopes=st.lists(st.floats(-3, 3), min_size=12, max_size=12),
    sizes=st.tuples(st.integers(2, 12), st.integers(13, 40)),  # unequal: equal ones allow symmetric weights alone
    share=st.floats(0.05, 0.95),
)
def test_no_log_concave_weight_with_the_same_mean_has_a_larger_tail(
    slopes: list[float], sizes: tuple[int, int], share: float
) -> None:
    # step 4 of the derivation: falling slopes are a log-concave weight. Tilting it to the mean leaves it log-concave
    n, m = sizes
    total = max(1, min(n + m - 1, round(share * (n + m))))
    x, pmf = hypergeometric(n, m, total)
    log_weight = np.concatenate([[0.0], np.cumsum(sorted(slopes, reverse=True)[: len(x) - 1])])[: len(x)]
    mean, tails = total * n / (n + m), _Tails(n, m, total)
    low, high = -60.0, 60.0
    for _ in range(200):
        theta = (low + high) / 2
        weighted = pmf * np.exp(log_weight + theta * (x - mean) - (log_weight + theta * (x - mean)).max())
        weighted /= weighted.sum()
        low, high = (theta, high) if weighted @ x < mean else (low, theta)
    for least in x[x > mean + 1e-9]:
        gap = least * (1 / n + 1 / m) - total / m
        assert weighted[x >= least].sum() <= tails.above(gap) + 1e-6


def test_a_truncated_weight_can_have_a_larger_tail_and_the_bound_knows_it() -> None:
    # N = 1, M = 9, t = 3: H is 0.7, 0.3. The mean 0.3 leaves one distribution, so the bound is H's own tail.
    tails = _Tails(1, 9, 3)
    assert tails.above(1 - 2 / 9) == pytest.approx(0.3)
    # N = 3, M = 30, t = 3, c = 2: H cut off above 2 and tilted back to the mean 3/11 has more at 2 than H at 2 and 3.
    # With u = e^theta: H(0), H(1), H(2) = C(30,3), 3 C(30,2), 3 * 30 = 4060, 1305, 90 (of 5456), and the mean
    # (1305 u + 180 u^2) / (4060 + 1305 u + 90 u^2) = 3/11 gives u = 1.00165. P(2) = 0.016548 > 91/5456 = 0.016679?
    u = float(np.roots([180 - 90 * 3 / 11, 1305 - 1305 * 3 / 11, -4060 * 3 / 11]).max())
    tilted = 90 * u**2 / (4060 + 1305 * u + 90 * u**2)
    fisher = 91 / 5456
    assert _Tails(3, 30, 3).above(2 / 3 - 1 / 30) == pytest.approx(max(tilted, fisher))


def test_the_typical_probability_is_that_of_the_formula() -> None:
    # m = 21/60 = .35, variance .35 * .65 * .7 * 2/30 = .010617. Gap 5/30 less half a step of 1/30 = .15. z = 1.4558
    from scipy.stats import norm

    z = 0.15 / np.sqrt(0.35 * 0.65 * 0.7 * 2 / 30)
    assert typical_probability(Score(13, 30), Score(8, 30), rho=0.3) == pytest.approx(2 * norm.sf(z))


def test_more_seed_spread_makes_a_gap_less_surprising() -> None:
    a, b = Score(840, 1920, 3), Score(910, 1920, 1)
    chances = [chance(a, b, seed_sd=spread) for spread in (0.0, 0.005, 0.02, 0.1)]
    assert [f.largest for f in chances] == sorted(f.largest for f in chances)
    assert [f.typical for f in chances] == sorted(f.typical or 0 for f in chances)


def test_the_answers_have_their_levels() -> None:
    assert answer(Chance(0.05, 0.01)) == DIFFERENCE
    assert answer(Chance(0.05, 0.011)) == UNDECIDED
    assert answer(Chance(0.06, 0.001)) == UNDECIDED
    assert answer(Chance(0.2, 0.051)) == NOISE
    assert answer(Chance(0.2, None)) == UNDECIDED and answer(Chance(0.05, None)) == DIFFERENCE


def test_the_smallest_gap_is_a_difference_and_one_less_is_not() -> None:
    a, b = Score(13, 30), Score(8, 30)
    gap = smallest_gap(a, b, lambda x, y: answer(chance(x, y)))
    assert gap == pytest.approx(0.3)  # 13 and 4 of 30
    assert answer(chance(a, Score(4, 30))) == DIFFERENCE != answer(chance(a, Score(5, 30)))
    # all are solved on one side: there is no score above, so the gap goes down
    assert smallest_gap(Score(30, 30), Score(30, 30), lambda x, y: answer(chance(x, y))) == pytest.approx(6 / 30)


def test_needed_finds_the_first_number() -> None:
    for least, first in ((1, 1), (2, 2), (37, 37), (4096, 4096), (4097, None)):
        assert needed(least.__le__) == first


def test_hoeffdings_inequality_holds_for_the_mean_of_subsets() -> None:
    # pass@2 of 5 samples of each of 40 problems: floor(5/2) = 2 blocks of each
    rng = np.random.default_rng(3)
    rates = rng.beta(0.4, 0.4, 40)
    correct = rng.binomial(5, rates, (2, 20_000, 40))
    passed = (1 - (5 - correct) * (4 - correct) / 20).mean(axis=2)
    gaps = np.abs(passed[0] - passed[1])
    for gap in (0.05, 0.1, 0.15):
        assert (gaps >= gap).mean() <= largest_by_hoeffding(gap, 80, 80)


def test_one_model_is_rarely_called_different_from_itself() -> None:
    # some cells of results/agree.md. 5 % and 1 % with three standard deviations of 600 pairs (0.9 and 0.4 points)
    hostile = [simulated.false(make, 30, (1, 4), 600) for make in simulated.HOSTILE.values()]
    assert max(hostile) <= 0.05 + 0.027
    typical = [simulated.false(simulated.typical(mean, 0.36), 30, (4, 4), 600) for mean in simulated.MEANS]
    assert float(np.mean(typical)) <= 0.01 + 0.006
    assert simulated.power(0.2, 198, (4, 4), 50) > 0.9


@pytest.mark.parametrize("samples", [2, 3, 8])
def test_a_measured_spread_has_no_noise_of_its_samples(samples: int) -> None:
    # rates 0.2 and 0.9 on half of the problems each: m = 0.55, Var(p) = 0.35^2, so rho = 0.1225 / (0.55 * 0.45). Every
    # pair of counts as often as it is expected (weights of 1e-6, rounded to whole problems)
    def counts(rate: float) -> list[int]:
        weights = poisson_binomial([rate], samples)
        return [c for c, weight in enumerate(weights) for _ in range(round(1e5 * weight))]

    spread = measured_spread(np.array(counts(0.2) + counts(0.9)), samples)
    assert spread == pytest.approx(0.1225 / (0.55 * 0.45), abs=1e-3)


def test_a_spread_needs_two_samples_and_both_verdicts() -> None:
    assert measured_spread(np.array([1, 0, 1]), 1) is None
    assert measured_spread(np.array([2, 2]), 2) is None
    assert measured_spread(np.array([1, 1]), 2) == 0  # less than the noise alone would make
    assert measured_spread(np.array([0, 2]), 2) == 1


def test_a_split_gives_each_side_its_own_samples() -> None:
    model = simulated.Measured("here", "it", 4, np.array([0, 1, 4, 3]), False)
    x, y = model.split((1, 3), np.random.default_rng(0), 4000)
    assert set(x + y) == {8}  # all 4 samples of a problem are given away, so all 8 correct ones
    assert x.mean() == pytest.approx(8 / 4, abs=0.05)  # a quarter of them. The standard error is 0.01
    assert set(x) == {1, 2, 3}  # problem 3 always gives one, problems 2 and 4 may


def test_measured_rates_have_the_measured_mean_and_spread() -> None:
    for model in simulated.measured():
        if model.spread:
            assert model.rates.mean() == pytest.approx(model.mean)
            assert model.rates.var() / (model.mean * (1 - model.mean)) == pytest.approx(model.spread)
            assert model.rates.min() >= 0 and model.rates.max() <= 1


def test_the_page_has_every_model_with_several_samples_and_keeps_the_limits() -> None:
    page = simulated.PAGE.read_text(encoding="utf-8")
    part = page.split("## False differences with measured rates")[1].split("\n## ")[0]
    rows = [line.split(" | ") for line in part.splitlines() if line.startswith("| ") and "model, benchmark" not in line]
    for model in simulated.measured():
        if 0.1 <= model.mean <= 0.95 and not model.made_up:
            assert sum(row[0] == f"| {model.source}: {model.what}" for row in rows) in (2, 3)  # rates, and their split
    assert rows
    for name, spread, _, *cells in rows:
        limit = 1.5 if min(map(float, spread.split("–"))) >= RHO else 5.0  # 1 % and two standard deviations of 2,000
        assert all(float(cell.strip(" |")) <= limit for cell in cells if cell.strip(" |") != "–"), name


def test_the_page_has_the_spreads_of_the_ledger() -> None:
    page = simulated.PAGE.read_text(encoding="utf-8")
    rows = list(simulated.spreads())
    for source, what, mean, rho in rows:
        assert f"| {source} | {what} | {100 * mean:.1f} | {rho:.2f} |" in page
    made_up = {model.what for model in simulated.measured() if model.made_up}
    mathematics = [rho for source, what, mean, rho in rows if what not in made_up and "arXiv" not in source]
    assert min(mathematics) + 0.02 > RHO  # 0.29 of eight samples of 30 problems is the lowest
