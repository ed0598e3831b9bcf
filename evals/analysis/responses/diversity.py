"""Answer diversity: how many different answers a model gives to a problem (arXiv 2508.07534, section 2.4, Fig. 1b)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from evals.analysis.common_problems import CommonProblems, alike, check_ks, steps_to
from evals.stats.intervals import over_problems_and_seeds

if TYPE_CHECKING:
    import pandas as pd


def distinct_at_k(classes: Sequence[int | None], k: int) -> float:
    """The expected number of distinct answers among k of the n samples, all k-subsets equally likely.

    Class a, given m_a times, is in a k-subset with probability 1 - C(n - m_a, k) / C(n, k); the sum over a is the
    expectation (rarefaction; Hurlbert, Ecology 52, 1971). k = n gives the number of distinct answers. Responses without
    an answer (None) take a place in the subset and are no answer.

    Raises:
        ValueError: k < 1 or k > n.
    """
    n = len(classes)
    if not 1 <= k <= n:
        raise ValueError(f"k must lie in 1..n, got k = {k} with n = {n}")
    subsets = comb(n, k)
    given = Counter(a for a in classes if a is not None).values()
    return sum((subsets - comb(n - m, k)) / subsets for m in given)


def diversity_curves(
    tables: Mapping[str, pd.DataFrame], ks: Sequence[int] | None = None
) -> tuple[pd.DataFrame, CommonProblems]:
    """One row a model and k: `model`, `k`, `distinct`, `low`, `high` (answers a problem; 95 %), `covers`.

    Args and Raises: as `evals.analysis.responses.pass_curves.pass_curves`.
    """
    import pandas as pd

    if ks is not None:
        check_ks(ks)
    same = alike(tables, None if ks is None else max(ks))
    rows = []
    for name, table in same.tables.items():
        answers = table.groupby(["train_seed", "problem_id"], sort=True)["answer_class"].agg(_classes).unstack()
        for k in ks or steps_to(same.k):
            matrix = np.array([[distinct_at_k(classes, k) for classes in seed] for seed in answers.to_numpy()])
            interval = over_problems_and_seeds(matrix, bounds=(0.0, float(k)))
            ends = (None, None, None) if interval is None else (interval.low, interval.high, interval.covers)
            rows.append((name, k, matrix.mean(), *ends))
    frame = pd.DataFrame(rows, columns=["model", "k", "distinct", "low", "high", "covers"])
    return frame.astype({"low": float, "high": float}), same


def _classes(column: pd.Series[int]) -> tuple[int | None, ...]:
    return tuple(int(a) if present else None for a, present in zip(column, column.notna(), strict=True))
