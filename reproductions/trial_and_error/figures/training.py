"""Reward against entropy over a training: the law R = -a exp(H) + b (arXiv 2508.07534, section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from evals.analysis import TRIAL_AND_ERROR
from evals.analysis.training_curves import LABELS, fair_performance, measured
from evals.plots.parts import grid
from evals.plots.plot import Plot, look

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def fit_entropy_reward(entropy: ArrayLike, reward: ArrayLike) -> tuple[float, float]:
    """(a, b) of the law, by least squares over the steps of a training, [N] each. The fit does not enforce a, b > 0.

    Args:
        entropy: mean token entropy of a step, nats. reward: mean reward (or accuracy) of the same step.
    Raises:
        ValueError: fewer than 3 steps, or an entropy that does not vary.
    """
    from scipy.stats import linregress

    x = np.exp(np.asarray(entropy, float))
    if len(x) < 3 or np.ptp(x) <= 1e-12 * x.max():
        raise ValueError(f"entropy: expected three steps or more whose values differ, got {len(x)}")
    line = linregress(x, reward)
    return -float(line.slope), float(line.intercept)


def entropy_against_reward(names: Sequence[str], curves: pd.DataFrame) -> Plot:
    """A point a step, with the law fitted to each training seed.

    Raises:
        ValueError: no run has both, or no run has a fit (a run without one is named in the caption).
    """
    performance = fair_performance(curves)
    if not all(measured(curves, [metric]) for metric in ("train/entropy", performance)):
        raise ValueError(f"curves: expected train/entropy and {performance}")
    numbers = curves[["model", "seed", "step", "train/entropy", performance]].dropna().reset_index(drop=True)
    runs = numbers.groupby(["model", "seed"], sort=False)
    laws, without = {}, []
    for (name, seed), rows in runs:
        try:
            laws[name, seed] = fit_entropy_reward(rows["train/entropy"], rows[performance])
        except ValueError as error:
            without.append(f"; {name}, seed {seed}: no fit ({error})")
    if not laws:
        raise ValueError("".join(without).removeprefix("; "))

    def render(figure: Figure) -> None:
        (axis,) = grid(figure, 1, 1)
        named: set[Any] = set()
        for (name, seed), rows in ((run, rows) for run, rows in runs if run in laws):
            style, h = look(names.index(name)), rows["train/entropy"]
            a, b = laws[name, seed]
            along = np.linspace(h.min(), h.max(), 100)
            axis.scatter(h, rows[performance], s=8, color=style["color"], marker=style["marker"], alpha=0.3)
            label = name if name not in named else None  # a line of the legend each, however many seeds there are
            named.add(name)
            axis.plot(along, b - a * np.exp(along), color=style["color"], label=label)
        axis.set(xlabel=LABELS["train/entropy"], ylabel=LABELS[performance])
        axis.legend()

    fits = "; ".join(f"{name}, seed {seed}: a = {a:.3g}, b = {b:.3g}" for (name, seed), (a, b) in laws.items())
    return Plot(
        "training_entropy_reward",
        "What reward costs in entropy",
        f"A point a step; lines: R = -a exp(H) + b by least squares, R: {LABELS[performance]}. {fits}"
        f"{''.join(without)}.",
        f"{TRIAL_AND_ERROR}, section 3.1",
        numbers,
        render,
    )
