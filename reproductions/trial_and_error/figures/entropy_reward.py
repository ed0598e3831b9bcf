"""The trade-off of reward and entropy: R = -a exp(H) + b (arXiv 2508.07534, section 3.1, after Cui et al., arXiv
2505.22617).

The law is linear in x = exp(H), so least squares has one exact solution: a is minus the slope, b the value at x = 0.
The largest reward that the law allows, at H = 0, is b - a.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evals.analysis import TRIAL_AND_ERROR
from evals.analysis.training_curves import LABELS, Curves, Vector, curve, describe_steps, plain_name
from evals.plots.parts import legend_below, legend_height
from evals.plots.plot import HEIGHT, WIDTH, Plot, look, tidy
from reproductions.trial_and_error.figures.line_fit import LineFit, fit_line


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class EntropyReward:
    """The fitted law. `explained` is R squared; the intervals account for the `correlation` of successive residuals.

    The law states a, b > 0; the fit does not enforce it.
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
        rewards: Vector = self.b.value - self.a.value * np.exp(np.asarray(entropy, dtype=float))
        return rewards


def fit_entropy_reward(entropy: ArrayLike, reward: ArrayLike) -> EntropyReward:
    """Fit the law to a training curve, [N] each, in order of the steps.

    Intervals are those of `evals.analysis.training_curves`: exact t-intervals for independent errors, widened for the
    serial correlation of the residuals. They treat the entropy as known; noise in it makes a too small.

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


def entropy_against_reward(order: Sequence[str], curves: Curves, *, performance: str = "train/reward") -> Plot:
    """Reward against entropy, and the law R = -a exp(H) + b (arXiv 2508.07534, section 3.1)."""
    import pandas as pd

    points = {name: curve(curves[name], "train/entropy", performance) for name in order if name in curves}
    names = [name for name, (steps, _, _) in points.items() if len(steps)]
    laws = {name: _law(points[name]) for name in names}
    rows = []
    for name in names:
        law = laws[name]
        for step, h, r in zip(*points[name], strict=True):
            rows.append((name, step, h, r, law.reward(h).item() if isinstance(law, EntropyReward) else np.nan))
    numbers = pd.DataFrame(rows, columns=["model", "step", "entropy (nats)", performance, "fitted"])

    def render(figure: Any) -> None:
        axis = figure.subplots()
        handles = []
        for name in names:
            _, h, r = points[name]
            style, law = look(order.index(name)), laws[name]
            axis.scatter(h, r, s=10, color=style["color"], marker=style["marker"], alpha=0.35, linewidths=0)
            if isinstance(law, EntropyReward):
                along = np.linspace(h.min(), h.max(), 100)
                axis.plot(along, law.reward(along), color=style["color"], linestyle=style["linestyle"], linewidth=1.6)
            handles += axis.plot([], [], **{**style, "markersize": 4})
        axis.set(xlabel="entropy (nats)", ylabel=LABELS.get(performance, plain_name(performance)))
        tidy(axis)
        legend_below(figure, handles, names)

    laws_text = "; ".join(f"{name}: {_law_words(laws[name])}" for name in names)
    caption = (
        f"A point a step; line: R = -a exp(H) + b by least squares, R the {plain_name(performance)}. {laws_text}. 95 % "
        f"intervals allow for serial correlation, not for noise in H. "
        f"{describe_steps(order, curves, ['train/entropy', performance])}"
    )
    return Plot(
        "training_entropy_reward",
        "What reward costs in entropy",
        caption,
        f"{TRIAL_AND_ERROR}, section 3.1",
        numbers,
        render,
        (WIDTH, HEIGHT - 0.4 + legend_height(names)),
    )


def _law(points: tuple[Any, ...]) -> EntropyReward | str:
    try:
        return fit_entropy_reward(points[1], points[2])
    except ValueError as error:  # too few steps, or a constant entropy: the caption says so
        return f"no fit ({error})"


def _law_words(law: EntropyReward | str) -> str:
    if isinstance(law, str):
        return law

    def value(e: Estimate) -> str:
        return f"{e.value:.3g} [{e.low:.3g}, {e.high:.3g}]"

    return f"a = {value(law.a)}, b = {value(law.b)}, R squared {law.explained:.2f}"
