"""Two checkpoints read the same responses: what changed between them, token by token.

before, after = token_table(answers, base), token_table(answers, trained)
probability_change(before, after)     # arXiv 2508.07534, section 3.2.2
fork_overlap(before, after)           # arXiv 2506.01939, section 3
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evals.analysis.contrast import Side, measure_side
from evals.analysis.tokens.binned import by_bin, perplexity_bins, position_bins, rank_bins
from evals.analysis.tokens.forks import RHO, top_share
from evals.analysis.tokens.token_table import need_columns

if TYPE_CHECKING:
    import pandas as pd

BINS = {"entropy": 10, "perplexity": 5, "position": 10}


def same_tokens(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """The rows of `after` in the order of `before`, indexed like it.

    Raises:
        ValueError: they are not the same tokens of the same responses, each once.
    """
    key = ["problem_id", "sample", "position"]
    for table in (before, after):
        need_columns(table, (*key, "token_id"))
        if table.duplicated(key).any():
            raise ValueError("token table: expected each token once")
    ordered = after.set_index(key).reindex(before.set_index(key).index).reset_index()
    ordered.index = before.index
    if len(before) != len(after) or not (ordered["token_id"] == before["token_id"]).all():
        raise ValueError("token tables: expected the same tokens of the same responses, read by two models")
    return ordered


def probability_change(before: pd.DataFrame, after: pd.DataFrame) -> pd.Series:
    """p_after - p_before of each token, in [-1, 1]; indexed as `before`.

    Raises:
        ValueError: as `same_tokens`.
    """
    p_after, p_before = np.exp(same_tokens(before, after)["logp"]), np.exp(before["logp"])
    change: pd.Series = p_after - p_before
    return change


def concentration(before: pd.DataFrame, change: pd.Series, *, share: float = RHO) -> pd.DataFrame:
    """Where the largest probability changes are: by entropy, by the response's perplexity, by position.

    A token counts as changed if |change| is above 0 and among the `share` largest (ties all are). Were changes spread
    evenly, that share of the tokens of every bin would be changed.

    Args:
        before: entropies and perplexities are those before the change. change: `probability_change`.
    Returns:
        `by`, then `by_bin` of being changed (fractions), and `mean_change`: mean |change| of the bin's tokens. Bins are
        tenths of the tokens by entropy, fifths of the responses by perplexity, tenths of a response's length.
    """
    import pandas as pd

    size = change.abs().to_numpy()
    changed = top_share(size, share) & (size > 0)
    bins = {
        "entropy": rank_bins(before["entropy"], BINS["entropy"]),
        "perplexity": perplexity_bins(before, BINS["perplexity"]),
        "position": position_bins(before, BINS["position"]),
    }
    parts = []
    for by, numbers in bins.items():
        found = by_bin(changed, numbers, before["problem_id"], count=BINS[by], bounds=(0.0, 1.0))
        sizes = by_bin(size, numbers, before["problem_id"], count=BINS[by])
        found.insert(0, "by", by)
        parts.append(found.assign(mean_change=sizes["pooled"]))
    return pd.concat(parts, ignore_index=True)


def fork_overlap(before: pd.DataFrame, after: pd.DataFrame, *, rho: float = RHO) -> Side:
    """The share of the tokens of highest entropy before that are among those of highest entropy after.

    By chance it would be about rho. Forks are those of the whole table, one threshold for each model; the mean is over
    problems that have such tokens.

    Raises:
        ValueError: as `same_tokens`, or rho outside (0, 1].
    """
    kept = top_share(same_tokens(before, after)["entropy"], rho)
    forks = top_share(before["entropy"], rho)
    return measure_side(kept[forks], before["problem_id"].to_numpy()[forks], bounds=(0.0, 1.0))
