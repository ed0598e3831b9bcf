"""Forking tokens: those of highest entropy, and the words that they are  (arXiv 2506.01939, section 3, Fig. 2)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evals.analysis.tokens.token_table import need_columns

if TYPE_CHECKING:
    import pandas as pd

RHO = 0.2  # the paper's share
Mask = NDArray[np.bool_]


def threshold(values: ArrayLike, rho: float) -> float:
    """The least of the values at or above their interpolated (1 - rho) quantile.

    The same as that of the method `forking_tokens` (reproductions/forking_tokens).

    Raises:
        ValueError: rho outside (0, 1], no values, or one that is not finite.
    """
    held = np.sort(np.asarray(values, float))
    if not 0 < rho <= 1:
        raise ValueError(f"rho: expected in (0, 1], got {rho}")
    if not len(held) or not np.isfinite(held).all():
        raise ValueError("values: expected at least one, all finite")
    # 0.7 * 10 is 7.000000000000001 here and there: a rounding error must not skip a value
    return float(held[math.ceil((1 - rho) * (len(held) - 1) - 1e-9 * len(held))])


def top_share(values: ArrayLike, rho: float = RHO) -> Mask:
    """Which values are at or above the (1 - rho) quantile: the forks, if they are entropies. Ties all are. [N] -> [N].

    Without ties 1 + floor(rho (n - 1)) of n values are.

    Raises:
        ValueError: as `threshold`.
    """
    return np.asarray(values, float) >= threshold(values, rho)


def word_entropies(table: pd.DataFrame, *, rho: float = RHO, minimum: int = 1) -> pd.DataFrame:
    """The mean entropy of each word, a word being a token without the white space around it.

    Returns:
        One row a word that occurs at least `minimum` times: `word`, `count`, `forks` (how often it is among the share
        rho of highest entropy), `mean_entropy` (nats), the highest first (then the most frequent, then by the word).
        White space alone, or with signs that cannot be printed, is written as in Python ('\\n').
    Raises:
        ValueError: minimum < 1, or as `threshold`.
    """
    import pandas as pd

    need_columns(table, ("token", "entropy"))
    if minimum < 1:
        raise ValueError(f"minimum: expected at least 1, got {minimum}")
    stripped = [token.strip() or token for token in table["token"]]
    words = [word if word.isprintable() and not word.isspace() else repr(word) for word in stripped]
    frame = pd.DataFrame(
        {"word": words, "entropy": table["entropy"].to_numpy(), "fork": top_share(table["entropy"], rho)}
    )
    found = frame.groupby("word").agg(
        count=("entropy", "size"), forks=("fork", "sum"), mean_entropy=("entropy", "mean")
    )
    found = found[found["count"] >= minimum].reset_index()
    order = ["mean_entropy", "count", "word"]
    return found.sort_values(order, ascending=[False, False, True], ignore_index=True)
