"""A sigmoid fitted to a training curve, and its second half predicted from the first."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]
FEWEST = 6  # points: twice the parameters


def sigmoid(compute: ArrayLike, a: float, b: float, mid: float, start: float) -> Vector:
    """start + (a - start) / (1 + (mid / C)^b)  (ScaleRL, arXiv 2510.13786).

    Args:
        compute: C > 0, in any unit. a: the reward at C = infinity. b: the exponent. mid: where half of the gain is
            made, in C's unit. start: the reward before training.
    """
    return np.asarray(start + (a - start) / (1 + (mid / np.asarray(compute, dtype=float)) ** b), dtype=float)


@dataclass(frozen=True)
class SigmoidFit:
    """A least-squares fit.

    Attributes:
        a, b, mid, start: see `sigmoid`. `start` is given. covariance: of (a, b, mid). noise: the residuals' deviation.
        df: points less three.
    """

    a: float
    b: float
    mid: float
    start: float
    covariance: Vector
    noise: float
    df: int

    @property
    def a_error(self) -> float:
        """Standard error of `a`. Infinite where the points do not show it."""
        return math.sqrt(float(self.covariance[0, 0]))

    def value(self, compute: ArrayLike) -> Vector:
        return sigmoid(compute, self.a, self.b, self.mid, self.start)

    def interval(self, compute: ArrayLike) -> tuple[Vector, Vector]:
        """Where 95 % of further points at this compute lie: the fit's error and the noise, by Student's t."""
        from scipy.optimize import approx_fprime
        from scipy.stats import t

        at, parameters = np.atleast_1d(np.asarray(compute, dtype=float)), np.array([self.a, self.b, self.mid])
        slope = np.atleast_2d(
            approx_fprime(parameters, lambda p: sigmoid(at, p[0], p[1], p[2], self.start), 1e-7 * (1 + abs(parameters)))
        )
        half = t.ppf(0.975, self.df) * np.sqrt(np.einsum("ij,jk,ik->i", slope, self.covariance, slope) + self.noise**2)
        return self.value(at) - half, self.value(at) + half


def fit_sigmoid(
    compute: ArrayLike, reward: ArrayLike, *, start: float, limits: tuple[float, float] = (0.0, 1.0)
) -> SigmoidFit:
    """The sigmoid through the points (C, R), from the reward before training.

    Args:
        limits: the smallest and the largest reward there can be, between which `a` lies.
    Raises:
        ValueError: fewer than FEWEST points, a C that is not above 0, or no fit is found.
    """
    from scipy.optimize import curve_fit

    c, r = (np.asarray(values, dtype=float) for values in (compute, reward))
    if c.shape != r.shape or len(c) < FEWEST or not (c > 0).all():
        raise ValueError(f"curve: expected at least {FEWEST} points with C > 0, got {len(c)} of C and {len(r)} of R")
    try:
        parameters, covariance = curve_fit(
            lambda x, a, b, mid: sigmoid(x, a, b, mid, start),
            c,
            r,
            p0=(np.clip(r[-len(r) // 4 :].mean(), *limits), 1.0, float(np.median(c))),
            bounds=((limits[0], 0.05, c.min() / 100), (limits[1], 20.0, 100 * c.max())),
        )
    except RuntimeError as error:
        raise ValueError(f"curve: no sigmoid was found ({error})") from error
    df, (a, b, mid) = len(c) - 3, map(float, parameters)
    noise = float(np.sqrt(((r - sigmoid(c, a, b, mid, start)) ** 2).sum() / df))
    return SigmoidFit(a, b, mid, start, np.asarray(covariance, dtype=float), noise, df)


def predict_second_half(
    compute: ArrayLike, reward: ArrayLike, *, start: float, limits: tuple[float, float] = (0.0, 1.0)
) -> tuple[SigmoidFit, float, float]:
    """(the fit of the first half of the points, the mean of measured - predicted in the second half, the share of the
    second half inside the 95 % prediction interval)."""
    c, r = (np.asarray(values, dtype=float) for values in (compute, reward))
    half = len(c) // 2
    fit = fit_sigmoid(c[:half], r[:half], start=start, limits=limits)
    low, high = fit.interval(c[half:])
    inside = (low <= r[half:]) & (r[half:] <= high)
    return fit, float((r[half:] - fit.value(c[half:])).mean()), float(inside.mean())
