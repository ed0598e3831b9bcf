"""A/A test: a method against itself, in disjoint sets of training seeds. Every verdict is then false.

The verdict is that of a table of differences: avg on every benchmark, paired by problem, Holm over the benchmarks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from evals.errors import UsageError
from evals.stats.differences import holm, paired, word
from evals.stats.intervals import MIN_SEEDS

SIZES = (1, 3, 5, 10)
Sides = tuple[tuple[int, ...], tuple[int, ...]]  # the runs of either side


@dataclass(frozen=True)
class SplitRate:
    """Splits of the runs into two disjoint sides of `seeds` each.

    Attributes:
        splits: how many were tried. disjoint: how many of them can share no run at all.
        false: those with a verdict on some benchmark: about the method, or, with fewer than `MIN_SEEDS` seeds, about
            the checkpoints, which do differ. by_benchmark: those on each benchmark, corrected likewise.
        low, high: 95 % interval of the share of false verdicts, by the jackknife over runs. If none or all are false,
            or some run is in every split, Clopper and Pearson's for `disjoint` splits.
    """

    seeds: int
    splits: int
    disjoint: int
    false: int
    by_benchmark: Mapping[str, int]
    low: float
    high: float

    @property
    def about_method(self) -> bool:
        return self.seeds >= MIN_SEEDS


def aa(tables: Mapping[str, ArrayLike], *, sizes: Sequence[int] = SIZES, splits: int = 200) -> list[SplitRate]:
    """How often a method differs from itself, by the number of seeds on each side.

    Args:
        tables: benchmark -> [R, P], a value for each run and problem. The same runs in all.
        sizes: seeds a side. Those with 2 s > R are skipped.
        splits: approximate number for each size (all of them if there are fewer). Each random order of the runs is cut
            into as many disjoint pairs of sides as possible.
    Raises:
        UsageError: fewer than two runs, or the tables have different numbers of runs.
    """
    matrices = {name: np.asarray(table, dtype=float) for name, table in tables.items()}
    counts = {len(matrix) for matrix in matrices.values()}
    if len(counts) != 1:
        raise UsageError(f"A/A test: expected the same runs on all benchmarks, got {sorted(counts)} of them")
    if min(counts) < 2:
        raise UsageError(f"A/A test: expected two training seeds of the method at least, got {min(counts)}")
    (runs,) = counts
    rates = []
    for size in (size for size in sizes if 2 * size <= runs):
        pairs = _pairs(runs, size, splits, np.random.default_rng([0, size]))
        resolved = []  # one entry per split and benchmark
        for a, b in pairs:
            results = [paired(matrix[list(a)], matrix[list(b)]) for matrix in matrices.values()]
            adjusted = holm([result.p_value for result in results])
            words = [word(r.difference, p, None, r.seeds_covered) for r, p in zip(results, adjusted, strict=True)]
            resolved.append([verdict not in ("not resolved", "not known") for verdict in words])
        false = [any(row) for row in resolved]
        by_benchmark = {name: sum(row[i] for row in resolved) for i, name in enumerate(matrices)}
        disjoint = runs // (2 * size)
        low, high = _interval(false, pairs, runs, disjoint)
        rates.append(SplitRate(size, len(pairs), disjoint, sum(false), by_benchmark, low, high))
    return rates


def _pairs(runs: int, size: int, splits: int, rng: np.random.Generator) -> list[Sides]:
    """About `splits` pairs of disjoint sides."""
    if size == 1 and runs * (runs - 1) // 2 <= splits:
        return [((a,), (b,)) for a, b in combinations(range(runs), 2)]
    pairs: dict[Sides, None] = {}
    each = runs // (2 * size)
    for _ in range(math.ceil(splits / each)):
        order = rng.permutation(runs).tolist()
        for start in range(0, 2 * size * each, 2 * size):
            a, b = sorted(order[start : start + size]), sorted(order[start + size : start + 2 * size])
            pairs[min((tuple(a), tuple(b)), (tuple(b), tuple(a)))] = None
    return list(pairs)


def _interval(false: Sequence[bool], pairs: Sequence[Sides], runs: int, disjoint: int) -> tuple[float, float]:
    from scipy.stats import binomtest

    share = float(np.mean(false))
    without = [
        float(np.mean(kept))
        for run in range(runs)
        if (kept := [f for f, (a, b) in zip(false, pairs, strict=True) if run not in a and run not in b])
    ]
    if len(without) == runs and 0 < share < 1:
        error = math.sqrt((runs - 1) / runs * float(np.square(np.array(without) - np.mean(without)).sum()))
        return max(0.0, share - 1.959964 * error), min(1.0, share + 1.959964 * error)
    exact = binomtest(round(share * disjoint), disjoint).proportion_ci(0.95)
    return float(exact.low), float(exact.high)
