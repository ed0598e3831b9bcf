"""Statistics of verdicts beside avg@n, never instead of it: Bayes@N, Cover@tau, G-Pass@k and the IQM."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]


def bayes_at_n(correct: ArrayLike, scored: ArrayLike) -> tuple[float, float]:
    """(mean, standard deviation) of the posterior of the mean accuracy over problems, each with a uniform prior: the
    mean of (c + 1) / (n + 2)  (Bayes@N, arXiv 2510.04265, two outcomes).

    The deviation is over other samples to the same problems, not over problems or training seeds.
    """
    c, n = (np.asarray(values, dtype=float).ravel() for values in (correct, scored))
    p = (c + 1) / (n + 2)
    return float(p.mean()), float(np.sqrt((p * (1 - p) / (n + 3)).sum()) / len(p))


def cover_at(correct: ArrayLike, scored: ArrayLike, tau: float) -> Vector:
    """1 for each problem of which at least the share `tau` of the samples is correct, else 0, or NaN without a scored
    sample. Their mean is Cover@tau (arXiv 2510.08325), which has the true chances where this has the shares of n
    samples."""
    c, n = np.asarray(correct, dtype=float), np.asarray(scored, dtype=float)
    return np.where(n > 0, (c >= tau * n - 1e-9).astype(float), np.nan)


def g_pass_at_k(correct: ArrayLike, scored: ArrayLike, k: int, tau: float) -> Vector:
    """G-Pass@k_tau (arXiv 2412.13147, Eq. 3): the chance that of k of a problem's n samples at least ceil(tau k) are
    correct, without replacement. With tau = 1/k it is pass@k.

    Args:
        correct, scored: c and n of each problem. tau: in (0, 1].
    Returns:
        A chance for each problem, NaN where n < k.
    Raises:
        ValueError: tau is not in (0, 1].
    """
    from scipy.stats import hypergeom

    if not 0 < tau <= 1:
        raise ValueError(f"tau: expected a share in (0, 1], got {tau!r}")
    c, n = np.asarray(correct, dtype=float), np.asarray(scored, dtype=float)
    least = math.ceil(tau * k - 1e-9)
    enough = n >= k
    return np.where(enough, hypergeom.sf(least - 1, np.where(enough, n, k), np.where(enough, c, 0), k), np.nan)


def mg_pass_at_k(correct: ArrayLike, scored: ArrayLike, k: int) -> Vector:
    """mG-Pass@k (arXiv 2412.13147, Eq. 5): twice the integral of G-Pass@k_tau over tau from 1/2 to 1, as the sum over
    tau = i / k, i = ceil(k / 2) + 1, ..., k, times 2 / k. 0 for k = 1, where the sum is empty."""
    zero = 0 * g_pass_at_k(correct, scored, k, 1.0)  # NaN where n < k
    return zero + sum(2 / k * g_pass_at_k(correct, scored, k, i / k) for i in range(math.ceil(k / 2) + 1, k + 1))


def iqm(strata: Sequence[ArrayLike]) -> tuple[float, float, float]:
    """(the mean of the middle half of all values, its 95 % interval): the interquartile mean with the bootstrap that
    resamples the training seeds of each stratum apart (arXiv 2108.13264).

    Args:
        strata: for each benchmark, or problem, the values of its training seeds.
    Raises:
        ValueError: a stratum with fewer than two values.
    """
    from scipy.stats import bootstrap, trim_mean

    groups = [np.asarray(values, dtype=float) for values in strata]
    if any(len(values) < 2 for values in groups):
        raise ValueError("iqm: expected at least two training seeds in every stratum")

    def middle(*samples: Any, axis: int) -> Any:
        return trim_mean(np.concatenate(samples, axis=axis), 0.25, axis=axis)

    rng = np.random.default_rng(0)
    bootstrapped = bootstrap(groups, middle, n_resamples=2000, method="percentile", rng=rng)
    interval = bootstrapped.confidence_interval
    return float(middle(*groups, axis=0)), float(interval.low), float(interval.high)
