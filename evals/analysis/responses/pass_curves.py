"""pass@k against k for several models, with bands (arXiv 2508.07534, Fig. 1a and 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evals.analysis.common_problems import CommonProblems, alike, check_ks, steps_to
from evals.stats.score import score

if TYPE_CHECKING:
    import pandas as pd


def pass_curves(
    tables: Mapping[str, pd.DataFrame], ks: Sequence[int] | None = None
) -> tuple[pd.DataFrame, CommonProblems]:
    """One row a model and k: `model`, `k`, `pass`, `low`, `high` (fractions; 95 %), `covers`; and what it is over.

    Every point of every curve is over the same problems, so that a crossing is not one of problems that dropped out.

    Args:
        tables: model -> verdict table of one benchmark.
        ks: None takes the powers of two up to the largest k that every problem with a verdict allows. Given, problems
            with fewer scored samples than the largest are left out.
    Raises:
        ValueError: as `alike`; a k < 1.
    """
    import pandas as pd

    if ks is not None:
        check_ks(ks)
    same = alike(tables, None if ks is None else max(ks))
    rows = [
        {
            "model": name,
            "k": one.k,
            "pass": one.value,
            "low": one.interval and one.interval.low,
            "high": one.interval and one.interval.high,
            "covers": one.interval and one.interval.covers,
        }
        for name, table in same.tables.items()
        for one in score(table, ks=ks or steps_to(same.k), metrics=("pass",))
    ]
    return pd.DataFrame(rows).astype({"low": float, "high": float}), same
