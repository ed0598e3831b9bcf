"""Token tables (`token_pass`): their responses, outcomes, and means over problems. Words for captions.

The papers average over all tokens at once (`pooled`). Tokens of one problem are not independent, so an interval needs
one value per problem: the mean over its tokens. `mean` averages these values. Each problem counts once, as everywhere
in `evals.stats.intervals`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evals.grading.verdicts import Verdict
from evals.stats.intervals import Bounds, over_problems

if TYPE_CHECKING:
    import pandas as pd

RESPONSE = ["problem_id", "sample"]  # the columns that identify a response
Bins = NDArray[np.int64]
Tables = Mapping[str, "pd.DataFrame"]  # name of a run -> its token table
Pairs = Mapping[str, "tuple[pd.DataFrame, pd.DataFrame]"]  # name -> the same responses, read before and after
BAND = "Intervals: 95 %, over problems (not over training seeds); none where one problem shows no spread."


def need_columns(table: pd.DataFrame, names: Sequence[str]) -> None:
    """
    Raises:
        ValueError: a column is missing.
    """
    if missing := [name for name in names if name not in table]:
        raise ValueError(f"token table: expected the columns {', '.join(names)}, lacks {', '.join(missing)}")


def whole_responses(table: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The rows of each response, by position.

    Raises:
        ValueError: a column is missing, or a response has missing or duplicate tokens.
    """
    need_columns(table, (*RESPONSE, "position", "length", "token"))
    for (problem, sample), rows in table.sort_values("position", kind="stable").groupby(RESPONSE, sort=False):
        lengths = rows["length"].to_numpy()
        if (lengths != lengths[0]).any() or not np.array_equal(rows["position"].to_numpy(), np.arange(lengths[0])):
            raise ValueError(
                f"token table, problem_id {problem!r}, sample {sample!r}: expected the positions 0 to {lengths[0] - 1}"
                ", each once"
            )
        yield rows


def by_response(table: pd.DataFrame, measure: Callable[[pd.DataFrame], Sequence[Any]]) -> pd.Series[Any]:
    """Apply a function of a whole response. One value per token, under the table's index.

    Raises:
        ValueError: the index has duplicates, or as `whole_responses`.
    """
    import pandas as pd

    if not table.index.is_unique:
        raise ValueError("token table: expected an index that names each row once. reset_index(drop=True) makes one")
    parts = [pd.Series(list(measure(rows)), rows.index, dtype=object) for rows in whole_responses(table)]
    joined = pd.concat(parts) if parts else pd.Series([], dtype=object)
    return joined.reindex(table.index)


