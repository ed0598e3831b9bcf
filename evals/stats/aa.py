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

from evals.stats.differences import Paired, holm, paired, word
from evals.stats.intervals import Vector

SIZES = (1, 2, 3, 5, 10)


@dataclass(frozen=True)
class SplitRate:
    """Splits of the runs into two disjoint sides of `seeds` each.

    Attributes:
        splits: how many were tried. disjoint: how many of them can share no run at all.
        false: those with a verdict about the method (higher, lower) on some benchmark.
        checkpoints: those with a word about two checkpoints (with one seed a side there are no other words).
        by_benchmark: verdicts and words on each benchmark, corrected likewise.
        low, high: 95 % interval of the share of false verdicts (of words, for one seed), by the jackknife over runs;
            if none or all are false, Clopper and Pearson's for `disjoint` splits.
    """

    seeds: int
    splits: int
    disjoint: int
    false: int
    checkpoints: int
    by_benchmark: Mapping[str, int]
    low: float
    high: float


def aa_test(
    tables: Mapping[str, ArrayLike], *, sizes: Sequence[int] = SIZES, splits: int = 200, seed: int = 0
) -> list[SplitRate]:
    """How often equal methods differ, by the number of seeds on each side.

    Args:
        tables: benchmark -> [R, P], a value for each run and problem; the same runs in all.
        sizes: seeds a side; those with 2 s > R are skipped.
        splits: approximate number for each size (all of them if there are fewer). Each random order of the runs is cut
            into as many disjoint pairs of sides as possible.
    Raises:
        ValueError: fewer than two runs, or the tables have different numbers of runs.
    """
    matrices = {name: np.asarray(table, dtype=float) for name, table in tables.items()}
    counts = {len(matrix) for matrix in matrices.values()}
    if len(counts) != 1 or min(counts) < 2:
        raise ValueError(f"A/A test: expected the same runs on all benchmarks, two at least, got {sorted(counts)}")
    (runs,) = counts
    return [_rate(matrices, runs, size, splits, seed) for size in sizes if 2 * size <= runs]


def _rate(matrices: Mapping[str, Vector], runs: int, size: int, splits: int, seed: int) -> SplitRate:
    pairs = _pairs(runs, size, splits, np.random.default_rng([seed, size]))
    words = [_words(matrices, a, b) for a, b in pairs]
    wrong = [any(w in ("higher", "lower") for w in own.values()) for own in words]
    checkpoints = [any(w.startswith("checkpoint ") for w in own.values()) for own in words]
    by_benchmark = {name: sum(own[name] != "not resolved" for own in words) for name in matrices}
    counted = checkpoints if size == 1 else wrong
    low, high = _interval(counted, pairs, runs, runs // (2 * size))
    return SplitRate(size, len(pairs), runs // (2 * size), sum(wrong), sum(checkpoints), by_benchmark, low, high)


def untrained_test(
    tables: Mapping[str, ArrayLike], *, sizes: Sequence[int] = SIZES, splits: int = 200, seed: int = 0
) -> list[SplitRate]:
    """How often runs are called different from an equal untrained model: `aa_test` for a base model.

    The untrained model is made of the same runs: with m the mean of the chosen s of R, o that of the others and
    c = sqrt(1 - s / R), it has m + c (o - m) on every problem. Where runs of variance v are independent, the difference
    c (m - o) has mean 0 and variance c^2 (v / s + v / (R - s)) = v / s: that of s runs against a model that has exactly
    the method's mean.

    Args:
        tables, sizes, splits, seed: as for `aa_test`; sizes with 2 s > R, and one run, are skipped.
    """
    matrices = {name: np.asarray(table, dtype=float) for name, table in tables.items()}
    (runs,) = {len(matrix) for matrix in matrices.values()}
    rates = []
    for size in sizes:
        if size < 2 or 2 * size > runs:
            continue
        pairs = _chosen(runs, size, splits, np.random.default_rng([seed, size, 1]))
        words = [_words_untrained(matrices, list(chosen), list(others)) for chosen, others in pairs]
        false = [any(w in ("higher", "lower") for w in of.values()) for of in words]
        by_benchmark = {name: sum(of[name] in ("higher", "lower") for of in words) for name in matrices}
        sides = [(chosen, ()) for chosen, _ in pairs]  # the others enter as one mean
        low, high = _interval(false, sides, runs, runs // size)
        rates.append(SplitRate(size, len(pairs), runs // size, sum(false), 0, by_benchmark, low, high))
    return rates


Pair = tuple[tuple[int, ...], tuple[int, ...]]


def _pairs(runs: int, size: int, splits: int, rng: np.random.Generator) -> list[Pair]:
    if size == 1 and runs * (runs - 1) // 2 <= splits:
        return [((a,), (b,)) for a, b in combinations(range(runs), 2)]
    pairs: dict[Pair, None] = {}
    each = runs // (2 * size)
    for _ in range(math.ceil(splits / each)):
        order = rng.permutation(runs).tolist()
        for start in range(0, 2 * size * each, 2 * size):
            a, b = sorted(order[start : start + size]), sorted(order[start + size : start + 2 * size])
            pairs[min((tuple(a), tuple(b)), (tuple(b), tuple(a)))] = None
    return list(pairs)


def _chosen(runs: int, size: int, splits: int, rng: np.random.Generator) -> list[Pair]:
    """About `splits` choices of `size` runs, with the others."""
    chosen: dict[tuple[int, ...], None] = {}
    each = runs // size
    for _ in range(math.ceil(splits / each)):
        order = rng.permutation(runs).tolist()
        chosen.update(dict.fromkeys(tuple(sorted(order[i * size : (i + 1) * size])) for i in range(each)))
    return [(one, tuple(run for run in range(runs) if run not in one)) for one in chosen]


def _words_untrained(matrices: Mapping[str, Vector], chosen: list[int], others: list[int]) -> dict[str, str]:
    share = math.sqrt(1 - len(chosen) / (len(chosen) + len(others)))
    results = []
    for matrix in matrices.values():
        mean, rest = matrix[chosen].mean(axis=0), matrix[others].mean(axis=0)
        results.append(paired(matrix[chosen], mean + share * (rest - mean), trained=(True, False)))
    return _corrected(list(matrices), results)


def _words(matrices: Mapping[str, Vector], a: Sequence[int], b: Sequence[int]) -> dict[str, str]:
    return _corrected(list(matrices), [paired(matrix[list(a)], matrix[list(b)]) for matrix in matrices.values()])


def _corrected(names: Sequence[str], results: Sequence[Paired]) -> dict[str, str]:
    p_values = holm([result.p_value for result in results])
    return {
        name: word(result.difference, p, None, result.seeds_covered)
        for name, result, p in zip(names, results, p_values, strict=True)
    }


def _interval(counted: Sequence[bool], pairs: Sequence[Pair], runs: int, disjoint: int) -> tuple[float, float]:
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
