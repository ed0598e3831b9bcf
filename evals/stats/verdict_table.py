"""A verdict table as the metrics read it: checked, and grouped by training seed and problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any

from evals.grading.verdicts import Verdict
from evals.stats.metrics import avg_at_k, fmt, g_pass_at_k, maj_at_k, pass_at_k, unsolvable_at_k

if TYPE_CHECKING:
    import pandas as pd

METRICS = ("avg", "pass", "maj", "g_pass", "unsolvable", "fmt", "mean_tokens", "truncation_rate")
OF_K = ("pass", "maj", "g_pass", "unsolvable")  # one score per k (and tau); the others are one score in all

Values = dict[tuple[Any, str], float]  # (training seed, problem) -> value; no entry where it cannot be computed


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


class VerdictTable:
    """A checked verdict table, grouped by (training seed, problem).

    `samples` counts its rows, `unscored` those without a verdict; `drawn` is the number of samples of every problem
    under every training seed, None if they differ.

    Raises:
        ValueError: no rows, a missing column, an unknown metric or verdict, several benchmarks, or a sample that is
            there twice.
    """

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
        sizes = {g.drawn for g in self.groups.values()}
        complete = len(self.groups) == len(self.seeds) * len(self.problems)
        return sizes.pop() if complete and len(sizes) == 1 else None

    def values(self, metric: str, k: int | None, tau: float | None) -> Values:
        """One metric of every problem that has one.

        Raises:
            ValueError: tau outside (0, 1], or verdicts that contradict the answer classes.
        """
        of = _PER_PROBLEM[metric] if metric != "g_pass" else _g_pass(tau)
        found: Values = {}
        for (seed, problem), samples in self.groups.items():
            try:
                value = of(samples, k)
            except ValueError as error:
                raise ValueError(f"problem {problem!r}: {error}") from error
            if value is not None:
                found[seed, problem] = value
        return found

    def why_none(self, metric: str, k: int | None) -> str:
        """Why no problem has a value of this metric."""
        if metric == "mean_tokens":
            return "no problem has a response of known length in every training seed"
        if metric == "truncation_rate":
            return "no problem has a response with a known finish reason in every training seed"
        if metric == "avg":
            return f"no problem has a scored sample in every training seed; unscored samples: {self.unscored}"
        name = {"g_pass": "G-Pass"}.get(metric, metric)
        most = max(len(g.correct) for g in self.groups.values())
        if k is not None and most >= k:
            return f"{name}@{k}: no problem has k = {k} scored samples in every training seed"
        return f"{name}@{k} needs k = {k} scored samples of a problem, the most that one has is n = {most}"


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


PerProblem = Callable[[_Samples, int | None], float | None]


def _of_counts(metric: Callable[[int, int, int], float]) -> PerProblem:
    """A metric of (n, c, k), read from samples; None where there are fewer than k scored ones."""

    def read(samples: _Samples, k: int | None) -> float | None:
        n = len(samples.correct)
        return metric(n, sum(samples.correct), k) if k is not None and n >= k else None

    return read


def _g_pass(tau: float | None) -> PerProblem:
    if tau is None or not 0 < tau <= 1:
        raise ValueError(f"tau must lie in (0, 1], got {tau!r}")
    return _of_counts(lambda n, c, k: g_pass_at_k(n, c, k, tau))


def _maj(samples: _Samples, k: int | None) -> float | None:
    if k is None or len(samples.correct) < k:
        return None
    return maj_at_k(samples.classes, samples.correct, k)


_PER_PROBLEM: dict[str, PerProblem] = {
    "avg": lambda s, _: avg_at_k(s.correct) if s.correct else None,
    "pass": _of_counts(pass_at_k),
    "maj": _maj,
    "unsolvable": _of_counts(unsolvable_at_k),
    "fmt": lambda s, _: fmt(s.boxed),
    "mean_tokens": lambda s, _: fmean(s.tokens) if s.tokens else None,
    "truncation_rate": lambda s, _: fmean(s.cut) if s.cut else None,
}
