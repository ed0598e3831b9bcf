"""The rising and the plateau stage of a training curve (arXiv 2508.07534, section 3.2.2, Fig. 3a).

The paper speaks of a "rapid rising stage with quick performance improvements" and a "stable plateau stage with marginal
gains", and draws a line between them without saying how. Here the line is the break of the best fit by two straight
lines that meet (a broken stick): no smoothing and no share of the final value has to be chosen, a plateau may still
gain a little, and the break has an interval. There are two stages only if
- two lines fit better than one, by more than chance and serial correlation give,
- the first rises, and
- the second gains at most `marginal` of the first's gain per step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evals.analysis.training.line_fit import Vector, serial_correlation, worth
from evals.stats.intervals import t_quantile

LEAST = 4  # points of a stage
CANDIDATES = 500  # breaks that are tried, spread evenly
THRESHOLD = 11.0  # of the improvement statistic; see find_stages


@dataclass(frozen=True)
class Stages:
    """Where the rising stage ends, or why there are no two stages (then all but `why` and `steps` are None).

    `low` and `high` bound the break (95 %); slopes are gains of the metric per step; `start` and `level` are the fitted
    heights at the first step and at the break.
    """

    steps: int
    break_step: float | None = None
    low: float | None = None
    high: float | None = None
    rising_slope: float | None = None
    plateau_slope: float | None = None
    start: float | None = None
    level: float | None = None
    why: str | None = None


@dataclass(frozen=True)
class _Stick:
    """Two lines that meet: c0 + c1 (s - s_0) + c2 max(0, s - at)."""

    at: float
    c: Vector
    residuals: Vector

    @property
    def error(self) -> float:
        return float(self.residuals @ self.residuals)


def find_stages(steps: ArrayLike, values: ArrayLike, *, marginal: float = 0.5) -> Stages:
    """The stages of a performance curve (accuracy or reward), [N] each, in order of the steps.

    The improvement statistic is (E1 - E2) / E2 (n - 4) (1 - r) / (1 + r), with E1 and E2 the squared errors of one and
    of two lines and r the serial correlation of the residuals of two; it must exceed THRESHOLD. The interval of the
    break holds those at which the squared error is below E2 (1 + t^2 (1 + r) / (1 - r) / (n - 4)).

    Measured on autoregressive noise of lag-1 correlation rho, 100 to 400 simulations each. A straight rise is taken for
    two stages in at most 2 % of cases for rho <= 0.3 and at most 9 % for rho = 0.6; for rho = 0.9 in 20 % with 20
    steps, 15 % with 50, 4 % with 200. A rise of 0.5 within the first 30 % of the steps, then 0.035 more, under noise of
    0.05, is found in 97 to 100 % for 50 steps or more and rho <= 0.6, and its break lies in the interval in 92 to 97 %.

    Raises:
        ValueError: different lengths, a value that is not finite, or marginal outside [0, 1).
    """
    s, y = np.asarray(steps, dtype=float), np.asarray(values, dtype=float)
    if s.shape != y.shape or s.ndim != 1:
        raise ValueError(f"expected as many values as steps, got shapes {s.shape} and {y.shape}")
    if not (np.isfinite(s).all() and np.isfinite(y).all()):
        raise ValueError("steps and values must be finite: leave out what was not measured")
    if not 0 <= marginal < 1:
        raise ValueError(f"marginal: expected a number in [0, 1), got {marginal}")
    n = len(s)
    if n < 2 * LEAST + 2:
        return Stages(n, why=f"needs at least {2 * LEAST + 2} steps, got {n}")
    sticks = [_fit(s, y, at) for at in _candidates(s)]
    best = min(sticks, key=lambda stick: stick.error)
    one_line = _fit(s, y, None).error
    r = serial_correlation(best.residuals, fitted=4)
    noise = (1 + r) / (1 - r)
    if one_line - best.error <= THRESHOLD * noise * best.error / (n - 4) or one_line <= 1e-20 * float(y @ y):
        return Stages(n, why="one straight line fits as well as two")
    before, after = float(best.c[1]), float(best.c[1] + best.c[2])
    if before <= 0:
        return Stages(n, why="the curve does not rise before its break")
    if after > marginal * before:
        return Stages(n, why=f"after its break the curve gains more than {marginal:g} of what it gained a step before")
    t = t_quantile(0.975, max(1, math.floor(worth(n, r)) - 4))
    near = [stick.at for stick in sticks if stick.error <= best.error * (1 + t * t * noise / (n - 4))]
    level = float(best.c[0] + before * (best.at - s[0]))
    return Stages(n, best.at, min(near), max(near), before, after, float(best.c[0]), level)


def _candidates(s: Vector) -> Vector:
    inner = s[LEAST - 1 : len(s) - LEAST + 1]
    tried: Vector = inner[np.unique(np.linspace(0, len(inner) - 1, min(CANDIDATES, len(inner))).round().astype(int))]
    return tried


def _fit(s: Vector, y: Vector, at: float | None) -> _Stick:
    columns = [np.ones(len(s)), s - s[0]]
    if at is not None:
        columns.append(np.maximum(0.0, s - at))
    matrix = np.stack(columns, axis=1)
    c = np.linalg.lstsq(matrix, y, rcond=None)[0]
    return _Stick(math.nan if at is None else at, c, y - matrix @ c)
