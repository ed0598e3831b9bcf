"""From a verdict table to numbers, each with its interval.

Every value is a fraction in 0..1, except the mean length, which is in tokens. A value that cannot be computed is None
and says why; it is never zero. An unscored sample is not a wrong one: it is left out of its problem's n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evals.intervals import Interval, Paired, over_problems_and_seeds, paired
from evals.metrics import avg_at_k, fmt, maj_at_k, pass_at_k, unsolvable_at_k
from evals.verdicts import Verdict

if TYPE_CHECKING:
    import pandas as pd

METRICS = ("avg", "pass", "maj", "unsolvable", "fmt", "mean_tokens", "truncation_rate")
_OF_K = ("pass", "maj", "unsolvable")  # one score per k; the others are one score in all


@dataclass(frozen=True)
class Score:
    """One metric on one table.

    `k` is None for metrics that have none, and for avg where the problems have different numbers of samples. `problems`
    have a value and `excluded` have none (too few scored samples, in any training seed). `samples` counts the rows of
    the table over all problems and seeds, `unscored` those of them without a verdict. `why` says why the value is None.
    """

    metric: str
    k: int | None
    value: float | None
    interval: Interval | None
    problems: int
    excluded: int
    samples: int
    unscored: int
    why: str | None = None

    @property
    def name(self) -> str:
        """For people: "avg@16", "pass@8", "fmt"."""
        base = self.metric.replace("_", " ")
        return base if self.k is None else f"{base}@{self.k}"

    @property
    def key(self) -> str:
        """For MLflow, which takes no "@": "avg_at_16", "pass_at_8", "fmt"."""
        return self.metric if self.k is None else f"{self.metric}_at_{self.k}"


@dataclass(frozen=True)
class Comparison:
    """One metric on two tables of the same problems: a minus b over the problems that have a value in both.

    `problems` are those, `excluded` the others. `result` is None where there are too few, and `why` says so.
    """

    metric: str
    k: int | None
    result: Paired | None
    problems: int
    excluded: int
    why: str | None = None


def score(rows: Any, *, ks: Sequence[int], metrics: Sequence[str] = ("avg", "pass", "maj", "fmt")) -> list[Score]:
    """The scores of one benchmark's verdict table, with 95 % intervals.

    Args:
        rows: a pandas DataFrame or pyarrow Table with the columns `problem_id`, `sample`, `verdict`, `answer_class`,
            `boxed` of `evals.verdicts.schema`; optionally `train_seed` (several training seeds: the value is the mean
            over them and the interval covers them), `tokens` and `finish_reason`.
        ks: the k of pass@k, maj@k and unsolvable@k, one score each.
        metrics: of METRICS, in the order wanted.
            avg: mean correctness of a problem's scored samples, named by the samples drawn per problem (n = 16 gives
                avg@16 whatever ks says; plain "avg" if the problems have different numbers).
            pass, maj, unsolvable: see `evals.metrics`; a problem with fewer than k scored samples has no value.
            fmt: share of responses with a box; mean_tokens: their length; truncation_rate: share of responses stopped
                by the length limit (`finish_reason` "length"). They need no verdict, so unscored samples count too;
                samples whose length or finish reason is unknown do not.

    Raises:
        ValueError: no rows, a missing column, an unknown metric or verdict, several benchmarks, a sample that is there
            twice, or verdicts that contradict the answer classes.
    """
    table = _Table(rows, metrics, ks)
    wanted = [(m, k) for m in metrics for k in (ks if m in _OF_K else (table.drawn if m == "avg" else None,))]
    return [_score(table, metric, k) for metric, k in wanted]


def compare(rows_a: Any, rows_b: Any, metric: str, k: int | None = None, *, seed: int = 0) -> Comparison:
    """The paired difference a - b of one metric over the problems of two tables (columns as for `score`).

    `k` is needed for pass, maj and unsolvable and unused otherwise; `seed` draws the permutations.

    Raises:
        ValueError: as `score`; or k is missing for a metric that needs it.
    """
    if metric in _OF_K and k is None:
        raise ValueError(f"metric {metric!r} needs a k, got None")
    ks = () if k is None else (k,)
    a, b = _Table(rows_a, (metric,), ks), _Table(rows_b, (metric,), ks)
    values_a, values_b = a.values(metric, k), b.values(metric, k)
    every = a.problems | b.problems
    common = sorted(_complete(values_a, a.seeds) & _complete(values_b, b.seeds))
    if metric == "avg":
        k = a.drawn if a.drawn == b.drawn else None
    excluded = len(every) - len(common)
    if not common:
        return Comparison(
            metric, k, None, 0, excluded, f"no problem has a value in both tables ({len(every)} problems)"
        )
    result = paired(
        _matrix(values_a, a.seeds, common), _matrix(values_b, b.seeds, common), seed, bounds=_bounds(metric)
    )
    return Comparison(metric, k, result, len(common), excluded)


Values = dict[tuple[Any, str], float]  # (training seed, problem) -> value; no entry where it cannot be computed


def _score(table: _Table, metric: str, k: int | None) -> Score:
    values = table.values(metric, k)
    kept = sorted(_complete(values, table.seeds))
    counts = (len(kept), len(table.problems) - len(kept), table.samples, table.unscored)
    if not kept:
        return Score(metric, k, None, None, *counts, why=table.why_none(metric, k))
    matrix = _matrix(values, table.seeds, kept)
    interval = over_problems_and_seeds(matrix, bounds=_bounds(metric))
    return Score(metric, k, float(matrix.mean()), interval, *counts)


def _complete(values: Values, seeds: Sequence[Any]) -> set[str]:
    """The problems with a value in every training seed."""
    return {p for s, p in values if s == seeds[0] and all((other, p) in values for other in seeds)}


def _matrix(values: Values, seeds: Sequence[Any], problems: Sequence[str]) -> NDArray[np.float64]:
    """[S, P]"""
    return np.array([[values[s, p] for p in problems] for s in seeds])


def _bounds(metric: str) -> tuple[float, float] | None:
    return None if metric == "mean_tokens" else (0.0, 1.0)


@dataclass
class _Samples:
    """What one problem's samples say under one training seed."""

    drawn: int = 0
    correct: list[bool] = field(default_factory=list)  # of the scored samples
    classes: list[int | None] = field(default_factory=list)  # of the scored samples
    boxed: list[bool] = field(default_factory=list)
    tokens: list[float] = field(default_factory=list)  # where known
    cut: list[bool] = field(default_factory=list)  # where the finish reason is known

    def add(self, verdict: str, answer_class: Any, boxed: Any, tokens: Any, finish_reason: Any) -> None:
        self.drawn += 1
        if verdict != Verdict.UNSCORED:
            self.correct.append(verdict == Verdict.CORRECT)
            self.classes.append(None if answer_class is None else int(answer_class))
        self.boxed.append(bool(boxed))
        if tokens is not None:
            self.tokens.append(float(tokens))
        if finish_reason is not None:
            self.cut.append(finish_reason == "length")


