"""Reward against entropy, and entropy by outcome, over a training (arXiv 2508.07534, sections 3.1 and 3.2.2).

The law R = -a exp(H) + b (after Cui et al., arXiv 2505.22617) is linear in x = exp(H), so least squares has one exact
solution: a is minus the slope, b the value at x = 0. The largest reward that the law allows, at H = 0, is b - a.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from evals.analysis import TRIAL_AND_ERROR
from evals.analysis.training_curves import LABELS, fair_performance, measured, over_steps
from evals.plots.parts import grid, legend_below, legend_height
from evals.plots.plot import HEIGHT, WIDTH, Plot, look
from evals.stats.intervals import t_quantile

if TYPE_CHECKING:
    import pandas as pd

OUTCOMES = {"train/entropy_positive": "correct responses", "train/entropy_negative": "incorrect responses"}


def fit_entropy_reward(entropy: ArrayLike, reward: ArrayLike) -> tuple[float, float]:
    """(a, b) of the law, by least squares over the steps of a training, [N] each; the fit does not enforce a, b > 0.

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


def spread(values: Sequence[float]) -> str:
    """ "0.3 [0.1, 0.5]": the mean over training seeds, with its 95 % t-interval if there are two or more."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return f"{mean:.3g}"
    half = t_quantile(0.975, len(values) - 1) * float(np.std(values, ddof=1)) / len(values) ** 0.5
    return f"{mean:.3g} [{mean - half:.3g}, {mean + half:.3g}]"


def entropy_against_reward(names: Sequence[str], curves: pd.DataFrame) -> Plot:
    """Reward against entropy, and the law fitted to each training seed (arXiv 2508.07534, section 3.1).

    Raises:
        ValueError: no run has both.
    """
    performance = fair_performance(curves)
    if not all(measured(curves, [metric]) for metric in ("train/entropy", performance)):
        raise ValueError(f"curves: expected train/entropy and {performance}")
    columns = ["model", "seed", "step", "train/entropy", performance]
    numbers = curves[columns].dropna().reset_index(drop=True)
    laws: dict[tuple[str, Any], tuple[float, float]] = {}
    texts = []
    for run in (run for run in names if run in set(numbers["model"])):
        for seed, rows in numbers[numbers["model"] == run].groupby("seed"):
            try:
                laws[run, seed] = fit_entropy_reward(rows["train/entropy"], rows[performance])
            except ValueError as error:  # the caption says so
                texts.append(f"{run}, seed {seed}: no fit ({error})")
        if of_run := [law for (name, _), law in laws.items() if name == run]:
            a, b = zip(*of_run, strict=True)
            texts.append(f"{run}: a = {spread(a)}, b = {spread(b)}, training seeds: {len(of_run)}")
    runs = [run for run in names if run in set(numbers["model"])]

    def render(figure: Any) -> None:
        (axis,) = grid(figure, 1, 1)
        handles = []
        for run in runs:
            style = look(names.index(run))
            for seed, rows in numbers[numbers["model"] == run].groupby("seed"):
                h = rows["train/entropy"]
                axis.scatter(
                    h, rows[performance], s=8, color=style["color"], marker=style["marker"], alpha=0.3, linewidths=0
                )
                if (run, seed) in laws:
                    a, b = laws[run, seed]
                    along = np.linspace(h.min(), h.max(), 100)
                    axis.plot(along, b - a * np.exp(along), color=style["color"], linestyle=style["linestyle"])
            handles += axis.plot([], [], **{**style, "markersize": 4})
        axis.set(xlabel=LABELS["train/entropy"], ylabel=LABELS[performance])
        legend_below(figure, handles, runs)

    caption = (
        f"A point a step; lines: R = -a exp(H) + b by least squares, a training seed each, R: {LABELS[performance]}. "
        f"{'; '.join(texts)}. Intervals: 95 %, t over training seeds."
    )
    size = (WIDTH, HEIGHT - 0.4 + legend_height(runs))
    return Plot(
        "training_entropy_reward",
        "What reward costs in entropy",
        caption,
        f"{TRIAL_AND_ERROR}, section 3.1",
        numbers,
        render,
        size,
    )


def entropy_by_outcome(names: Sequence[str], curves: pd.DataFrame) -> Plot:
    """Entropy of correct and of incorrect responses over steps (arXiv 2508.07534, Fig. 3c without its bars).

    Raises:
        ValueError: no run has them.
    """
    if not (metrics := measured(curves, list(OUTCOMES))):
        raise ValueError(f"curves: expected {' or '.join(OUTCOMES)}")
    return over_steps(
        "training_entropy_by_outcome",
        "Entropy of correct and of incorrect responses in training",
        "Mean over the tokens of a step's correct and incorrect responses.",
        f"{TRIAL_AND_ERROR}, Fig. 3c",
        curves,
        names,
        {m: OUTCOMES[m] for m in metrics},
        ylabel="entropy (nats)",
        limits=(0.0, float("inf")),
    )
