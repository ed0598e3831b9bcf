"""Means of a quantity of tokens, bin by bin: by relative position, by entropy, by the response's perplexity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evals.analysis.contrast import measure_side
from evals.analysis.interventions.selection import perplexities
from evals.analysis.tokens.outcomes import outcomes
from evals.analysis.tokens.token_table import need_columns
from evals.stats.intervals import Bounds

if TYPE_CHECKING:
    import pandas as pd

Bins = NDArray[np.int64]


def by_bin(values: ArrayLike, bins: Bins, problems: ArrayLike, *, count: int, bounds: Bounds = None) -> pd.DataFrame:
    """The mean of each bin, over problems (of each problem's mean in the bin).

    Args:
        values: [N], finite. bins: [N], whole numbers from 0. problems: [N]. count: of bins.
        bounds: the least and greatest possible value.
    Returns:
        One row a bin: `bin`; `mean`, `low`, `high` (95 %, over problems); `pooled`, the mean of its tokens; `tokens`,
        `problems`. NaN where a bin is empty or nothing shows a spread.
    """
    import pandas as pd

    values, problems = np.asarray(values, float), np.asarray(problems)
    rows = []
    for number in range(count):
        inside = bins == number
        side = measure_side(values[inside], problems[inside], bounds=bounds)
        rows.append((number, side.mean, side.low, side.high, side.pooled, side.count, side.problems))
    return pd.DataFrame(rows, columns=["bin", "mean", "low", "high", "pooled", "tokens", "problems"])


def position_bins(table: pd.DataFrame, count: int) -> Bins:
    """floor(count * position / length): the part of the response that a token lies in. [N], 0 to count - 1."""
    need_columns(table, ("position", "length"))
    position, length = (table[name].to_numpy(np.int64) for name in ("position", "length"))
    part: Bins = count * position // length
    return part


def rank_bins(values: ArrayLike, count: int) -> Bins:
    """`count` bins of (nearly) equal size, from the smallest values to the largest; ties in their order. [N]."""
    held = np.asarray(values)
    ranks = np.empty(len(held), np.int64)
    ranks[np.argsort(held, kind="stable")] = np.arange(len(held))
    return ranks * count // max(1, len(held))


def perplexity_bins(table: pd.DataFrame, count: int) -> Bins:
    """The bin of each token's response: `rank_bins` of the responses by perplexity exp(-mean logp). [N]."""
    import pandas as pd

    values = perplexities(table)
    of_response = pd.Series(rank_bins(values.to_numpy(), count), index=values.index)
    keys = pd.MultiIndex.from_frame(table[["problem_id", "sample"]])
    return of_response.reindex(keys).to_numpy()


def by_position(table: pd.DataFrame, column: str = "entropy", *, count: int = 20) -> pd.DataFrame:
    """A column's mean by relative position, for each outcome  (arXiv 2508.07534, Fig. 6a: entropy).

    Returns:
        `by_bin`'s columns after `outcome`, and `position`, the middle of the bin in (0, 1).
    """
    import pandas as pd

    need_columns(table, ("problem_id", "verdict", column))
    bins = position_bins(table, count)
    parts = []
    for outcome, rows in outcomes(table).items():
        chosen = rows.to_numpy()
        found = by_bin(table[column][rows], bins[chosen], table["problem_id"][rows], count=count)
        found.insert(0, "outcome", outcome)
        parts.append(found.assign(position=(found["bin"] + 0.5) / count))
    return pd.concat(parts, ignore_index=True)
