"""Token tables (`token_pass`): their responses, outcomes, and means over bins of tokens; words for captions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evals.analysis.contrast import measure_side
from evals.grading.verdicts import Verdict
from evals.stats.intervals import Bounds

if TYPE_CHECKING:
    import pandas as pd


def response_keys(table: pd.DataFrame) -> list[str]:
    """The columns that identify a response: training seed (if there are several), problem and sample."""
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
        ValueError: a column is missing, or a response has missing or duplicate tokens.
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
    """Apply a function of a whole response; one value per token, under the table's index.

    Raises:
        ValueError: the index has duplicates, or as `whole_responses`.
    """
    import pandas as pd

    if not table.index.is_unique:
        raise ValueError("token table: expected an index that names each row once; reset_index(drop=True) makes one")
    parts = [pd.Series(list(measure(rows)), rows.index, dtype=object) for rows in whole_responses(table)]
    joined = pd.concat(parts) if parts else pd.Series([], dtype=object)
    return joined.reindex(table.index)


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


def per_response(counts: pd.DataFrame) -> pd.DataFrame:
    """The mean of each column over problems, of a problem's mean over its responses.

    Args:
        counts: one row per response, the index its `response_keys`.
    Returns:
        One row per column of `counts`, as `what`: `mean` with `low` and `high` (95 %, over problems; NaN if there is no
        interval), `pooled` (over responses at once, as the papers count), and the numbers of `problems` and
        `responses`.
    """
    import pandas as pd

    problems, rows = counts.index.get_level_values("problem_id"), []
    for what in counts:
        side = measure_side(counts[what], problems)
        rows.append((what, side.mean, side.low, side.high, side.pooled, side.problems, side.count))
    return pd.DataFrame(rows, columns=["what", "mean", "low", "high", "pooled", "problems", "responses"])


ALL, CORRECT, INCORRECT = "all", "correct", "incorrect"


OUTCOMES = (ALL, CORRECT, INCORRECT)


def outcomes(table: pd.DataFrame) -> dict[str, pd.Series]:
    """Outcome -> its rows: all; those of correct responses; those of wrong, unanswered and truncated responses.

    Unscored responses are only in "all", because it is not known whether they are correct.
    """
    verdict = table["verdict"]
    correct = verdict == Verdict.CORRECT
    return {ALL: verdict.notna(), CORRECT: correct, INCORRECT: ~correct & (verdict != Verdict.UNSCORED)}


Bins = NDArray[np.int64]


def by_bin(values: ArrayLike, bins: Bins, problems: ArrayLike, *, count: int, bounds: Bounds = None) -> pd.DataFrame:
    """The mean of each bin, over problems (of each problem's mean in the bin).

    Args:
        values: [N], finite. bins: [N], whole numbers from 0. problems: [N]. count: of bins.
        bounds: the least and greatest possible value.
    Returns:
        One row per bin: `bin`; `mean`, `low`, `high` (95 %, over problems); `pooled`, the mean of its tokens; `tokens`,
        `problems`. NaN if a bin is empty or no spread is known.
    """
    import pandas as pd

    values, problems = np.asarray(values, float), np.asarray(problems)
    rows = []
    for number in range(count):
        inside = bins == number
        side = measure_side(values[inside], problems[inside], bounds=bounds)
        rows.append((number, side.mean, side.low, side.high, side.pooled, side.count, side.problems))
    return pd.DataFrame(rows, columns=["bin", "mean", "low", "high", "pooled", "tokens", "problems"])


def position_bins(table: pd.DataFrame, count: int) -> Bins:
    """floor(count * position / length): the part of the response that a token lies in. [N], 0 to count - 1."""
    need_columns(table, ("position", "length"))
    position, length = (table[name].to_numpy(np.int64) for name in ("position", "length"))
    part: Bins = count * position // length
    return part


def rank_bins(values: ArrayLike, count: int) -> Bins:
    """`count` bins of (nearly) equal size, from the smallest values to the largest; ties in their order. [N]."""
    array = np.asarray(values)
    ranks = np.empty(len(array), np.int64)
    ranks[np.argsort(array, kind="stable")] = np.arange(len(array))
    return ranks * count // max(1, len(array))


def perplexity_bins(table: pd.DataFrame, count: int) -> Bins:
    """The bin of each token's response: `rank_bins` of the responses by perplexity exp(-mean logp). [N]."""
    import pandas as pd

    values = perplexities(table)
    of_response = pd.Series(rank_bins(values.to_numpy(), count), index=values.index)
    keys = pd.MultiIndex.from_frame(table[["problem_id", "sample"]])
    return of_response.reindex(keys).to_numpy()


def perplexities(table: pd.DataFrame) -> pd.Series:
    """exp of minus the mean log-probability of each response's tokens, by (problem_id, sample)."""
    need_columns(table, ("problem_id", "sample", "logp"))
    means: pd.Series = table.groupby(["problem_id", "sample"], sort=False)["logp"].mean()
    return (-means).map(math.exp)


TITLES = {ALL: "all responses", CORRECT: "correct responses", INCORRECT: "incorrect responses"}
BAND = "Bands and bars: 95 % intervals over problems (not over training seeds); none where one problem shows no spread."
OVER_PROBLEMS = (
    "Means over problems of each problem's mean, with 95 % intervals over problems (training seeds are not covered), "
    "cut at the ends of the axis; no line: no interval. Responses of every verdict count."
)
Tables = Mapping[str, "pd.DataFrame"]  # name of a run -> its token table
Pairs = Mapping[str, "tuple[pd.DataFrame, pd.DataFrame]"]  # name -> the same responses, read before and after


def runs_with(names: Sequence[str], tables: Tables) -> list[str]:
    """The runs that have a table, in their order.

    Raises:
        ValueError: no table, one of an unknown run, or one without rows.
    """
    if strange := [name for name in tables if name not in names]:
        raise ValueError(f"token tables: expected those of {', '.join(names)}, got one of {strange[0]!r}")
    if empty := [name for name, table in tables.items() if table.empty]:
        raise ValueError(f"{empty[0]}: expected a token table with rows")
    if not tables:
        raise ValueError("token tables: expected at least one, got none")
    return [name for name in names if name in tables]


def counted(tables: Tables) -> str:
    """ "30 problems, 480 responses, 12,345 tokens (GRPO: 30, 480, 11,987)." for a caption; unscored ones as well."""
    parts, unscored = [], []
    for name, table in tables.items():
        responses = table.drop_duplicates(["problem_id", "sample"])
        parts.append(f"{name}: {table['problem_id'].nunique()}, {len(responses):,}, {len(table):,}")
        if missing := int((responses["verdict"] == "unscored").sum()):
            unscored.append(f"{name}: {missing}")
    text = f"Problems, responses with a token, tokens: {'; '.join(parts)}."
    return text + (f" Unscored responses are in neither outcome ({'; '.join(unscored)})." if unscored else "")


def describe_responses(tables: Tables, benchmark: str) -> str:
    """ "aime24: 30 problems, 480 responses of each run." for a caption."""
    counts = {}
    for name, table in tables.items():
        problems, answers = table["problem_id"].nunique(), table.groupby(response_keys(table)).ngroups
        counts[name] = f"{problems} {'problem' if problems == 1 else 'problems'}, {answers} responses"
    if len(set(counts.values())) == 1:
        return f"{benchmark}: {next(iter(counts.values()))}{' of each run' if len(counts) > 1 else ''}."
    return f"{benchmark}: {'; '.join(f'{name} {count}' for name, count in counts.items())}."


def present(tables: Tables) -> list[str]:
    """Those of correct and incorrect responses that occur."""
    return [o for o in (CORRECT, INCORRECT) if any(outcomes(table)[o].any() for table in tables.values())]
