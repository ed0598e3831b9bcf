"""What reward costs in entropy: R = -a exp(H) + b (arXiv 2508.07534, section 3.1, after Cui et al., arXiv 2505.22617).

Linear in x = exp(H), so that least squares has one exact solution: a is minus the slope, b the height at x = 0. The
largest reward that the law allows, at H = 0, is b - a.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evals.analysis.training.line_fit import LineFit, Vector, fit_line


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class EntropyReward:
    """The fitted law. `explained` is R squared; `correlation` of successive residuals is allowed for in the intervals.

    The law says a, b > 0; nothing here forces it.
    """

    a: Estimate
    b: Estimate
    ceiling: Estimate
    explained: float
    correlation: float
    points: int
    line: LineFit

    def reward(self, entropy: ArrayLike) -> Vector:
        """-a exp(H) + b, for entropies in nats."""
        found: Vector = self.b.value - self.a.value * np.exp(np.asarray(entropy, dtype=float))
        return found


def fit_entropy_reward(entropy: ArrayLike, reward: ArrayLike) -> EntropyReward:
    """Fit the law to a training curve, [N] each, in order of the steps.

    Intervals are those of `evals.analysis.training.line_fit`: exact t-intervals for independent errors, widened by
    the serial
    correlation of the residuals. They take the entropy as known; noise in it makes a too small.

    Args:
        entropy: mean token entropy of a step, nats.
        reward: mean reward (or accuracy) of the same step.
    Raises:
        ValueError: as `fit_line`; or an entropy below 0.
    """
    h, r = np.asarray(entropy, dtype=float), np.asarray(reward, dtype=float)
    if h.size and h.min() < 0:
        raise ValueError(f"entropy: expected values >= 0 (nats), got {h.min()}")
    line = fit_line(np.exp(h), r)
    low, high = line.slope_interval()
    total = float(((r - r.mean()) ** 2).sum())
    left = line.scale**2 * (line.n - 2)
    return EntropyReward(
        a=Estimate(-line.slope, -high, -low),
        b=Estimate(line.intercept, *line.interval_at(0.0)),
        ceiling=Estimate(line.at(1.0), *line.interval_at(1.0)),
        explained=1 - left / total if total else float("nan"),
        correlation=line.correlation,
        points=line.n,
        line=line,
    )
