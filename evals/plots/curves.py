"""Learning curves: a metric over optimiser steps, its mean over training seeds with a band."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.plots.parts import band, grid, legend_below, legend_height
from evals.plots.plot import WIDTH, Plot, wrap_name
from evals.stats.intervals import t_quantile

if TYPE_CHECKING:
    import pandas as pd

MOST = 7  # series in one panel
COLUMNS = 4  # panels side by side
PANEL = 2.15, 1.75  # inches


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
    numbers = mean_over_seeds(curves, metric)
    if numbers.empty:
        raise ValueError(f"{metric}: expected a value at one step or more, got none")
    order = [arm for arm in dict.fromkeys(curves["arm"]) if arm in set(numbers["arm"])]
    seeds = numbers.groupby("arm")["seeds"].max()
    caption = (
        f"Mean over training seeds; band: pointwise 95 % t-interval over seeds. Seeds: {_ranges(seeds)}. Steps: "
        f"{_ranges(numbers.groupby('arm')['step'].max())}."
    )
    references = [arm for arm in reference if arm in order]
    together = len(order) <= MOST
    panels = [order] if together else [[arm, *(r for r in references if r != arm)] for arm in order]
    names = list(order) if together else ["this arm", *references]
    columns = 1 if together else COLUMNS
    rows = -(-len(panels) // columns)

    def render(figure: Any) -> None:
        axes = grid(figure, len(panels), columns, sharex=True, sharey=True)
        handles: dict[str, Any] = {}
        for place, (axis, arms) in enumerate(zip(axes, panels, strict=True)):
            for arm in reversed(arms):
                part = numbers[numbers["arm"] == arm].sort_values("step")
                this = not together and arm == arms[0]
                series = order.index(arm) if together else 1 if this else (0, 2, 3)[references.index(arm) % 3]
                low, high = (part[end].clip(*bounds) for end in ("low", "high"))
                (line,) = band(axis, part["step"], low, part["mean"], high, series, marker=together)
                handles["this arm" if this else arm] = line
            if not together:
                axis.set_title(wrap_name(arms[0], 26), loc="left", fontsize=8)
            if place >= len(panels) - columns:  # the lowest panel of its column
                axis.set_xlabel("optimiser step", fontsize=9 if together else 8)
                axis.tick_params(labelbottom=True)
        for axis in axes[::columns]:
            axis.set_ylabel(label, fontsize=9 if together else 8)
        shown = [arm for arm in names if arm in handles]
        legend_below(figure, [handles[arm] for arm in shown], shown)

    size = (WIDTH, 3.0) if together else (PANEL[0] * COLUMNS, 0.5 + PANEL[1] * rows)
    caption = f"{caption} {note}".rstrip()
    return Plot(name, title, caption, "", numbers, render, (size[0], size[1] + legend_height(names)))


def _ranges(values: pd.Series) -> str:
    """ "10", or "8 (egsw) to 10"."""
    low, high = values.min(), values.max()
    return f"{high:g}" if low == high else f"{low:g} ({values.idxmin()}) to {high:g}"
