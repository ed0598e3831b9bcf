"""What the figures of words share: rows of points with intervals, and the words of their captions."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.analysis.tokens.token_table import response_keys
from evals.analysis.words.lexicon import load_lexicon
from evals.analysis.words.words import Words
from evals.plots.intervals import points
from evals.plots.plot import WIDTH, look, tidy

if TYPE_CHECKING:
    import pandas as pd

INTERVALS = (
    "Means over problems of each problem's mean, with 95 % intervals over problems (training seeds are not covered), "
    "cut at the ends of the axis; no line: no interval. Responses of every verdict count."
)


def plot_rows(
    axis: Any,
    numbers: pd.DataFrame,
    by: str,
    order: Sequence[str],
    words: Sequence[Words],
    mean: str,
    low: str,
    high: str,
    *,
    least: float | None = None,
) -> None:
    """One row for each value of `by`, in it a point and an interval for each model; `least` cuts an interval off."""
    for held in words:
        rows = numbers[numbers["model"] == held.name].set_index(by).loc[list(order)]
        y = np.arange(len(order)) + offset(held, words)
        left = rows[low] if least is None else rows[low].clip(lower=least)
        middle = rows[mean] if least is None else rows[mean].where(rows[mean] > 0)
        points(axis, y, left, middle, rows[high], held.number, label=wrap(held.name, 78))
    axis.invert_yaxis()
    tidy_rows(axis)


def point(number: int) -> dict[str, Any]:
    """`look` of a point, without a line."""
    return look(number) | {"linestyle": "none", "markersize": 5}


def offset(held: Words, words: Sequence[Words]) -> float:
    """Where in its row a model's point lies, so that none covers another."""
    return ([other.name for other in words].index(held.name) - (len(words) - 1) / 2) * 0.7 / len(words)


def tidy_rows(axis: Any) -> None:
    """`tidy`, with no lines along the rows."""
    tidy(axis)
    axis.grid(axis="y", visible=False)


def right_end(means: pd.Series, highs: pd.Series) -> float:
    """Where an axis from 0 ends: beyond every mean, but not beyond half again the largest for an interval's sake."""
    largest = float(means.max())
    if not largest > 0:  # nothing there (NaN), or nothing but zeros
        return 1.0
    return 1.05 * min(float(np.nanmax([largest, *highs])), 1.5 * largest)


def height(rows: int, models: int) -> tuple[float, float]:
    """Inches, for rows of as many points as there are models, and a legend."""
    return WIDTH, 1.0 + rows * (0.25 + 0.09 * models) + (0.2 * models if models > 1 else 0)


def wrap(name: str, width: int) -> str:
    """A name in at most three lines."""
    return fill(name, width, max_lines=3, placeholder="…")


def legend(figure: Any, series: int) -> None:
    """The series of the first panel, under all panels; none for a single series."""
    if series > 1:
        handles = figure.axes[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower left", ncols=1, frameon=False, fontsize=8)


def describe_sizes(words: Sequence[Words], benchmark: str) -> str:
    """How many problems and responses each model has."""
    counts = {}
    for held in words:
        problems = held.table["problem_id"].nunique()
        responses = held.table.groupby(response_keys(held.table)).ngroups
        counts[held.name] = f"{problems} {'problem' if problems == 1 else 'problems'}, {responses} responses"
    prefix = f"{benchmark}: " if benchmark else ""
    if len(set(counts.values())) == 1:
        return prefix + counts[words[0].name] + (" of each run." if len(words) > 1 else ".")
    return prefix + "; ".join(f"{name} {count}" for name, count in counts.items()) + "."


def describe_lexicon(name: str, stated_only: bool) -> str:
    """Which lexicon, and how much of it is assumed."""
    return f"Lexicon {load_lexicon(name, stated_only=stated_only).describe()}"
