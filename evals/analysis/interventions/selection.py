"""Which tokens of which responses an intervention changes: the most uncertain, the most certain, or random ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evals.analysis.tokens.token_table import need_columns, perplexities, whole_responses
from evals.sampling.engines.base import sample_seed
from evals.suggest import expected

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("top", "bottom", "random")


@dataclass(frozen=True)
class Selection:
    """Tokens of each response.

    Args:
        kind: "top" takes those of highest entropy, "bottom" those of lowest (ties: the earlier token first), "random"
            any, chosen by the seed.
        share: how many, as a share of the tokens that could be taken: rounded up, so at least one.
        count: how many at most, in the place of `share`.
        within: the stretch of the response they may lie in, relative positions position / length in [first, last).
        perplexity: the responses that count, by the quantile of their perplexity among all of the table: (0.8, 1) are
            the fifth with the highest.
    Raises:
        ValueError: an unknown kind; not exactly one of share in (0, 1] and count >= 1; or a range that is not one.
    """

    kind: str
    share: float | None = None
    count: int | None = None
    within: tuple[float, float] = (0.0, 1.0)
    perplexity: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind: got {self.kind!r}, {expected(self.kind, KINDS)}")
        if (self.share is None) == (self.count is None):
            raise ValueError(f"expected either share or count, got share={self.share} and count={self.count}")
        if self.share is not None and not 0 < self.share <= 1:
            raise ValueError(f"share={self.share}, expected a number in (0, 1]")
        if self.count is not None and self.count < 1:
            raise ValueError(f"count={self.count}, expected >= 1")
        for name in ("within", "perplexity"):
            low, high = getattr(self, name)
            if not 0 <= low < high <= 1:
                raise ValueError(f"{name}={(low, high)}, expected 0 <= first < last <= 1")


def select(table: pd.DataFrame, selection: Selection, *, seed: int = 0) -> pd.DataFrame:
    """The rows of a token table that a selection takes, response by response, in order of position.

    Args:
        table: needs problem_id, sample, position, length, token, entropy; and logp for a range of perplexity.
        seed: of "random"; with problem and sample it alone decides which tokens.
    Raises:
        ValueError: a column is missing, an entropy is not finite, a response is not whole, the table is of several
            training seeds (each is a model of its own), or nothing is left to take from.
    """
    import pandas as pd

    need_columns(table, ("problem_id", "sample", "position", "length", "token", "entropy"))
    if "train_seed" in table:
        raise ValueError("token table: expected that of one model, got one with a train_seed column")
    if not np.isfinite(table["entropy"]).all():
        raise ValueError("token table: expected a finite entropy for every token")
    parts = [_of_response(rows, selection, seed) for rows in whole_responses(_by_perplexity(table, selection))]
    if not any(len(part) for part in parts):
        raise ValueError(f"{selection}: no response has a token there")
    return pd.concat(parts, ignore_index=True)


def _by_perplexity(table: pd.DataFrame, selection: Selection) -> pd.DataFrame:
    if selection.perplexity == (0.0, 1.0):
        return table
    values = perplexities(table)
    low, high = np.quantile(values, selection.perplexity)
    kept = values.index[(values >= low) & (values <= high)]
    return table[table.set_index(["problem_id", "sample"]).index.isin(kept)]


def _of_response(rows: pd.DataFrame, selection: Selection, seed: int) -> pd.DataFrame:
    first, last = selection.within
    relative = rows["position"] / rows["length"]
    rows = rows[(relative >= first) & (relative < last)]
    wanted = math.ceil(selection.share * len(rows)) if selection.share is not None else selection.count
    if selection.kind == "random":
        key = (str(rows["problem_id"].iloc[0]), int(rows["sample"].iloc[0])) if len(rows) else ("", 0)
        generator = np.random.default_rng(sample_seed(seed, "selection", key))
        order = generator.permutation(len(rows))
    else:
        entropy = rows["entropy"].to_numpy()
        order = np.argsort(-entropy if selection.kind == "top" else entropy, kind="stable")
    return rows.iloc[np.sort(order[:wanted])]