class _Table:
    """A checked verdict table, grouped by (training seed, problem)."""

    def __init__(self, rows: Any, metrics: Sequence[str], ks: Sequence[int]) -> None:
        if strange := [m for m in metrics if m not in METRICS]:
            raise ValueError(f"metric must be one of {', '.join(METRICS)}, got {strange[0]!r}")
        if any(k < 1 for k in ks):
            raise ValueError(f"every k must be at least 1, got ks = {list(ks)}")
        frame = _checked(rows)
        self.samples = len(frame)
        self.groups: dict[tuple[Any, str], _Samples] = {}
        for seed, problem, *sample in frame.itertuples(index=False, name=None):
            self.groups.setdefault((seed, problem), _Samples()).add(*sample)
        self.unscored = self.samples - sum(len(g.correct) for g in self.groups.values())
        self.seeds = sorted({seed for seed, _ in self.groups})
        self.problems = {problem for _, problem in self.groups}
        self.drawn = self._drawn()

    def _drawn(self) -> int | None:
        """The number of samples of every problem under every training seed; None if they differ."""
        sizes = {g.drawn for g in self.groups.values()}
        complete = len(self.groups) == len(self.seeds) * len(self.problems)
        return sizes.pop() if complete and len(sizes) == 1 else None

    def values(self, metric: str, k: int | None) -> Values:
        found: Values = {}
        for (seed, problem), samples in self.groups.items():
            try:
                value = _PER_PROBLEM[metric](samples, k)
            except ValueError as error:
                raise ValueError(f"problem {problem!r}: {error}") from error
            if value is not None:
                found[seed, problem] = value
        return found

    def why_none(self, metric: str, k: int | None) -> str:
        if metric == "mean_tokens":
            return "no problem has a response of known length in every training seed"
        if metric == "truncation_rate":
            return "no problem has a response with a known finish reason in every training seed"
        if metric == "avg":
            return f"no problem has a scored sample in every training seed; unscored samples: {self.unscored}"
        most = max(len(g.correct) for g in self.groups.values())
        if k is not None and most >= k:
            return f"{metric}@{k}: no problem has k = {k} scored samples in every training seed"
        return f"{metric}@{k} needs k = {k} scored samples of a problem, the most that one has is n = {most}"