def same_tokens(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """The rows of `after` in the order of `before`, indexed like it.

    Raises:
        ValueError: they are not the same tokens of the same responses, each once.
    """
    key = [*RESPONSE, "position"]
    for table in (before, after):
        need_columns(table, (*key, "token_id"))
        if table.duplicated(key).any():
            raise ValueError("token table: expected each token once")
    ordered = after.set_index(key).reindex(before.set_index(key).index).reset_index()
    ordered.index = before.index
    if len(before) != len(after) or not (ordered["token_id"] == before["token_id"]).all():
        raise ValueError("token tables: expected the same tokens of the same responses, read by two models")
    return ordered


def mean_of(values: ArrayLike, problems: ArrayLike, *, bounds: Bounds = None) -> dict[str, float]:
    """The mean of some values, over problems and over all at once.

    Args:
        values: [N], finite. problems: [N], the problem of each.
        bounds: the least and greatest possible value, see `evals.stats.intervals.over_problems`.
    Returns:
        `low`, `mean`, `high` (95 %, over problems, NaN if there is no value, and no interval for one problem or equal
        ones), `pooled` (the mean of all), `count` of values, `problems`.
    Raises:
        ValueError: another shape, or a value that is not finite.
    """
    import pandas as pd

    array = np.asarray(values, float)
    if array.ndim != 1 or array.shape != np.asarray(problems).shape:
        raise ValueError(f"values, problems: expected one of each for each other, got {array.shape} and "
                         f"{np.asarray(problems).shape}")  # fmt: skip
    if not np.isfinite(array).all():
        raise ValueError("values: expected finite numbers. Exclude what was not measured")
    means = pd.Series(array).groupby(np.asarray(problems).astype(str)).mean()
    interval = over_problems(means, bounds=bounds) if len(means) else None
    low, high = (np.nan, np.nan) if interval is None else (interval.low, interval.high)
    pooled = float(array.mean()) if len(array) else np.nan
    values_of = {"low": low, "mean": float(means.mean()), "high": high, "pooled": pooled}
    return {**values_of, "count": len(array), "problems": len(means)}


def by_bin(values: ArrayLike, bins: Bins, problems: ArrayLike, *, count: int, bounds: Bounds = None) -> pd.DataFrame:
    """One row per bin, 0 to count - 1: `bin`, and `mean_of` its values.

    Args:
        values: [N], finite. bins: [N], whole numbers from 0. problems: [N]. bounds: as of `mean_of`.
    """
    import pandas as pd

    values, problems = np.asarray(values, float), np.asarray(problems)
    inside = [bins == number for number in range(count)]
    return pd.DataFrame(
        [{"bin": n, **mean_of(values[chosen], problems[chosen], bounds=bounds)} for n, chosen in enumerate(inside)]
    )


ALL, CORRECT, INCORRECT = "all", "correct", "incorrect"
TITLES = {ALL: "all responses", CORRECT: "correct responses", INCORRECT: "incorrect responses"}


def outcomes(table: pd.DataFrame) -> dict[str, pd.Series]:
    """Outcome -> its rows: all. Those of correct responses. Those of wrong, unanswered and truncated responses.

    Unscored responses are only in "all", because it is not known whether they are correct.
    """
    verdict = table["verdict"]
    correct = verdict == Verdict.CORRECT
    return {ALL: verdict.notna(), CORRECT: correct, INCORRECT: ~correct & (verdict != Verdict.UNSCORED)}


def present(tables: Tables) -> dict[str, str]:
    """Those of correct and incorrect responses that occur, or else all, with their titles."""
    outcomes_measured = [o for o in (CORRECT, INCORRECT) if any(outcomes(table)[o].any() for table in tables.values())]
    return {outcome: TITLES[outcome] for outcome in outcomes_measured or [ALL]}


def position_bins(table: pd.DataFrame, count: int) -> Bins:
    """floor(count * position / length): the part of the response that a token lies in. [N], 0 to count - 1."""
    need_columns(table, ("position", "length"))
    position, length = (table[name].to_numpy(np.int64) for name in ("position", "length"))
    part: Bins = count * position // length
    return part


def rank_bins(values: ArrayLike, count: int) -> Bins:
    """`count` bins of (nearly) equal size, from the smallest values to the largest. Ties in their order. [N]."""
    array = np.asarray(values)
    ranks = np.empty(len(array), np.int64)
    ranks[np.argsort(array, kind="stable")] = np.arange(len(array))
    return ranks * count // max(1, len(array))


def perplexities(table: pd.DataFrame) -> pd.Series:
    """exp of minus the mean log-probability of each response's tokens, by (problem_id, sample)."""
    need_columns(table, (*RESPONSE, "logp"))
    perplexity: pd.Series = np.exp(-table.groupby(RESPONSE, sort=False)["logp"].mean())
    return perplexity


def perplexity_bins(table: pd.DataFrame, count: int) -> Bins:
    """The bin of each token's response: `rank_bins` of the responses by perplexity. [N]."""
    import pandas as pd

    values = perplexities(table)
    of_response = pd.Series(rank_bins(values.to_numpy(), count), index=values.index)
    return of_response.reindex(pd.MultiIndex.from_frame(table[RESPONSE])).to_numpy()


def counted(tables: Tables) -> str:
    """Problems, responses and tokens of each run, for a caption. Unscored responses as well."""
    parts, unscored = [], []
    for name, table in tables.items():
        responses = table.drop_duplicates(RESPONSE)
        parts.append(f"{name}: {table['problem_id'].nunique()}, {len(responses):,}, {len(table):,}")
        if missing := int((responses["verdict"] == Verdict.UNSCORED).sum()):
            unscored.append(f"{name}: {missing}")
    text = f"Problems, responses with a token, tokens: {'; '.join(parts)}."
    return text + (f" Unscored responses are in neither outcome ({'; '.join(unscored)})." if unscored else "")
