"""Several panels in a figure: a grid, lines with bands in each, a panel for each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from evals.plots.intervals import band
from evals.plots.parts import legend_below, legend_height
from evals.plots.plot import WIDTH, tidy

if TYPE_CHECKING:
    import pandas as pd


def grid(figure: Any, count: int, columns: int, **shared: bool) -> list[Any]:
    """`count` axes in lines of `columns`, tidied. shared: `sharex`, `sharey`, of `Figure.subplots`."""
    axes = list(figure.subplots(-(-count // columns), columns, squeeze=False, **shared).ravel())
    for axis in axes[count:]:
        axis.remove()
    for axis in axes[:count]:
        tidy(axis)
    return axes[:count]


def panels(figure: Any, titles: Sequence[str]) -> list[Any]:
    """Axes side by side with a common y axis, titled if there are several."""
    axes = grid(figure, len(titles), len(titles), sharey=True)
    for axis, title in zip(axes, titles, strict=True):
        if len(titles) > 1:
            axis.set_title(title)
    return axes


def band_panels(
    figure: Any,
    numbers: pd.DataFrame,
    names: Sequence[str],
    by: str,
    titles: Mapping[str, str],
    x: str,
    columns: tuple[str, str, str] = ("low", "mean", "high"),
) -> list[Any]:
    """A panel for each value of `by` in `titles`, with a line and its band for each run, and a legend below.

    Args:
        numbers: with `model`, `by`, `x` and the columns of the low end, the value and the high end.
        names: all runs; decides the looks.
    """
    axes = panels(figure, list(titles.values()))
    handles: dict[str, Any] = {}
    for axis, value in zip(axes, titles, strict=True):
        for name in (name for name in names if name in set(numbers["model"])):
            rows = numbers[(numbers["model"] == name) & (numbers[by] == value)]
            low, middle, high = (rows[column] for column in columns)
            (handles[name],) = band(axis, rows[x], low, middle, high, names.index(name))
    legend_below(figure, list(handles.values()), list(handles))
    return axes


def above_zero(axis: Any, means: ArrayLike) -> None:
    """Set the y axis from 0 to 1.5 times the largest mean, so that a wide band does not flatten the lines."""
    values = np.asarray(means, float)
    top = float(values[np.isfinite(values)].max(initial=0.0))
    axis.set_ylim(0, 1.5 * top if top > 0 else 1.0)


def size(names: Sequence[str], count: int = 1) -> tuple[float, float]:
    """The size, in inches, of `count` panels side by side with a legend of these names below."""
    return (WIDTH if count < 3 else 1.35 * WIDTH), 2.9 + legend_height(names)


def check_panels(runs: Mapping[str, object]) -> None:
    if not 1 <= len(runs) <= 4:
        raise ValueError(f"expected one to four runs in this figure, got {len(runs)}")


def run_panels(figure: Any, runs: Sequence[str], xlabel: str, ylabel: str) -> list[tuple[Any, str]]:
    """A panel for each run, with its name, at most two in a line; all with the same axes."""
    columns = min(len(runs), 2)
    axes = grid(figure, len(runs), columns, sharex=True, sharey=True)
    for place, (axis, run) in enumerate(zip(axes, runs, strict=True)):
        axis.set_title(fill(run, 30 if columns == 2 else 70), loc="left")
        if place % columns == 0:
            axis.set_ylabel(ylabel)
        if place >= len(runs) - columns:  # the lowest panel of its column
            axis.set_xlabel(xlabel)
            axis.tick_params(labelbottom=True)
    return list(zip(axes, runs, strict=True))


def panels_size(runs: int) -> tuple[float, float]:
    return WIDTH * (1.0 if runs == 1 else 1.25), 0.5 + 2.3 * -(-runs // 2) + legend_height(["", ""])


def two_line_legend(figure: Any, labels: Sequence[str]) -> None:
    """A legend for the solid and the dashed line, in a neutral colour."""
    from matplotlib.lines import Line2D

    common: dict[str, Any] = {"color": "black", "marker": "o", "markersize": 4, "linewidth": 1.3}
    handles = [Line2D([], [], **common), Line2D([], [], **common, linestyle="--", markerfacecolor="white")]
    legend_below(figure, handles, labels)


def describe_problems(numbers: pd.DataFrame) -> str:
    return f"{span(numbers['problems'])} problems"


def span(values: pd.Series) -> str:
    """ "4", or "2 to 4"."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return "no"
    low, high = finite.min(), finite.max()
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
