"""Shares, entropies and probability changes of the token categories (arXiv 2508.07534, section 3.2.2, Table 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evals.analysis.contrast import measure_side
from evals.analysis.tokens.token_table import need_columns
from evals.analysis.words.token_categories import CATEGORIES

if TYPE_CHECKING:
    import pandas as pd


def category_shares(table: pd.DataFrame, category: pd.Series) -> pd.DataFrame:
    """How much of the responses each category is, and how unsure the model is there.

    Args:
        table: a token table. category: of its rows (`evals.analysis.words.token_categories.categorise`).
    Returns:
        One row a category: `tokens`; `share` of all tokens (mean over problems) with `share_low`, `share_high` and
        `share_pooled` (over all tokens at once); `entropy` (nats, mean over the `problems` that have such tokens) with
        `entropy_low`, `entropy_high` and `entropy_pooled`. Intervals at 95 % over problems, NaN where there is none.
    """
    import pandas as pd

    need_columns(table, ("problem_id", "entropy"))
    problems, entropy = table["problem_id"].to_numpy(), table["entropy"].to_numpy()
    rows = []
    for name in CATEGORIES:
        held = (category == name).to_numpy()
        share = measure_side(held, problems, bounds=(0, 1))
        unsure = measure_side(entropy[held], problems[held])
        rows.append(
            {
                "category": name,
                "tokens": unsure.count,
                "share": share.mean,
                "share_low": share.low,
                "share_high": share.high,
                "share_pooled": share.pooled,
                "problems": unsure.problems,
                "entropy": unsure.mean,
                "entropy_low": unsure.low,
                "entropy_high": unsure.high,
                "entropy_pooled": unsure.pooled,
            }
        )
    return pd.DataFrame(rows)


def category_changes(change: pd.Series, category: pd.Series, *, top: float = 0.2) -> pd.DataFrame:
    """Where an update moved the probabilities of the tokens.

    The paper says that "among the top 20 % of tokens with the greatest probability updates" the categories have the
    "proportions" 0.039, 0.034, 0.033 and 0.031. These sum to 0.137, so they are neither the make-up of the top 20 %
    (`share_of_top`, sums to 1) nor the part of each category in it (`share_in_top`, 0.2 on average); they may be mean
    changes (`top_size`). All three are given.

    Args:
        change: p_after - p_before of each token, in [-1, 1]. category: of the same rows.
        top: which part of all tokens, those with the largest |change|, is the top; of equal ones the first.
    Returns:
        One row a category: `tokens`, `change` (mean), `size` (mean of |change|), `share_of_top`, `share_in_top`,
        `top_size` (mean of |change| in the top). NaN for the mean of nothing.
    Raises:
        ValueError: top outside (0, 1], different rows, no tokens, or a change that is no difference of probabilities.
    """
    import pandas as pd

    if not 0 < top <= 1:
        raise ValueError(f"top: expected a share in (0, 1], got {top}")
    if not change.index.equals(category.index) or change.empty:
        raise ValueError(f"change, category: expected the same rows, at least one; got {len(change)}, {len(category)}")
    values = change.to_numpy(float)
    if not (abs(values) <= 1 + 1e-9).all():  # NaN is caught as well
        raise ValueError("change: expected differences of probabilities, in [-1, 1]")
    in_top = np.zeros(len(values), bool)
    in_top[np.argsort(-abs(values), kind="stable")[: int(np.ceil(top * len(values)))]] = True
    rows = []
    for name in CATEGORIES:
        held = (category == name).to_numpy()
        rows.append(
            {
                "category": name,
                "tokens": int(held.sum()),
                "change": _mean(values[held]),
                "size": _mean(abs(values[held])),
                "share_of_top": float(held[in_top].mean()),
                "share_in_top": _mean(in_top[held]),
                "top_size": _mean(abs(values[held & in_top])),
            }
        )
    return pd.DataFrame(rows)


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")
