"""What analyses of a token table share: its responses, whole and in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


def response_keys(table: pd.DataFrame) -> list[str]:
    """The columns that name a response: training seed (where there are several), problem and sample."""
    return [name for name in ("train_seed", "problem_id", "sample") if name in table]


def need_columns(table: pd.DataFrame, names: Sequence[str], what: str = "token table") -> None:
    """
    Raises:
        ValueError: a column is missing.
    """
    missing = [name for name in names if name not in table]
    if missing:
        raise ValueError(f"{what}: expected the columns {', '.join(names)}, lacks {', '.join(missing)}")


def whole_responses(table: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The rows of each response, by position.

    Raises:
        ValueError: a column is missing, or a response lacks tokens or has one twice.
    """
    need_columns(table, ("problem_id", "sample", "position", "length", "token"))
    for key, rows in table.groupby(response_keys(table), sort=False):
        rows = rows.sort_values("position", kind="stable")
        length = rows["length"].iloc[0]
        if (rows["length"] != length).any() or not np.array_equal(rows["position"], np.arange(length)):
            named = ", ".join(f"{name} {value!r}" for name, value in zip(response_keys(table), key, strict=True))
            raise ValueError(f"token table, {named}: expected the positions 0 to {length - 1}, each once")
        yield rows


def by_response(table: pd.DataFrame, measure: Callable[[pd.DataFrame], Sequence[Any]]) -> pd.Series[Any]:
    """What a function of a whole response says of each of its tokens, under the table's index.

    Raises:
        ValueError: the index names a row twice, or as `whole_responses`.
    """
    import pandas as pd

    if not table.index.is_unique:
        raise ValueError("token table: expected an index that names each row once; reset_index(drop=True) makes one")
    parts = [pd.Series(list(measure(rows)), rows.index, dtype=object) for rows in whole_responses(table)]
    found = pd.concat(parts) if parts else pd.Series([], dtype=object)
    return found.reindex(table.index)
