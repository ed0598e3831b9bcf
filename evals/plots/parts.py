"""Shared parts of figures of several runs: order and look, a legend for names of any length, words of captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from evals.plots.plot import WIDTH, look

if TYPE_CHECKING:
    import pandas as pd

LEGEND_LINE = 0.19  # inches per line of a legend


def line_look(index: int, points: int) -> dict[str, Any]:
    """`look`, with about eight markers on a long line."""
    return {**look(index), "markersize": 4, "markevery": max(1, points // 8), "linewidth": 1.4}


def point_look(index: int, *, hollow: bool = False) -> dict[str, Any]:
    """`look` of a single point: colour and marker, no line."""
    style = {key: value for key, value in look(index).items() if key != "linestyle"}
    return {**style, "linestyle": "none", "markersize": 5, "markerfacecolor": "white" if hollow else style["color"]}


def legend_below(figure: Any, handles: Sequence[Any], labels: Sequence[str]) -> None:
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


def rows_size(rows: int, names: Sequence[str]) -> tuple[float, float]:
    """The size in inches of a figure with rows, one point per run in each, and a legend of these names."""
    return WIDTH, 0.8 + rows * (0.25 + 0.09 * len(names)) + legend_height(names)


def right_end(means: ArrayLike, highs: ArrayLike) -> float:
    """The end of an axis from 0: beyond every mean and interval, but at most 1.5 times the largest mean."""
    largest = float(np.nanmax(np.asarray(means, float), initial=0.0))
    if not largest > 0:  # no value (NaN), or only zeros
        return 1.0
    return 1.05 * min(float(np.nanmax(np.append(np.asarray(highs, float), largest))), 1.5 * largest)


def sizes(tables: Mapping[str, pd.DataFrame], problems: int) -> str:
    """ "30 problems, n = 16 samples a problem (GRPO: 2 training seeds)." for a caption."""
    counted, seeds = {}, []
    for name, table in tables.items():
        by = [column for column in ("train_seed", "problem_id") if column in table]
        counts = table.groupby(by).size()
        counted[name] = f"{counts.min()}" if counts.min() == counts.max() else f"{counts.min()} to {counts.max()}"
        if "train_seed" in table and table["train_seed"].nunique() > 1:
            seeds.append(f"{name}: {table['train_seed'].nunique()} training seeds")
    of_runs = ", ".join(f"{n} ({name})" for name, n in counted.items())
    n = next(iter(counted.values())) if len(set(counted.values())) == 1 else of_runs
    every = f"{problems} problem{'s' * (problems != 1)}"
    return f"{every}, n = {n} samples a problem{'; ' + '; '.join(seeds) if seeds else ''}."


def covered(covers: Sequence[str | None]) -> str:
    """What 95 % intervals cover, for a caption."""
    named = sorted({c for c in covers if isinstance(c, str)})
    return f"95 % intervals over {' or '.join(named)}." if named else "No interval: one problem shows no spread."
