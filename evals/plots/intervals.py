"""Values with their intervals: points with intervals, curves with bands, forest plots.

An interval that does not exist (NaN ends) is not plotted; the point stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from evals.plots.plot import look, tidy, wrap_name

if TYPE_CHECKING:
    import pandas as pd


def points(
    axis: Any,
    at: ArrayLike,
    low: ArrayLike,
    middle: ArrayLike,
    high: ArrayLike,
    series: int,
    *,
    hollow: bool = False,
    upright: bool = False,
) -> list[Any]:
    """Points with intervals, in the style of a series.

    Args:
        at: [N], the row of each (the column, if upright). low, middle, high: [N]; NaN ends: no interval.
        hollow: an empty marker. upright: values along the y axis.
    Returns:
        the markers, for a legend.
    """
    style = {key: value for key, value in look(series).items() if key != "linestyle"}
    lines = axis.vlines if upright else axis.hlines
    lines(at, low, high, color=style["color"], linewidth=1.2)
    x, y = (at, middle) if upright else (middle, at)
    face = "white" if hollow else style["color"]
    marks: list[Any] = axis.plot(x, y, **style, linestyle="none", markersize=5, markerfacecolor=face)
    return marks


def band(
    axis: Any,
    x: ArrayLike,
    low: ArrayLike,
    middle: ArrayLike,
    high: ArrayLike,
    series: int,
    *,
    marker: bool = True,
    clip_on: bool = True,
) -> list[Any]:
    """A curve with the band of its intervals, about eight markers on a long one; a single point gets a line instead.

    Returns:
        the line, for a legend.
    """
    count, colour = len(np.asarray(x)), look(series)["color"]
    if count == 1:
        axis.vlines(x, low, high, color=colour, linewidth=1)
    else:
        axis.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    style = look(series) | {"markersize": 4, "markevery": max(1, count // 8), "linewidth": 1.4}
    if not marker:
        style["marker"] = ""
    line: list[Any] = axis.plot(x, middle, clip_on=clip_on, **style)
    return line


def offsets(count: int) -> list[float]:
    """Offsets of `count` series within a row, around 0, so that none covers another."""
    step = min(0.18, 0.7 / max(1, count))
    return [step * (place - (count - 1) / 2) for place in range(count)]


def name_rows(axis: Any, names: Sequence[str], width: int = 26) -> None:
    """A row for each name, the first on top, without a grid along the rows."""
    tidy(axis)
    axis.grid(axis="y", visible=False)
    axis.set_yticks(range(len(names)), [wrap_name(name, width) for name in names])
    axis.set_ylim(len(names) - 0.5, -0.5)


def dots(
    axis: Any,
    numbers: pd.DataFrame,
    names: Sequence[str],
    by: str,
    labels: Mapping[str, str],
    columns: tuple[str, str, str] = ("low", "mean", "high"),
) -> tuple[list[Any], list[str]]:
    """A row for each label, and in it a point with its interval for each run.

    Args:
        numbers: one row per run (`model`) and value of `by`. names: all runs; decides the looks.
        labels: value of `by` -> the row's name, from the top. columns: of the low end, the value and the high end.
    Returns:
        the markers and the names of the runs that have numbers, for a legend.
    """
    shown = [name for name in names if name in set(numbers["model"])]
    name_rows(axis, list(labels.values()))
    handles = []
    for name, shift in zip(shown, offsets(len(shown)), strict=True):
        rows = numbers[numbers["model"] == name].set_index(by).reindex(list(labels))
        low, middle, high = (rows[column] for column in columns)
        handles += points(axis, np.arange(len(labels)) + shift, low, middle, high, names.index(name))
    return handles, shown


@dataclass(frozen=True)
class Verdict:
    """A forest plot's mark for an outcome: a colour and a shape, each distinct on its own; filled or not."""

    color: str
    marker: str
    filled: bool = True


@dataclass(frozen=True)
class ForestRow:
    """One difference of a forest plot, in the axis' unit. `note` stands at its right."""

    name: str
    low: float
    middle: float
    high: float
    verdict: Verdict
    note: str = ""


def forest(axis: Any, rows: Sequence[ForestRow], xlabel: str) -> None:
    """Differences with intervals around 0, one row each, with notes beside the axis."""
    axis.axvline(0, color="black", linewidth=0.8)
    name_rows(axis, [row.name for row in rows], 70)
    for text in axis.get_yticklabels():
        text.set(fontsize=7, linespacing=1.1)  # two lines of a long name fit into a row of a quarter inch
    axis.grid(axis="x", linewidth=0.4, alpha=0.5)
    for place, row in enumerate(rows):
        colour = row.verdict.color
        axis.hlines(place, row.low, row.high, color=colour, linewidth=1.6)
        face = colour if row.verdict.filled else "white"
        axis.plot([row.middle], [place], row.verdict.marker, color=colour, markerfacecolor=face, markersize=6)
        if row.note:
            axis.annotate(row.note, (1.01, place), xycoords=("axes fraction", "data"), va="center", size=8,
                          annotation_clip=False)  # fmt: skip
    axis.spines["left"].set_visible(False)
    axis.tick_params(axis="y", length=0)
    axis.set_xlabel(xlabel)
