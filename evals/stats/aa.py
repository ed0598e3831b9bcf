"""A/A test: a method against itself, in disjoint sets of training seeds. Every verdict is then false.

The verdict is that of a table of differences: avg on every benchmark, paired by problem, Holm over the benchmarks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evals.notebook import text_table
from evals.stats.differences import Paired, holm, paired, word
from evals.stats.intervals import MIN_SEEDS, Vector

SIZES = (1, 3, 5, 10)
Sides = tuple[tuple[int, ...], tuple[int, ...]]  # the runs of either side


@dataclass(frozen=True)
class SplitRate:
    """Splits of the runs into two disjoint sides of `seeds` each; `untrained`: some of the runs against an equal model
    without seeds.

    Attributes:
        splits: how many were tried. disjoint: how many of them can share no run at all.
        false: those with a verdict on some benchmark: about the method, or, with fewer than `MIN_SEEDS` seeds, about
            the checkpoints.
        by_benchmark: those on each benchmark, corrected likewise.
        low, high: 95 % interval of the share of false verdicts, by the jackknife over runs; if none or all are false,
            Clopper and Pearson's for `disjoint` splits.
    """

    seeds: int
    untrained: bool
    splits: int
    disjoint: int
    false: int
    by_benchmark: Mapping[str, int]
    low: float
    high: float

    @property
    def about_method(self) -> bool:
        """Whether the verdicts are about the method; else about checkpoints, which do differ."""
        return self.seeds >= MIN_SEEDS


@dataclass(frozen=True)
class AATest:
    """How often equal methods differ, by the number of seeds on each side. It prints itself."""

    rates: tuple[SplitRate, ...]

    @property
    def header(self) -> tuple[str, ...]:
        """Of the columns of `cells`."""
        return ("seeds", "against", "splits (at once disjoint)", "false", "share [95 %]", *self.rates[0].by_benchmark)

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """A row for each rate, as text."""
        return [
            (
                str(rate.seeds),
                "untrained" if rate.untrained else "itself" if rate.about_method else "itself, checkpoints",
                f"{rate.splits} ({rate.disjoint})",
                str(rate.false),
                f"{100 * rate.false / rate.splits:.1f} % [{100 * rate.low:.1f}, {100 * rate.high:.1f}]",
                *map(str, rate.by_benchmark.values()),
            )
            for rate in self.rates
        ]

    def as_json(self) -> list[dict[str, Any]]:
        """A dictionary for each rate."""
        return [asdict(rate) for rate in self.rates]

    def __str__(self) -> str:
        return text_table(self.header, self.cells, left=2)


def aa(tables: Mapping[str, ArrayLike], *, sizes: Sequence[int] = SIZES, splits: int = 200, seed: int = 0) -> AATest:
    """How often a method differs from itself, and from an untrained model that is equal to it.

    The untrained model is made of the same runs: with m the mean of the chosen s of R, o that of the others and
    c = sqrt(1 - s / R), it has m + c (o - m) on every problem. Where runs of variance v are independent, the difference
    c (m - o) has mean 0 and variance c^2 (v / s + v / (R - s)) = v / s: that of s runs against a model that has exactly
    the method's mean. One side has no seeds, so a skew of the seeds does not cancel.

    Args:
        tables: benchmark -> [R, P], a value for each run and problem; the same runs in all.
        sizes: seeds a side; those with 2 s > R are skipped.
        splits: approximate number for each size (all of them if there are fewer). Each random order of the runs is cut
            into as many disjoint sides as possible.
    Raises:
        ValueError: fewer than two runs, or the tables have different numbers of runs.
    """
    matrices = {name: np.asarray(table, dtype=float) for name, table in tables.items()}
    counts = {len(matrix) for matrix in matrices.values()}
    if len(counts) != 1 or min(counts) < 2:
        raise ValueError(f"A/A test: expected the same runs on all benchmarks, two at least, got {sorted(counts)}")
    (runs,) = counts
    fitting = [size for size in sizes if 2 * size <= runs]
    rates = []
    for size in fitting:
        pairs = _pairs(runs, size, splits, np.random.default_rng([seed, size]))
        rates.append(_rate(matrices, size, pairs, _compare, False, runs // (2 * size)))
    for size in fitting:
        if size >= MIN_SEEDS:
            pairs = _chosen(runs, size, splits, np.random.default_rng([seed, size, 1]))
            rates.append(_rate(matrices, size, pairs, _compare_untrained, True, runs // size))
    return AATest(tuple(rates))


def _rate(
    matrices: Mapping[str, Vector],
    size: int,
    pairs: Sequence[Sides],
    compare: Callable[[Vector, Sides], Paired],
    untrained: bool,
    disjoint: int,
) -> SplitRate:
    resolved = []  # of each split, for each benchmark
    for sides in pairs:
        results = [compare(matrix, sides) for matrix in matrices.values()]
        adjusted = holm([result.p_value for result in results])
        words = [word(r.difference, p, None, r.seeds_covered) for r, p in zip(results, adjusted, strict=True)]
        resolved.append([verdict not in ("not resolved", "not known") for verdict in words])
    false = [any(row) for row in resolved]
    by_benchmark = {name: sum(row[i] for row in resolved) for i, name in enumerate(matrices)}
    runs = len(next(iter(matrices.values())))
    counted = [(a, () if untrained else b) for a, b in pairs]  # the others enter as one mean
    low, high = _interval(false, counted, runs, disjoint)
    return SplitRate(size, untrained, len(pairs), disjoint, sum(false), by_benchmark, low, high)


def _compare(matrix: Vector, sides: Sides) -> Paired:
    a, b = sides
    return paired(matrix[list(a)], matrix[list(b)])


def _compare_untrained(matrix: Vector, sides: Sides) -> Paired:
    chosen, others = map(list, sides)
    mean, rest = matrix[chosen].mean(axis=0), matrix[others].mean(axis=0)
    share = math.sqrt(1 - len(chosen) / len(matrix))
    return paired(matrix[chosen], mean + share * (rest - mean), trained=(True, False))


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


def _chosen(runs: int, size: int, splits: int, rng: np.random.Generator) -> list[Sides]:
    """About `splits` choices of `size` runs, with the others."""
    chosen: dict[tuple[int, ...], None] = {}
    each = runs // size
    for _ in range(math.ceil(splits / each)):
        order = rng.permutation(runs).tolist()
        chosen.update(dict.fromkeys(tuple(sorted(order[i * size : (i + 1) * size])) for i in range(each)))
    return [(side, tuple(run for run in range(runs) if run not in side)) for side in chosen]


def _interval(counted: Sequence[bool], pairs: Sequence[Sides], runs: int, disjoint: int) -> tuple[float, float]:
    from scipy.stats import beta, norm

    share = float(np.mean(counted))
    without = [
        float(np.mean(kept))
        for run in range(runs)
        if (kept := [c for c, (a, b) in zip(counted, pairs, strict=True) if run not in a and run not in b])
    ]
    if len(without) == runs and 0 < share < 1:
        error = math.sqrt((runs - 1) / runs * float(np.square(np.array(without) - np.mean(without)).sum()))
        reach = float(norm.ppf(0.975)) * error
        return max(0.0, share - reach), min(1.0, share + reach)
    seen = round(share * disjoint)
    low = 0.0 if seen == 0 else float(beta.ppf(0.025, seen, disjoint - seen + 1))
    high = 1.0 if seen == disjoint else float(beta.ppf(0.975, seen + 1, disjoint - seen))
    return low, high
