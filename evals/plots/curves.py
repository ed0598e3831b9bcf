"""Learning curves: a metric over optimiser steps, its mean over training seeds with a band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from evals.plots.figures import band_lines
from evals.plots.parts import span
from evals.plots.plot import Plot
from evals.stats.intervals import t_quantile

if TYPE_CHECKING:
    import pandas as pd

MOST = 7  # series in one panel


def mean_over_seeds(curves: pd.DataFrame, metric: str, *, by: str = "arm") -> pd.DataFrame:
    """The mean of a metric over training seeds at each step, with its pointwise 95 % t-interval.

    Args:
        curves: `by` (what a curve is of), `seed`, `step` and the metric; missing values are excluded.
    Returns:
        `by`, `step`, `mean`, `low`, `high` (NaN with one seed), `seeds`.
    Raises:
        ValueError: a column is missing, or a seed has a step twice.
    """
    if missing := [column for column in (by, "seed", "step", metric) if column not in curves]:
        raise ValueError(f"curves: expected the column {missing[0]!r}, got {', '.join(map(str, curves.columns))}")
    present = curves[curves[metric].notna()]
    if present.duplicated([by, "seed", "step"]).any():
        row = present[present.duplicated([by, "seed", "step"])].iloc[0]
        raise ValueError(f"curves: expected each step once, got {by} {row[by]!r}, seed {row['seed']}, step "
                         f"{row['step']} twice")  # fmt: skip
    means = present.groupby([by, "step"], sort=False)[metric].agg(["mean", "std", "size"]).reset_index()
    means = means.sort_values([by, "step"], kind="stable", ignore_index=True)
    t = np.array([t_quantile(0.975, n - 1) if n > 1 else np.nan for n in means["size"]])
    half = t * means["std"] / np.sqrt(means["size"])
    means = means.assign(low=means["mean"] - half, high=means["mean"] + half, seeds=means["size"])
    return means[[by, "step", "mean", "low", "high", "seeds"]]


def learning_curves(
    curves: pd.DataFrame,
    metric: str,
    *,
    label: str,
    name: str = "learning_curves",
    title: str = "Learning curves",
    reference: Sequence[str] = ("grpo",),
    bounds: tuple[float, float] = (-np.inf, np.inf),
    note: str = "",
) -> Plot:
    """A metric over optimiser steps, mean over seeds with a band: one panel up to 7 arms, else a panel an arm with the
    reference arms in each.

    Args:
        curves: as `mean_over_seeds` takes it; the order of the arms is that of their first rows.
        label: of the y axis, with its unit. bounds: of the metric, 0 and 1 for a share: bands end there.
        note: for the caption (scale, benchmark).
    Raises:
        ValueError: as `mean_over_seeds`; no value of the metric.
    """
    import pandas as pd

    numbers = mean_over_seeds(curves, metric)
    if numbers.empty:
        raise ValueError(f"{metric}: expected a value at one step or more, got none")
    order = [arm for arm in dict.fromkeys(curves["arm"]) if arm in set(numbers["arm"])]
    of_arm = numbers.groupby("arm")
    caption = (
        "Mean over training seeds; band: pointwise 95 % t-interval over seeds. Seeds: "
        f"{span(of_arm['seeds'].max())}. Steps: {span(of_arm['step'].max())}. {note}"
    ).rstrip()
    shown, names, panels = numbers.assign(model=numbers["arm"]), order, {"": ""}
    if len(order) > MOST:  # a panel an arm, with the reference in each
        references = [arm for arm in reference if arm in order]
        names = ["reference", "this arm", *references]
        panels = {arm: arm for arm in order}
        parts = [
            numbers[numbers["arm"] == one].assign(panel=arm, model="this arm" if one == arm else one)
            for arm in order
            for one in dict.fromkeys((*references, arm))
        ]
        shown = pd.concat(parts, ignore_index=True)
    plot = band_lines(
        name,
        title,
        caption,
        "",
        shown,
        names,
        x="step",
        xlabel="optimiser step",
        panels=panels,
        ylabel=label,
        limits=bounds,
        marker=len(order) <= MOST,
    )
    return replace(plot, numbers=numbers)
