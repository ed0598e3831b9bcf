"""Whole figures of several runs, from a table of values with intervals: rows of points, and lines with bands.

The table has a row a value: `model` (the run), `low`, `mean`, `high` (NaN: no interval, no value), and what tells the
values of a run apart. The figure's numbers have a column `unit` too: what the value axis shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from evals.plots.parts import band, grid, legend_below, legend_height, name_rows, offsets, points, whole_ticks
from evals.plots.plot import WIDTH, Plot, look, wrap_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDS = ["low", "mean", "high"]
NO_LIMITS = (-np.inf, np.inf)


def point_rows(
    name: str,
    title: str,
    caption: str,
    source: str,
    numbers: pd.DataFrame,
    names: Sequence[str],
    *,
    by: str,
    labels: Mapping[str, str],
    unit: str,
    limits: tuple[float, float] = NO_LIMITS,
    mark: float | None = None,
    log: bool = False,
) -> Plot:
    """A row for each label, and in it a point with its interval for each run.

    Args:
        numbers: one row per run and value of `by`. names: all runs. Decides the looks.
        labels: value of `by` -> the row's name, from the top.
        unit: what the values are, with their unit. limits: of the values. The axis starts at a finite lower one.
        mark: a value to mark by a dotted line, such as 0 or chance.
        log: a logarithmic axis above 1, linear from 0 to 1.
    """
    shown = [run for run in names if run in set(numbers["model"])]

    def render(figure: Figure) -> None:
        axis = figure.subplots()
        name_rows(axis, list(labels.values()))
        handles = []
        for run, shift in zip(shown, offsets(len(shown)), strict=True):
            rows = numbers[numbers["model"] == run].set_index(by)[ENDS].reindex(list(labels))
            low, middle, high = (rows[end].clip(*limits) for end in ENDS)
            handles += points(axis, np.arange(len(labels)) + shift, low, middle, high, names.index(run))
        if mark is not None:
            axis.axvline(mark, color="black", linewidth=0.8, linestyle=":")
        if log:
            axis.set_xscale("symlog", linthresh=1)
            axis.set_xlim(left=-0.1)
        elif (ends := axis_ends(numbers, limits)) is not None:
            space = 0.02 * (ends[1] - ends[0])
            axis.set_xlim(ends[0] - space, ends[1] + space)
        axis.set_xlabel(unit)
        for y in range(1, len(labels)):
            axis.axhline(y - 0.5, color="black", linewidth=0.3, alpha=0.3)
        legend_below(figure, handles, shown)

    height = 0.8 + len(labels) * (0.25 + 0.1 * len(shown)) + legend_height(shown)
    return Plot(name, title, caption, source, numbers.assign(unit=unit), render, (WIDTH, height))


def band_lines(
    name: str,
    title: str,
    caption: str,
    source: str,
    numbers: pd.DataFrame,
    names: Sequence[str],
    *,
    x: str,
    xlabel: str,
    panels: Mapping[str, str],
    by: str = "panel",
    ylabel: str = "",
    limits: tuple[float, float] | Mapping[str, tuple[float, float]] = NO_LIMITS,
    smooth: int = 1,
    marker: bool = True,
    finish: Callable[[Sequence[Axes]], None] | None = None,
) -> Plot:
    """A panel for each value of `by`, with a line and its band for each run, and a legend below.

    Args:
        numbers: with `by`, unless there is one panel, and `x`. names: all runs. Decides the looks.
        panels: value of `by` -> the panel's title. Without `ylabel`, its own y axis' label.
        ylabel: what all panels show, with its unit. They share the axis.
        limits: of the values (of each panel's): bands end there, and the axis starts at a finite lower one.
        smooth: points of a centred moving average. With more than one the values themselves are pale.
        marker: whether lines have markers. finish: changes the axes at the end.
    """
    shown = [run for run in names if run in set(numbers["model"])]
    columns = 4 if len(panels) > 6 else min(len(panels), 3 if ylabel else 2)
    lines = -(-len(panels) // columns)

    def render(figure: Figure) -> None:
        axes = grid(figure, len(panels), columns, sharey=bool(ylabel), sharex=len(panels) > 6)
        handles: dict[str, Artist] = {}
        for place, (axis, panel) in enumerate(zip(axes, panels, strict=True)):
            inside = numbers[numbers[by] == panel] if by in numbers else numbers
            allowed = limits[panel] if isinstance(limits, Mapping) else limits
            for run in shown:
                rows = inside[inside["model"] == run].sort_values(x)
                if rows["mean"].isna().all():
                    continue
                if smooth > 1:
                    axis.plot(rows[x], rows["mean"], color=look(names.index(run))["color"], linewidth=0.5, alpha=0.3)
                ends = rows[ENDS].rolling(smooth, center=True, min_periods=1).mean().clip(*allowed)
                low, middle, high = (ends[end] for end in ENDS)
                (handles[run],) = band(axis, rows[x], low, middle, high, names.index(run), marker=marker)
            fit(axis, numbers if ylabel else inside, allowed)
            if numbers[x].dtype.kind == "i":
                whole_ticks(axis)
            if place >= len(panels) - columns:  # the lowest panel of its column
                axis.set_xlabel(xlabel)
                axis.tick_params(labelbottom=True)
            if len(panels) > 1 and ylabel:
                axis.set_title(wrap_name(panels[panel], 26), fontsize=8)
            if not ylabel or place % columns == 0:
                axis.set_ylabel(ylabel or panels[panel])
        if finish is not None:
            finish(axes)
        legend_below(figure, list(handles.values()), list(handles))

    size = (WIDTH * {1: 1.0, 4: 1.65}.get(columns, 1.35), (2.9 if lines == 1 else 2.1 * lines) + legend_height(shown))
    units = numbers.assign(unit=ylabel or numbers[by].map(panels))
    return Plot(name, title, caption, source, units, render, size)


def axis_ends(numbers: pd.DataFrame, limits: tuple[float, float]) -> tuple[float, float] | None:
    """An axis from the lower limit to the ends of the intervals, at most half above the largest mean, so that a wide
    interval does not flatten the others, or None without a finite lower limit or a value."""
    least, most = limits
    largest = numbers["mean"].max()
    if not np.isfinite(least) or not np.isfinite(largest):
        return None
    spread = float(np.nanmax([largest, numbers["high"].max()])) - least
    if not spread > 0:
        return least, least + min(1.0, most - least)
    room = 1.5 * (largest - least) if largest > least else np.inf
    return least, least + min(most - least, 1.1 * spread, room)


def fit(axis: Axes, numbers: pd.DataFrame, limits: tuple[float, float]) -> None:
    """Fit a y axis to the means: from a finite lower limit, else with a margin. Logarithmic where the medians of two
    runs are more than ten times apart."""
    if numbers["mean"].isna().all():
        return
    medians = numbers.groupby("model")["mean"].median()
    low, high = numbers["mean"].min(), numbers["mean"].max()
    if low > 0 and not np.isfinite(limits[1]) and medians.max() > 10 * medians.min():
        axis.set_yscale("log")
        axis.set_ylim(low / 1.3, 1.3 * high)
    elif (ends := axis_ends(numbers, limits)) is not None:
        space = 0.02 * (ends[1] - ends[0])
        axis.set_ylim(ends[0] - space, ends[1] + space)
    else:
        margin = 0.25 * (high - low) or 0.05 * abs(high) or 1.0
        axis.set_ylim(low - margin, high + margin)
