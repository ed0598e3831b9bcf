"""The mean of a value of responses: over the samples of a problem, then over problems, with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evals.stats.intervals import Bounds, Interval, over_problems_and_seeds

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Mean:
    """A mean over problems (each counts once), its 95 % interval, and what it is over.

    `interval` is None where nothing shows the spread (`evals.stats.intervals.over_problems`). `problems` have a value
    in
    every training seed, `excluded` have not; `samples` are the values behind the mean.
    """

    value: float
    interval: Interval | None
    problems: int
    excluded: int
    samples: int


def mean_over_problems(values: pd.DataFrame, column: str, *, bounds: Bounds) -> Mean | None:
    """The mean of a column; None where no problem has a value in every training seed.

    Args:
        values: a row a response: `problem_id`, `train_seed` (if there are several), and the column; missing values are
            left out.
        bounds: the least and the greatest value possible; None: without limits.
    """
    frame = values if "train_seed" in values else values.assign(train_seed=0)
    known = frame[frame[column].notna()]
    per_problem = known.assign(value=known[column].astype(float)).pivot_table(
        index="train_seed", columns="problem_id", values="value", aggfunc="mean"
    )
    matrix = per_problem.reindex(frame["train_seed"].unique()).dropna(axis="columns")
    if matrix.empty:
        return None
    kept = known["problem_id"].isin(matrix.columns)
    return Mean(
        value=float(matrix.to_numpy().mean()),
        interval=over_problems_and_seeds(matrix.to_numpy(), bounds=bounds),
        problems=matrix.shape[1],
        excluded=frame["problem_id"].nunique() - matrix.shape[1],
        samples=int(kept.sum()),
    )
