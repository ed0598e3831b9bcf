"""The 95 % intervals of what files say: of a score, and of its gain over a base model's."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from evals.audit.evidence import Evidence, Vector, pass_at_of_each
from evals.stats.differences import paired
from evals.stats.intervals import MIN_SEEDS, Estimate, Interval, estimate, over_problems, over_seeds

DIFFERENCES = (-1.0, 1.0)


@dataclass(frozen=True)
class Gain:
    """The score minus the base model's, as a share.

    Attributes:
        interval: None where neither seeds nor the number of problems are known.
        over: what the interval is about, for a sentence.
    """

    value: float
    interval: Interval | None
    over: str

    def __str__(self) -> str:
        if self.interval is None:
            return f"{100 * self.value:+.1f} points; {self.over}"
        low, high = 100 * self.interval.low, 100 * self.interval.high
        return f"{100 * self.value:+.1f} points {self.interval.mark}[{low:.1f}, {high:.1f}], {self.over}"


def of_score(evidence: Evidence, scores: pd.Series, k: int = 1) -> Interval | None:
    """The interval of the last checkpoint. With samples it is over their problems, and over the seeds too if there are
    enough, as a page of these runs has it. With curves it is over seeds if there are enough, else over problems if
    their number is known.

    Args:
        scores: of the last checkpoints. k: they are pass@k, where there are samples.
    """
    if evidence.samples is not None:
        table = _by_seed(evidence, k).to_numpy(dtype=float).T
        return estimate([table]).interval() if table.size else None
    values = scores.to_numpy(dtype=float)
    if len(values) >= MIN_SEEDS:
        return over_seeds(values)
    if evidence.problems is None:
        return None
    return over_problems(_whole_problems(float(values.mean()), evidence.problems))


def _by_seed(evidence: Evidence, k: int) -> pd.DataFrame:
    """A row a problem that every seed has, a column a seed: the mean label, or pass@k, at the last checkpoints."""
    seeds = [evidence.at(row) for _, row in evidence.last.iterrows()]
    return pd.concat([pass_at_of_each(samples, k) for samples in seeds], axis=1).dropna()


def of_gain(evidence: Evidence, base: Evidence, k: int = 1) -> Gain:
    """Problem by problem where both have verdicts, as `rlvr compare` has it, also over three seeds or more. Over
    both sides' seeds (Welch's t) where both have several scores, else the two scores' own intervals, combined as
    squares (Newcombe, Stat. Med. 17, 1998, method 10). With samples it is the gain in pass@`k`."""
    both = [side.scores_at(k).loc[side.last.index, "value"] for side in (evidence, base)]
    trained, before = (rates.to_numpy(dtype=float) for rates in both)
    value = float(trained.mean() - before.mean())
    if (sides := _on_the_same_problems(evidence, base, k=k)) is not None:
        of_both = paired(*sides, trained=(True, len(before) > 1))  # a single base model has no training seeds
        covers = f"the {sides[0].shape[1]} problems of both" + (" and the seeds" if of_both.seeds_covered else "")
        return Gain(of_both.difference, of_both.interval, f"over {covers}")
    if len(trained) > 1 and len(before) > 1:
        interval = Estimate(value, (), (trained, before), None).interval()
        over = f"over {len(trained)} and {len(before)} seeds"
        return Gain(value, interval, over if interval else f"{over}, which are equal")
    after, first = (of_score(side, rates, k) for side, rates in zip((evidence, base), both, strict=True))
    if after is None or first is None:
        return Gain(value, None, "its interval needs problems=N, or several seeds of both")
    low = value - math.hypot(trained.mean() - after.low, first.high - before.mean())
    high = value + math.hypot(after.high - trained.mean(), before.mean() - first.low)
    covers = f"{after.covers} and {first.covers}" if after.covers != first.covers else after.covers
    return Gain(value, Interval(low, high, 0.95, covers), f"over {covers}, which these files do not pair")


def _on_the_same_problems(*sides: Evidence, k: int) -> tuple[Vector, Vector] | None:
    """[S, P] of each side, at the last checkpoints: a row a seed, of the problems that all of them have. None without
    verdicts on two such problems."""
    tables = [_by_seed(side, k) for side in sides if side.samples is not None]
    if len(tables) < 2:
        return None
    shared = tables[0].index.intersection(tables[1].index)
    first, second = (table.loc[shared].to_numpy(dtype=float).T for table in tables)
    return (first, second) if len(shared) > 1 else None


def per_problem(evidence: Evidence, column: str) -> pd.Series:
    """The mean of a column over the samples (and seeds) of each problem, at the last checkpoints."""
    samples = pd.concat([evidence.at(row) for _, row in evidence.last.iterrows()])
    return samples.groupby("problem_id")[column].mean().dropna()


def _whole_problems(mean: float, problems: int) -> Vector:
    """Values of problems with this mean that vary as much as any: all solved or not but for one."""
    values: Vector = np.clip(mean * problems - np.arange(problems), 0, 1)
    return values
