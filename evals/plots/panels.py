"""A panel for each run, with common axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.plots.parts import legend_below, legend_height
from evals.plots.plot import WIDTH, tidy

if TYPE_CHECKING:
    import pandas as pd


def check_panels(runs: Mapping[str, object]) -> None:
    if not 1 <= len(runs) <= 4:
        raise ValueError(f"expected one to four runs in this figure, got {len(runs)}")


def run_panels(figure: Any, runs: Sequence[str], xlabel: str, ylabel: str) -> list[tuple[Any, str]]:
    """A panel for each run, with its name, at most two in a line; all with the same axes."""
    columns = min(len(runs), 2)
    axes = figure.subplots(-(-len(runs) // columns), columns, sharex=True, sharey=True, squeeze=False)
    for axis in axes[:, 0]:
        axis.set_ylabel(ylabel)
    for place, axis in enumerate(axes.flat):
        if place >= len(runs):
            axis.set_visible(False)
            continue
        axis.set_title(fill(runs[place], 30 if columns == 2 else 70), loc="left")
        tidy(axis)
        if place >= len(runs) - columns:  # the lowest panel of its column
            axis.set_xlabel(xlabel)
            axis.tick_params(labelbottom=True)
    return list(zip(axes.flat, runs, strict=False))


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
    known = values[np.isfinite(values)]
    if not len(known):
        return "no"
    low, high = known.min(), known.max()
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
