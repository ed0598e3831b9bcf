"""The 95 % intervals of what files say: of a score, and of its gain over a base model's."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from evals.audit.evidence import Evidence, Vector
from evals.audit.readings import pass_at_of_each
from evals.stats.intervals import MIN_SEEDS, Estimate, Interval, over_problems, over_seeds

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
        return f"{100 * self.value:+.1f} points [{low:.1f}, {high:.1f}], {self.over}"


def of_score(evidence: Evidence, scores: pd.Series, k: int = 1) -> Interval | None:
    """Of the last checkpoint: over seeds if there are enough, else over problems if their number is known.

    Args:
        scores: of the last checkpoints. k: they are pass@k, where there are samples.
    """
    values = scores.to_numpy(dtype=float)
    if len(values) >= MIN_SEEDS:
        return over_seeds(values)
    if evidence.samples is not None and k > 1:
        each = [pass_at_of_each(evidence.at(row), k) for _, row in evidence.last.iterrows()]
        return over_problems(pd.concat(each, axis=1).dropna().mean(axis=1).to_numpy())
    if evidence.samples is not None:
        means = per_problem(evidence, "label").to_numpy(dtype=float)
        return over_problems(means) if len(means) else None
    if evidence.problems is None:
        return None
    return over_problems(_whole_problems(float(values.mean()), evidence.problems))


def of_gain(evidence: Evidence, base: Evidence) -> Gain:
    """Over both sides' seeds (Welch's t) where both have several; problem by problem where both have verdicts; else the
    two scores' own intervals, combined as squares (Newcombe, Stat. Med. 17, 1998, method 10)."""
    trained, before = (side.last["value"].to_numpy(dtype=float) for side in (evidence, base))
    value = float(trained.mean() - before.mean())
    if len(trained) > 1 and len(before) > 1:
        interval = Estimate(value, (), (trained, before), None).interval()
        over = f"over {len(trained)} and {len(before)} seeds"
        return Gain(value, interval, over if interval else f"{over}, which are equal")
    if len(trained) == len(before) == 1 and evidence.samples is not None and base.samples is not None:
        gains = (per_problem(evidence, "label") - per_problem(base, "label")).dropna()
        if len(gains) > 1:
            interval = over_problems(gains.to_numpy(dtype=float), bounds=DIFFERENCES)
            return Gain(float(gains.mean()), interval, f"over the {len(gains)} problems of both")
    after, first = (of_score(side, side.last["value"]) for side in (evidence, base))
    if after is None or first is None:
        return Gain(value, None, "its interval needs problems=N, or several seeds of both")
    low = value - math.hypot(trained.mean() - after.low, first.high - before.mean())
    high = value + math.hypot(after.high - trained.mean(), before.mean() - first.low)
    covers = f"{after.covers} and {first.covers}" if after.covers != first.covers else after.covers
    return Gain(value, Interval(low, high, 0.95, covers), f"over {covers}, which these files do not pair")


def per_problem(evidence: Evidence, column: str) -> pd.Series:
    """The mean of a column over the samples (and seeds) of each problem, at the last checkpoints."""
    samples = pd.concat([evidence.at(row) for _, row in evidence.last.iterrows()])
    return samples.groupby("problem_id")[column].mean().dropna()


def _whole_problems(mean: float, problems: int) -> Vector:
    """Values of problems with this mean that vary as much as any: all solved or not but for one."""
    values: Vector = np.clip(mean * problems - np.arange(problems), 0, 1)
    return values
