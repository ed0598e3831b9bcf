"""Do shared seeds (common random numbers) narrow a difference? Measured on the study's own runs.

A seed gives every arm the same prompts in the same order and the same first rollout. If this correlated the arms of a
seed, the difference of two arms would vary less over seeds than that of two independent runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evals.stats.intervals import Interval, over_seeds
from evals.stats.verdict_table import complete
from harness.tables.measured import Measured
from studies.tiny.design import Design
from studies.tiny.outcomes import Key

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Pairing:
    """How much shared seeds reduce the variance of a difference, in one family.

    `ratio` is the variance of a - b over shared seeds divided by the sum of the variances of a and b, pooled over the
    pairs: 1 if sharing seeds changes nothing, 0 if the arms move together. `interval`: 95 %, from pseudo-values of the
    jackknife over seeds.
    """

    scale: str
    pairs: int
    seeds: int
    ratio: float
    interval: Interval | None


def pairings(design: Design, arms: Mapping[Key, Measured]) -> list[Pairing]:
    """One for each family in which methods and their references share at least three seeds."""
    done = []
    for scale in design.families:
        pairs = [
            (arms[scale, arm.paper, arm.arm], arms[scale, arm.paper, arm.than])
            for arm in design.arms
            if arm.than and {(scale, arm.paper, arm.arm), (scale, arm.paper, arm.than)} <= set(arms)
        ]
        seeds = sorted(set.intersection(*(set(m.seeds) for pair in pairs for m in pair))) if pairs else []
        if len(seeds) >= 3:
            table = [(_means(a, seeds), _means(b, seeds)) for a, b in pairs]
            ratio, interval = pooled_ratio(table)
            done.append(Pairing(scale, len(pairs), len(seeds), ratio, interval))
    return done


def pooled_ratio(pairs: Sequence[tuple[Floats, Floats]]) -> tuple[float, Interval | None]:
    """The ratio of `Pairing` and its interval.

    Args:
        pairs: the scores of two arms, each of shape (seeds,), the same seeds in the same order.
    """
    a, b = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    n = a.shape[1]
    whole = _ratio(a, b)
    kept = [np.delete(np.arange(n), s) for s in range(n)]
    pseudo = [n * whole - (n - 1) * _ratio(a[:, k], b[:, k]) for k in kept]
    return whole, over_seeds(pseudo, bounds=None)


def _ratio(a: Floats, b: Floats) -> float:
    """The ratio, from scores of shape (pairs, seeds)."""
    return float((a - b).var(axis=1, ddof=1).sum() / (a.var(axis=1, ddof=1) + b.var(axis=1, ddof=1)).sum())


def _means(m: Measured, seeds: Sequence[int]) -> Floats:
    """The mean accuracy over the benchmarks, of each seed."""
    tables = [m.held(benchmark).values("avg", None) for benchmark in m.verdicts]
    by_seed = np.mean([table[:, complete(table)].mean(axis=1) for table in tables], axis=0)
    return np.array([by_seed[m.seeds.index(seed)] for seed in seeds])