_NEEDED = ("problem_id", "sample", "verdict", "answer_class", "boxed")
_OPTIONAL = {"train_seed": 0, "tokens": None, "finish_reason": None}
_READ = [
    "train_seed",
    "problem_id",
    "verdict",
    "answer_class",
    "boxed",
    "tokens",
    "finish_reason",
]  # as _Samples.add


def _checked(rows: Any) -> pd.DataFrame:
    """The columns _READ, nulls as None; or a ValueError that names what is wrong with the table."""
    frame: pd.DataFrame = rows.to_pandas() if hasattr(rows, "to_pandas") else rows
    if missing := [name for name in _NEEDED if name not in frame.columns]:
        raise ValueError(f"the verdict table lacks the column(s) {', '.join(missing)}")
    if len(frame) == 0:
        raise ValueError("the verdict table has no rows")
    if "benchmark" in frame.columns and frame["benchmark"].nunique() > 1:
        raise ValueError(f"score one benchmark at a time, got {', '.join(sorted(frame['benchmark'].unique()))}")
    if strange := set(frame["verdict"]) - set(Verdict):
        raise ValueError(f"verdict must be one of {', '.join(Verdict)}, got {', '.join(map(repr, strange))}")
    frame = frame.assign(**{name: value for name, value in _OPTIONAL.items() if name not in frame.columns})
    for name in ("train_seed", "problem_id", "sample", "boxed"):
        if frame[name].isna().any():
            raise ValueError(f"{name} must have a value in every row of the verdict table")
    key = ["train_seed", "problem_id", "sample"]
    twice = frame[frame.duplicated(key)]
    if len(twice):
        which = ", ".join(f"{name} {value}" for name, value in twice[key].iloc[0].items())
        raise ValueError(f"the verdict table holds the same sample twice: {which}")
    read = frame[_READ].astype(object)
    return read.where(read.notna(), None)


def _of_counts(metric: Callable[[int, int, int], float]) -> Callable[[_Samples, int | None], float | None]:
    """A metric of (n, c, k), read from samples; None where there are fewer than k scored ones."""

    def read(samples: _Samples, k: int | None) -> float | None:
        n = len(samples.correct)
        return metric(n, sum(samples.correct), k) if k is not None and n >= k else None

    return read


def _maj(samples: _Samples, k: int | None) -> float | None:
    if k is None or len(samples.correct) < k:
        return None
    return maj_at_k(samples.classes, samples.correct, k)


_PER_PROBLEM: dict[str, Callable[[_Samples, int | None], float | None]] = {
    "avg": lambda s, _: avg_at_k(s.correct) if s.correct else None,
    "pass": _of_counts(pass_at_k),
    "maj": _maj,
    "unsolvable": _of_counts(unsolvable_at_k),
    "fmt": lambda s, _: fmt(s.boxed),
    "mean_tokens": lambda s, _: fmean(s.tokens) if s.tokens else None,
    "truncation_rate": lambda s, _: fmean(s.cut) if s.cut else None,
}
