"""Parts of figures: points with intervals, curves with bands, rows of names, grids of panels, legends.

An interval that does not exist (NaN ends) is not plotted. The point stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from evals.plots.plot import look, tidy, wrap_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

LEGEND_LINE = 0.19  # inches per line of a legend


def point_look(series: int, *, hollow: bool = False) -> dict[str, Any]:
    """`look` of a single point: colour and marker, no line."""
    style = look(series) | {"linestyle": "none", "markersize": 5}
    return style | {"markerfacecolor": "white" if hollow else style["color"]}


def points(
    axis: Axes,
    rows: ArrayLike,
    low: ArrayLike,
    middle: ArrayLike,
    high: ArrayLike,
    series: int,
    *,
    hollow: bool = False,
) -> list[Line2D]:
    """Points with horizontal intervals, in the style of a series: [N] each. Returns the markers, for a legend."""
    axis.hlines(rows, low, high, color=look(series)["color"], linewidth=1.2)
    markers: list[Line2D] = axis.plot(middle, rows, **point_look(series, hollow=hollow))
    return markers


def band(
    axis: Axes,
    x: ArrayLike,
    low: ArrayLike,
    middle: ArrayLike,
    high: ArrayLike,
    series: int,
    *,
    marker: bool = True,
) -> list[Line2D]:
    """A curve with the band of its intervals, about eight markers on a long one. A single point gets a line instead.

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
    line: list[Line2D] = axis.plot(x, middle, **style)
    return line


def offsets(count: int) -> list[float]:
    """Offsets of `count` series within a row, around 0, so that none covers another."""
    step = min(0.18, 0.7 / max(1, count))
    return [step * (place - (count - 1) / 2) for place in range(count)]


def name_rows(axis: Axes, names: Sequence[str], width: int = 26) -> None:
    """A row for each name, the first on top, without a grid along the rows."""
    tidy(axis)
    axis.grid(axis="y", visible=False)
    axis.set_yticks(range(len(names)), [wrap_name(name, width) for name in names], parse_math=False)
    axis.set_ylim(max(len(names), 1) - 0.5, -0.5)


def bars(axis: Axes, names: Sequence[str], values: ArrayLike, series: int) -> None:
    """A horizontal bar for each name, the first on top, in the colour of a series."""
    name_rows(axis, names, 40)
    axis.barh(range(len(names)), values, height=0.7, color=look(series)["color"])
    for text in axis.get_yticklabels():
        text.set(fontsize=7.5)


def whole_ticks(axis: Axes) -> None:
    """Put the ticks of the horizontal axis at whole numbers alone."""
    from matplotlib.ticker import MaxNLocator

    locator = axis.xaxis.get_major_locator()
    if isinstance(locator, MaxNLocator):  # as every linear axis has
        locator.set_params(integer=True, min_n_ticks=1)


def grid(figure: Figure, count: int, columns: int, *, sharex: bool = False, sharey: bool = False) -> list[Axes]:
    """`count` axes in lines of `columns`, tidied. sharex, sharey: as of `Figure.subplots`."""
    axes = list(figure.subplots(-(-count // columns), columns, squeeze=False, sharex=sharex, sharey=sharey).ravel())
    for axis in axes[count:]:
        axis.remove()
    for axis in axes[:count]:
        tidy(axis)
    return axes[:count]


def legend_below(figure: Figure, handles: Sequence[Artist], labels: Sequence[str]) -> None:
    """A legend under all panels: short names side by side, long ones one a line, so that names of any length fit."""
    texts = [fill(label, 78) for label in labels]
    columns = min(_legend_columns(labels), max(1, len(texts)))
    figure.legend(handles, texts, loc="outside lower left", ncols=columns, frameon=False, fontsize=8)


def legend_height(labels: Sequence[str]) -> float:
    """The height of `legend_below`, in inches."""
    columns = _legend_columns(labels)
    if columns > 1:
        return LEGEND_LINE * -(-len(labels) // columns) + 0.1
    return LEGEND_LINE * sum(fill(label, 78).count("\n") + 1 for label in labels) + 0.1


def _legend_columns(labels: Sequence[str]) -> int:
    """How many names of these lengths fit side by side under one panel."""
    longest = max(map(len, labels), default=0)
    return next((columns for columns, limit in ((4, 10), (3, 16), (2, 28)) if longest <= limit), 1)


def sizes(tables: Mapping[str, pd.DataFrame]) -> str:
    """ "30 problems, n = 16 samples a problem; GRPO: 2 training seeds." of verdict tables, for a caption."""
    counted, seeds = {}, []
    for name, table in tables.items():
        by = [column for column in ("train_seed", "problem_id") if column in table]
        counts = table.groupby(by).size()
        counted[name] = f"{counts.min()}" if counts.min() == counts.max() else f"{counts.min()} to {counts.max()}"
        if "train_seed" in table and table["train_seed"].nunique() > 1:
            seeds.append(f"{name}: {table['train_seed'].nunique()} training seeds")
    of_runs = ", ".join(f"{n} ({name})" for name, n in counted.items())
    n = next(iter(counted.values())) if len(set(counted.values())) == 1 else of_runs
    problems = len(set().union(*(table["problem_id"] for table in tables.values())))
    every = f"{problems} problem{'s' * (problems != 1)}"
    return f"{every}, n = {n} samples a problem{'; ' + '; '.join(seeds) if seeds else ''}."


def span(values: pd.Series) -> str:
    """ "4", or "2 to 4"."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return "no"
    low, high = finite.min(), finite.max()
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
