"""The sigmoid fit, Bayes@N, Cover@tau, G-Pass@k, IQM: against slow versions. The fit's coverage by simulation."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from scipy import integrate, stats

from evals.stats.sigmoid import fit_sigmoid, predict_second_half, sigmoid
from evals.stats.steadiness import bayes_at_n, cover_at, g_pass_at_k, iqm, mg_pass_at_k
from evals.stats.verdict_table import pass_at_k

STEPS = np.arange(1, 101)


def curve(seed: int, noise: float) -> np.ndarray:
    return sigmoid(STEPS, 0.8, 1.5, 30.0, 0.3) + noise * np.random.default_rng(seed).standard_normal(len(STEPS))


def test_the_sigmoid_by_hand() -> None:
    # half of the gain at mid. At C = 2 mid and b = 2: 1 / (1 + 1/4) = 4/5 of it
    assert sigmoid([10, 20], 1.0, 2.0, 10.0, 0.5).tolist() == pytest.approx([0.75, 0.9])


def test_the_fit_finds_the_curve_and_is_no_worse_than_a_grid() -> None:
    fit = fit_sigmoid(STEPS, curve(0, 0.0), start=0.3)
    assert (fit.a, fit.b, fit.mid) == pytest.approx((0.8, 1.5, 30.0), rel=1e-4)
    noisy = curve(1, 0.03)
    fit = fit_sigmoid(STEPS, noisy, start=0.3)
    squares = ((noisy - fit.value(STEPS)) ** 2).sum()
    grid = product(np.linspace(0.6, 1.0, 17), np.linspace(0.8, 2.4, 17), np.linspace(15, 60, 19))
    slow = min(((noisy - sigmoid(STEPS, *point, 0.3)) ** 2).sum() for point in grid)
    assert squares <= slow <= 1.02 * squares  # the grid's best is near
    with pytest.raises(ValueError, match="expected at least 6 points"):
        fit_sigmoid([1, 2, 3], [0.1, 0.2, 0.3], start=0.0)


def test_the_second_half_is_covered_and_the_asymptotes_error_is_honest() -> None:
    shares, errors = [], []
    for seed in range(60):
        _, _, inside = predict_second_half(STEPS, curve(seed, 0.02), start=0.3)
        shares.append(inside)
        whole = fit_sigmoid(STEPS, curve(seed, 0.02), start=0.3)
        errors.append((whole.a - 0.8) / whole.a_error)
    # points of one curve share the error of its fit: 60 curves leave a deviation of about 0.03 in the mean
    assert 0.85 < np.mean(shares) <= 1.0
    assert 0.8 < np.std(errors) < 1.25  # in standard errors: 1, and 60 curves leave 0.09
    # a curve of another form: what rises and then falls is not predicted
    turning = np.where(STEPS <= 50, curve(0, 0.02), 1.3 - 0.012 * STEPS)
    _, gap, inside = predict_second_half(STEPS, turning, start=0.3)
    assert gap < -0.1 and inside < 0.5


def test_bayes_at_n_equals_the_integral_of_the_posterior() -> None:
    correct, scored = [0, 3, 8], [8, 4, 8]
    means, variances = [], []
    for c, n in zip(correct, scored, strict=True):
        weight = lambda p, k, c=c, n=n: p**k * p**c * (1 - p) ** (n - c)  # noqa: E731
        mass, first, second = (integrate.quad(weight, 0, 1, args=(k,))[0] for k in range(3))
        means.append(first / mass)
        variances.append(second / mass - (first / mass) ** 2)
    got = bayes_at_n(correct, scored)
    assert got == pytest.approx((np.mean(means), math.sqrt(sum(variances)) / 3))
    assert got[0] == pytest.approx((1 / 10 + 4 / 6 + 9 / 10) / 3)


def test_cover_counts_problems_and_pass_at_k_is_its_weighted_average() -> None:
    correct = np.array([0, 1, 3, 10])
    for tau, expected in ((0.1, 3 / 4), (0.3, 2 / 4), (0.31, 1 / 4), (1.0, 1 / 4)):  # 0.3 * 10 is above 3 in floats
        assert cover_at(correct, [10] * 4, tau).mean() == expected
    assert np.isnan(cover_at([0], [0], 0.5)[0])
    # pass@k = integral of Cover@tau k (1 - tau)^(k - 1), with the shares as the chances
    grid = (np.arange(20_000) + 0.5) / 20_000
    area = np.mean([cover_at(correct, [10] * 4, tau).mean() * 3 * (1 - tau) ** 2 for tau in grid])
    assert area == pytest.approx(np.mean(1 - (1 - correct / 10) ** 3), abs=1e-4)


@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_g_pass_at_k_counts_the_subsets(n: int) -> None:
    for c in range(n + 1):
        samples = [1] * c + [0] * (n - c)
        for k in range(1, n + 1):
            subsets = [sum(chosen) for chosen in combinations(samples, k)]
            for tau in (0.1, 0.5, 0.75, 1.0):
                want = np.mean(
                    [successes >= tau * k - 1e-9 for successes in subsets]
                )  # at least ceil(tau k), in whole numbers
                assert g_pass_at_k([c], [n], k, tau)[0] == pytest.approx(want)
            assert g_pass_at_k([c], [n], k, 1 / k)[0] == pytest.approx(pass_at_k(n, c, k))
            above = [i for i in range(1, k + 1) if i > math.ceil(k / 2)]
            each = [np.mean([successes >= i for successes in subsets]) for i in above]
            assert mg_pass_at_k([c], [n], k)[0] == pytest.approx(2 / k * sum(each))
    assert np.isnan(g_pass_at_k([1], [n], n + 1, 0.5)[0])
    with pytest.raises(ValueError, match=r"tau: expected a share in \(0, 1\], got 0"):
        g_pass_at_k([1], [1], 1, 0)


def test_a_flat_curve_has_no_asymptote_outside_of_what_the_metric_can_be() -> None:
    rng = np.random.default_rng(0)
    for level in (0.0, 0.02, 0.5, 1.0):
        flat = np.clip(level + 0.01 * rng.standard_normal(40), 0, 1)
        assert 0 <= fit_sigmoid(np.arange(1.0, 41), flat, start=level).a <= 1


def test_the_iqm_is_the_mean_of_the_middle_half_with_a_stratified_bootstrap() -> None:
    middle, _, _ = iqm([[1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 30.0, 40.0]])
    assert middle == pytest.approx((3 + 4 + 10 + 20) / 4)  # 1, 2 and 30, 40 are cut off
    rng = np.random.default_rng(1)
    strata = [rng.normal(m, 1.0, 5) for m in (0.0, 3.0, 9.0)]
    means = []
    for _ in range(2000):  # each stratum resampled by itself
        drawn = np.sort(np.concatenate([rng.choice(values, 5) for values in strata]))
        means.append(drawn[3:12].mean())  # 15 values: floor(15 / 4) = 3 are cut off on each side
    got = iqm(strata)
    assert got[0] == pytest.approx(np.sort(np.concatenate(strata))[3:12].mean())
    assert got[1:] == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=0.12)
    assert stats.trim_mean(np.concatenate(strata), 0.25) == pytest.approx(got[0])
    with pytest.raises(ValueError, match="at least two training seeds"):
        iqm([[1.0], [2.0]])
