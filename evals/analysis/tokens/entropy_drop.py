"""The tokens whose entropy falls fastest in training, and whose responses they are of (arXiv 2508.07534, Fig. 3c).

"The bar chart shows the sample distribution of the top 20% tokens exhibiting the fastest entropy drop": those that
occur in wrong responses alone, in right ones alone, in both. How a token's drop was measured is not said. Here
checkpoints read the same responses, and a token of the vocabulary falls by the slope of the straight line through its
mean entropies over the steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from evals.analysis.tokens.checkpoints import same_tokens
from evals.analysis.tokens.forks import top_share
from evals.analysis.tokens.outcomes import NOT_RIGHT, RIGHT, outcomes

if TYPE_CHECKING:
    import pandas as pd

FASTEST = 0.2  # the paper's share
LEAST = 5  # ours: how often a token has to occur for its mean entropy to be taken
BOTH = "both"
PLACES = (RIGHT, NOT_RIGHT, BOTH)


def entropy_slopes(readings: Mapping[int, pd.DataFrame], *, minimum: int = LEAST) -> pd.DataFrame:
    """Every token of the vocabulary that occurs often enough, and how its entropy changes.

    Args:
        readings: step -> the token table of the same responses, read by the checkpoint of that step; two steps or more.
        minimum: occurrences in scored responses.
    Returns:
        token_id; token (one of its spellings); count; place ("right": in right responses alone, "not right", "both");
        slope (nats a step).
    Raises:
        ValueError: fewer than two steps, or as `same_tokens`.
    """
    import pandas as pd

    if len(readings) < 2:
        raise ValueError(f"readings: expected two steps or more, got {len(readings)}")
    steps = np.array(sorted(readings), float)
    first = readings[int(steps[0])]
    of = outcomes(first)
    scored = of[RIGHT] | of[NOT_RIGHT]
    ids = first["token_id"][scored]
    means = pd.DataFrame(
        {step: same_tokens(first, readings[int(step)])["entropy"][scored].groupby(ids).mean() for step in steps}
    )
    away = steps - steps.mean()
    found = pd.DataFrame({"slope": means.to_numpy() @ away / (away @ away)}, index=means.index)
    right = of[RIGHT][scored].groupby(ids).mean()
    found["place"] = np.select([right == 1, right == 0], [RIGHT, NOT_RIGHT], BOTH)
    found["count"], found["token"] = ids.groupby(ids).size(), first["token"][scored].groupby(ids).first()
    found = found[found["count"] >= minimum].rename_axis("token_id").reset_index()
    return found[["token_id", "token", "count", "place", "slope"]]


def fastest_drops(slopes: pd.DataFrame, *, share: float = FASTEST) -> pd.DataFrame:
    """Where the tokens of fastest drop occur, beside where all do.

    Args:
        slopes: `entropy_slopes`' frame. share: of the tokens, in (0, 1]; of equal slopes all or none.
    Returns:
        A row a place: place; tokens, fastest (how many); of_all, of_fastest (shares of them, fractions).
    Raises:
        ValueError: no token, or share outside (0, 1].
    """
    import pandas as pd

    fastest = top_share(-slopes["slope"].to_numpy(), share)
    rows = []
    for place in PLACES:
        inside = (slopes["place"] == place).to_numpy()
        both = int((inside & fastest).sum())
        rows.append((place, int(inside.sum()), both, inside.mean(), both / fastest.sum()))
    return pd.DataFrame(rows, columns=["place", "tokens", "fastest", "of_all", "of_fastest"])
