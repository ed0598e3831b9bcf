"""What the token figures share: panels of lines with bands, and caption texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from evals.analysis.tokens.token_table import ALL, CORRECT, INCORRECT, outcomes
from evals.plots.intervals import band
from evals.plots.parts import legend_below, legend_height
from evals.plots.plot import WIDTH, tidy

if TYPE_CHECKING:
    import pandas as pd

TITLES = {ALL: "all responses", CORRECT: "correct responses", INCORRECT: "incorrect responses"}
BAND = "Bands and bars: 95 % intervals over problems (not over training seeds); none where one problem shows no spread."
Tables = Mapping[str, "pd.DataFrame"]


def number_of(names: Sequence[str], tables: Tables) -> list[tuple[int, str]]:
    """(which of the runs it is, name) of the runs that have a table, in their order.

    Raises:
        ValueError: no table, one of an unknown run, or one without rows.
    """
    if strange := [name for name in tables if name not in names]:
        raise ValueError(f"token tables: expected those of {', '.join(names)}, got one of {strange[0]!r}")
    if empty := [name for name, table in tables.items() if table.empty]:
        raise ValueError(f"{empty[0]}: expected a token table with rows")
    if not tables:
        raise ValueError("token tables: expected at least one, got none")
    return [(number, name) for number, name in enumerate(names) if name in tables]


def counted(tables: Tables) -> str:
    """ "30 problems, 480 responses, 12,345 tokens (GRPO: 30, 480, 11,987)." for a caption; unscored ones as well."""
    parts, unscored = [], []
    for name, table in tables.items():
        responses = table.drop_duplicates(["problem_id", "sample"])
        parts.append(f"{name}: {table['problem_id'].nunique()}, {len(responses):,}, {len(table):,}")
        if missing := int((responses["verdict"] == "unscored").sum()):
            unscored.append(f"{name}: {missing}")
    text = f"Problems, responses with a token, tokens: {'; '.join(parts)}."
    return text + (f" Unscored responses are in neither outcome ({'; '.join(unscored)})." if unscored else "")


def present(tables: Tables, wanted: Sequence[str] = (CORRECT, INCORRECT)) -> list[str]:
    """Those of the outcomes that some response has."""
    return [o for o in wanted if any(outcomes(table)[o].any() for table in tables.values())]


def panels(figure: Any, titles: Sequence[str]) -> list[Any]:
    """Axes side by side with a common y axis, tidied and titled where there are several."""
    axes = list(figure.subplots(1, len(titles), sharey=True, squeeze=False)[0])
    for axis, title in zip(axes, titles, strict=True):
        tidy(axis)
        if len(titles) > 1:
            axis.set_title(title)
    return axes


def band_line(axis: Any, number: int, x: ArrayLike, rows: pd.DataFrame, name: str) -> None:
    """A run's line of `mean` with the band `low` to `high`; the axis may cut the band."""
    band(axis, x, rows["low"], rows["mean"], rows["high"], number, label=name)


def above_zero(axis: Any, means: ArrayLike) -> None:
    """The y axis from 0 to a half above the largest mean: a wide band does not flatten the lines."""
    held = np.asarray(means, float)
    top = float(held[np.isfinite(held)].max(initial=0.0))
    axis.set_ylim(0, 1.5 * top if top > 0 else 1.0)


def legend(figure: Any, axis: Any) -> None:
    """The legend of one panel, below all."""
    handles, labels = axis.get_legend_handles_labels()
    legend_below(figure, handles, labels)


def size(names: Sequence[str], count: int = 1, height: float = 2.9) -> tuple[float, float]:
    """Inches of so many panels with a legend of these names below."""
    return (WIDTH if count < 3 else 1.35 * WIDTH), height + legend_height(names)
