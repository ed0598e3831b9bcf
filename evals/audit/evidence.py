"""The evidence of files on one recipe and one benchmark: verdicts on samples, or only the scores of checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evals.data import benchmarks
from evals.errors import UsageError

Vector = NDArray[np.float64]
FULL = 8  # digits after the point: such a score is not rounded
SHARES = ("label", "ours", "strict", "truncated")
PARTS = ("level", "subject", "type", "difficulty", "category", "source")  # columns that cut a benchmark into parts
NOT_COLUMNS = frozenset(
    (
        *SHARES,
        "seed",
        "checkpoint",
        "problem_id",
        "problem",
        "answer",
        "exchange",
        "long",
        "silent",
        "in_words",
        "gold_cut",
    )
)
"""Columns of samples that have a meaning of their own; the others may name parts, or hold a reward."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Scores of one recipe on one benchmark, as files have them.

    Attributes:
        scores: a row a checkpoint: `seed`, `checkpoint` (an integer that grows with training), `value` in [0, 1].
        samples: a row a sample: `seed`, `checkpoint`, `problem_id`, `label` (the authors' verdict: 1, 0 or NaN), and
            where there are responses `ours` (our verdict on the answer, wherever it stands), `strict` (our verdict on
            an answer in a box only) and `truncated` (1 or 0). None where the files have scores only.
        problems: behind each score, or None if that is unknown.
        resolution: one of the last digit of the file's scores, as a share, 0 for scores computed from verdicts or
            with all their digits.
        settings: of the run, as its files state them. Compared with a declaration's.
        overwritten: points of a curve that a later row of their step replaced, with the columns of `scores` and
            `resumed` (a run logged them again, whose steps went back), or None without any.
        stated: the benchmark's number of problems, as the user or its known name says it, or None if neither does.
        names: checkpoint -> the name of its file, where it is no step of a training.
        recipes: each row of `scores` is another recipe (its `checkpoint` numbers it), and not a checkpoint of one.
        beside: scores by other metrics of the log's evaluations, such as best@16 beside mean@16: name -> a table like
            `scores`. family: those of them that are the same metric of other benchmarks.
        faults: known faults of the tool that wrote the files, which concern them.
        reward: the name of the score, if it is a reward while training, which no benchmark gives.
        untrained: the only scores are of step 0, and the training has later steps.
    """

    scores: pd.DataFrame = field(repr=False)
    samples: pd.DataFrame | None = field(default=None, repr=False)
    problems: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    resolution: float = 0.0
    overwritten: pd.DataFrame | None = field(default=None, repr=False)
    stated: int | None = None
    names: Mapping[int, str] = field(default_factory=dict)
    recipes: bool = False
    beside: Mapping[str, pd.DataFrame] = field(default_factory=dict, repr=False)
    family: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    reward: str = ""
    untrained: bool = False

    @classmethod
    def of_samples(
        cls, samples: pd.DataFrame, settings: Mapping[str, object] | None = None, problems: int | None = None
    ) -> Evidence:
        """Evidence from verdicts. `seed` and `checkpoint` may be absent: then all rows are of one checkpoint. Problems
        of two values of `benchmark` are different ones, whatever their ids.

        Args:
            problems: how many the benchmark has, where the file may lack some.

        Raises:
            UsageError: a column is missing, a value of `SHARES` is not in [0, 1], or no sample has a label.
        """
        missing = {"problem_id", "label"} - set(samples)
        if missing:
            raise UsageError(
                f"verdicts: expected the columns problem_id and label, missing {', '.join(sorted(missing))}"
            )
        table = samples.assign(
            seed=samples["seed"].astype(str) if "seed" in samples else "",
            checkpoint=samples.get("checkpoint", 0),
            problem_id=samples["problem_id"].astype(str),
        )
        if "benchmark" in table and table["benchmark"].nunique() > 1:
            table["problem_id"] = table["benchmark"].astype(str) + "/" + table["problem_id"]
        for name in set(SHARES) & set(table):
            table[name] = table[name].astype(float)
            if not table[name].dropna().between(0, 1).all():
                raise UsageError(f"verdicts: {name} has a value below 0 or above 1")
        per_problem = table.groupby(["seed", "checkpoint", "problem_id"], sort=True)["label"].mean().dropna()
        if per_problem.empty:
            raise UsageError("verdicts: no sample has a label")
        values = per_problem.groupby(level=["seed", "checkpoint"]).mean().rename("value").reset_index()
        return cls(values, table, table["problem_id"].nunique(), settings or {}, stated=problems)

    @classmethod
    def of_scores(
        cls, scores: pd.DataFrame, problems: int | None = None, settings: Mapping[str, object] | None = None
    ) -> Evidence:
        """Evidence from a curve: `checkpoint`, `value` in [0, 1], and `seed` if there are several.

        Raises:
            UsageError: a column is missing, there is no row, or a value is outside [0, 1].
        """
        missing = {"checkpoint", "value"} - set(scores)
        if missing or scores.empty:
            raise UsageError(
                f"scores: expected rows of checkpoint and value, missing {', '.join(sorted(missing)) or 'rows'}"
            )
        if not scores["value"].between(0, 1).all():
            raise UsageError(
                f"scores: expected values in [0, 1], got {scores['value'].min()} to {scores['value'].max()}"
            )
        seeds = scores["seed"].astype(str) if "seed" in scores else ""
        table = scores.assign(seed=seeds).sort_values(["seed", "checkpoint"]).reset_index(drop=True)
        return cls(table, None, problems, settings or {}, resolution_of(max(map(digits_of, table["value"]))))

    def whole_sizes(self, count: int) -> list[int]:
        """How many problems the benchmark may have where the files have `count`: the stated number, else those of the
        known benchmarks that are at most a quarter larger. None if a known benchmark has `count`: it is whole."""
        if self.stated is not None:
            return [self.stated] if self.stated > count else []
        sizes = {benchmarks.task(name)["metadata"]["rows"] for name in benchmarks.names()}
        return [] if count in sizes else sorted(size for size in sizes if size and count < size <= 1.25 * count)

    @cached_property
    def checkpoints(self) -> int:
        """Checkpoints that were evaluated, over all seeds."""
        return len(self.scores)

    @cached_property
    def seeds(self) -> int:
        """Training seeds."""
        return int(self.scores["seed"].nunique())

    @cached_property
    def last(self) -> pd.DataFrame:
        """The last checkpoint of each seed; of recipes, the one with the largest score."""
        if self.recipes:
            return self.scores.loc[[self.scores["value"].idxmax()]]
        return self.scores.loc[self.scores.groupby("seed")["checkpoint"].idxmax()]

    def called(self, row: pd.Series) -> str:
        """The name of a row of `scores` in a sentence: its checkpoint, by its file's name or step, and its seed."""
        several = len(self.scores) > self.seeds
        name = self.names.get(row["checkpoint"], f"checkpoint {row['checkpoint']:g}")
        parts = ([name] if several else []) + ([f"seed {row['seed']}"] if self.seeds > 1 else [])
        return ", ".join(parts) or "the file"

    def at(self, row: pd.Series) -> pd.DataFrame:
        """The samples of one checkpoint (a row of `scores`).

        Raises:
            UsageError: the files have scores only.
        """
        if self.samples is None:
            raise UsageError("these files have scores, not verdicts")
        samples = self.samples
        return pd.DataFrame(samples[(samples["seed"] == row["seed"]) & (samples["checkpoint"] == row["checkpoint"])])

    def scores_at(self, k: int) -> pd.DataFrame:
        """`scores` under pass@k. As they are, where there are no samples."""
        if k == 1 or self.samples is None:
            return self.scores
        return self.scores.assign(value=[pass_at(self.at(row), k) for _, row in self.scores.iterrows()])

    @cached_property
    def table(self) -> Vector | None:
        """[checkpoints, problems]: mean label of each problem, for the problems that every checkpoint has."""
        if self.samples is None:
            return None
        means = self.samples.groupby(["seed", "checkpoint", "problem_id"], sort=True)["label"].mean()
        return np.asarray(means.unstack().dropna(axis="columns"), dtype=float)

    @property
    def samples_in_score(self) -> int | None:
        """Samples behind each score, at least, or None if the number of problems is not known."""
        return None if self.problems is None else self.problems * self.samples_per_problem

    @cached_property
    def samples_per_problem(self) -> int:
        """The number of the checkpoint with the fewest."""
        if self.samples is None:
            return 1
        return int(self.samples.groupby(["seed", "checkpoint", "problem_id"]).size().min())


def resolution_of(digits: int) -> float:
    """One of the last digit of scores that have so many after the point. 0 where they are not rounded, as a file of
    zeros and ones alone."""
    return 10.0**-digits if 0 < digits < FULL else 0.0


def digits_of(number: float) -> int:
    """The digits after the point that a number is written with. The zero of 1.0 is none: many programs add it."""
    mantissa, _, exponent = str(number).lower().partition("e")
    digits = len(mantissa.partition(".")[2]) - int(exponent or 0)
    return 0 if digits == 1 and float(number).is_integer() else digits


def pass_at(samples: pd.DataFrame, k: int, column: str = "label") -> float:
    """pass@k, 1 - C(n - c, k) / C(n, k), mean over the problems with at least k samples, or NaN without one."""
    return float(pass_at_of_each(samples, k, column).mean())


def pass_at_of_each(samples: pd.DataFrame, k: int, column: str = "label") -> pd.Series:
    """pass@k of the problems with at least k verdicts in a column, by problem. k = 1: their mean."""
    from evals.stats.verdict_table import pass_at_k

    counts = samples.groupby("problem_id")[column].agg(["count", "sum"])
    counts = counts[counts["count"] >= k]
    if k == 1:
        return counts["sum"] / counts["count"]
    return pd.Series([pass_at_k(int(n), int(c), k) for n, c in counts.to_numpy()], counts.index, dtype=float)
