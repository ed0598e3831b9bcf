"""How the entropies of tokens are distributed  (arXiv 2506.01939, Fig. 2a; arXiv 2603.28204, Fig. 1a)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from evals.analysis.tokens.forks import RHO, top_share
from evals.analysis.tokens.outcomes import outcomes
from evals.analysis.tokens.token_table import need_columns

if TYPE_CHECKING:
    import pandas as pd

QUANTILES = (0.5, 0.8, 0.9, 0.95, 0.99)


def shares(values: ArrayLike, edges: ArrayLike) -> pd.DataFrame:
    """The share of the values in each bin [from, to), the last one closed: `from`, `to`, `count`, `share`.

    Raises:
        ValueError: no values, or one outside the edges.
    """
    import pandas as pd

    held, ends = np.asarray(values, float), np.asarray(edges, float)
    if not len(held):
        raise ValueError("values: expected at least one")
    if not ((held >= ends[0]) & (held <= ends[-1])).all():
        raise ValueError(f"values: expected all of them from {ends[0]} to {ends[-1]}")
    counts = np.histogram(held, ends)[0]
    return pd.DataFrame({"from": ends[:-1], "to": ends[1:], "count": counts, "share": counts / len(held)})


def summary(table: pd.DataFrame, *, rho: float = RHO) -> pd.DataFrame:
    """A row an outcome that has tokens: `tokens`, `mean`, `q50`...`q99` (nats, over tokens), and `in_forks`: the share
    of all entropy that the share rho of highest-entropy tokens holds (NaN where all entropies are 0)."""
    import pandas as pd

    need_columns(table, ("entropy", "verdict"))
    rows = []
    for outcome, chosen in outcomes(table).items():
        values = table["entropy"][chosen].to_numpy()
        if not len(values):
            continue
        total = values.sum()
        in_forks = values[top_share(values, rho)].sum() / total if total > 0 else np.nan
        rows.append((outcome, len(values), values.mean(), *np.quantile(values, QUANTILES), in_forks))
    names = ["outcome", "tokens", "mean", *(f"q{round(100 * q):02d}" for q in QUANTILES), "in_forks"]
    return pd.DataFrame(rows, columns=names)
