"""The metrics of one problem, and the table of counts that they read, by training seed and problem.

The metrics are pure functions of a problem's verdicts. n is the number of scored samples of the problem, c the number
of correct ones, k the number of samples of a metric. A k-subset is k of the n samples without replacement, all subsets
equally likely. Every value is a fraction in 0..1. A benchmark's score is the mean over its problems
(`evals.stats.score`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.stats.counted import Counts, SeedCounts, counts_of_rows

Vector = NDArray[np.float64]


def pass_at_k(n: int, c: int, k: int) -> float:
    """pass@k: the probability that a k-subset contains a correct sample, 1 - C(n-c, k) / C(n, k).

    The unbiased estimate of Chen et al. (arXiv 2107.03374, Eq. 1; arXiv 2508.07534, Eq. 2). Computed in integers and
    rounded once, so it is exact to the last bit for any n.

    Raises:
        ValueError: k > n, k < 1, or c outside 0..n.
    """
    subsets = _subsets(n, c, k)
    return (subsets - comb(n - c, k)) / subsets


def unsolvable_at_k(n: int, c: int, k: int) -> float:
    """The probability that a k-subset contains no correct sample, C(n-c, k) / C(n, k) = 1 - pass@k.

    Summed over problems, the expected number of k-rollout unsolvable problems (arXiv 2508.07534, section 2.1); with
    n = k it is 0 or 1 per problem, and the sum is that paper's count.

    Raises:
        ValueError: k > n, k < 1, or c outside 0..n.
    """
    subsets = _subsets(n, c, k)
    return comb(n - c, k) / subsets


def g_pass_at_k(n: int, c: int, k: int, tau: float) -> float:
    """G-Pass@k_tau: the probability that at least ceil(tau * k) samples of a k-subset are correct.

    The upper tail of a hypergeometric distribution, sum over j >= ceil(tau * k) of C(c, j) C(n-c, k-j) / C(n, k) (Liu
    et al., arXiv 2412.13147). tau = 1 requires all k to be correct; tau <= 1/k is pass@k. `tau` is read as the written
    decimal, so that 0.1 of 30 is 3 and not, by rounding, 4.

    Raises:
        ValueError: tau outside (0, 1], k > n, k < 1, or c outside 0..n.
    """
    if not 0 < tau <= 1:
        raise ValueError(f"tau must lie in (0, 1], got {tau!r}")
    subsets = _subsets(n, c, k)
    least = ceil(Fraction(str(tau)) * k)
    return sum(comb(c, j) * comb(n - c, k - j) for j in range(least, min(c, k) + 1)) / subsets


@lru_cache(maxsize=65536)
def maj_of_votes(n: int, correct: int, rivals: tuple[int, ...], k: int) -> float:
    """maj@k: the probability that the most frequent answer of a k-subset is the correct one.

    Exact over all k-subsets. Where t incorrect answers tie with the correct one, it wins 1 / (1 + t) of the subset; a
    subset without answers is not correct.

    How: keep each sample by itself with probability k/n; given that k were kept, they are a uniform k-subset. The
    classes are then independent, each with a binomial number of votes, and the distribution of (incorrect classes that
    tie, samples kept) is a convolution over the classes, for each number of votes x of the correct class. All terms are
    probabilities, so nothing overflows or cancels for any n.

    Args:
        correct: votes for the correct answer. rivals: votes for each incorrect answer, sorted. Answers that are equal
            under the verifier are one class; a sample without an answer takes a place among the n but has no vote.
    Raises:
        ValueError: k > n or k < 1.
    """
    _check_k(n, k)
    if correct == 0:
        return 0.0
    if k == n:  # one subset
        most = max(rivals, default=0)
        return 0.0 if most > correct else 1 / (1 + rivals.count(correct))
    kept = _binomials(n, k)
    won = sum(
        kept[correct][x] * _share_won(x, list(rivals), n - correct, k, kept) for x in range(1, min(k, correct) + 1)
    )
    return min(1.0, float(won / kept[n][k]))


def _share_won(x: int, rivals: list[int], others: int, k: int, kept: list[Vector]) -> float:
    """The expected share won with x votes: sum over t of P(t rivals tie, none has more, k - x others kept) / (1 + t).

    `rivals` are the sizes of the incorrect classes; `others` counts every sample outside the correct class.
    """
    strong = [m for m in rivals if m >= x]  # a smaller class can neither tie nor win: only its number kept matters
    room = k - x
    pool = kept[others - sum(strong)][: room + 1]
    ways = np.zeros((1, room + 1))  # ways[t, j] = P(t rivals so far tie, j samples so far kept, no rival above x)
    ways[0, : len(pool)] = pool
    for m in strong:
        below, tie = kept[m][:x], kept[m][x]
        grown = np.zeros((len(ways) + (room >= x), room + 1))
        grown[: len(ways)] = _convolve_rows(ways, below)
        if room >= x:
            grown[1:, x:] += tie * ways[:, : room + 1 - x]
        ways = grown[: room // x + 1]  # more ties than that do not fit into the subset
    return float(np.sum(ways[:, room] / np.arange(1, len(ways) + 1)))


def _convolve_rows(rows: Vector, with_: Vector) -> Vector:
    """Each row convolved with one vector, cut to the row's length: [R, W] with [x] -> [R, W]."""
    height, width = rows.shape
    padded = np.zeros((height, width + len(with_) - 1))  # the zeros keep a row from running into the next
    padded[:, :width] = rows
    flat = np.convolve(padded.ravel(), with_)[: padded.size]
    return flat.reshape(padded.shape)[:, :width]


def _binomials(n: int, k: int) -> list[Vector]:
    """For m = 0..n, P(j of m samples kept) at k/n each: a vector over j = 0..m. The cache keeps few long ones: n = 2000
    has 16 MB."""
    return (_held if n <= 1000 else _few_held)(n, k)


def _kept(n: int, k: int) -> list[Vector]:
    """`_binomials` without a cache, each row from the previous one."""
    p = k / n
    rows = [np.ones(1)]
    for _ in range(n):
        rows.append(np.convolve(rows[-1], [1 - p, p]))
    return rows


_held, _few_held = lru_cache(maxsize=16)(_kept), lru_cache(maxsize=2)(_kept)


def _subsets(n: int, c: int, k: int) -> int:
    """C(n, k), after checking the three numbers."""
    _check_k(n, k)
    if not 0 <= c <= n:
        raise ValueError(f"c (correct samples) must lie in 0..n, got c = {c} with n = {n}")
    return comb(n, k)


def _check_k(n: int, k: int) -> None:
    if k < 1:
        raise ValueError(f"k must be at least 1, got k = {k}")
    if k > n:
        raise ValueError(f"k must not exceed the number of samples, got k = {k} with n = {n}")


METRICS = ("avg", "pass", "maj", "g_pass", "unsolvable", "fmt", "mean_tokens", "truncation_rate")
OF_K = ("pass", "maj", "g_pass", "unsolvable")  # one score per k (and tau); the others are one score in all

OF_VERDICTS = ("avg", "pass", "maj", "g_pass", "unsolvable")  # unscored samples change these

Matrix = NDArray[np.float64]


def check_request(metrics: Sequence[str], ks: Sequence[int]) -> None:
    """Raises ValueError for a metric that is not in METRICS, or a k below 1."""
    if unknown := [m for m in metrics if m not in METRICS]:
        raise ValueError(f"metric must be one of {', '.join(METRICS)}, got {unknown[0]!r}")
    if any(k < 1 for k in ks):
        raise ValueError(f"every k must be at least 1, got ks = {list(ks)}")


class VerdictTable:
    """The counted verdicts of one benchmark. Arrays are [S, P]: training seeds x problems, both sorted.

    Attributes:
        samples: how many verdicts there are. unscored: of these, without a verdict.
        generated, scored, correct: samples, scored ones, correct ones of each problem under each seed.
        n: samples of every problem under every seed; None if they differ (a problem that a seed lacks has 0).

    Raises:
        ValueError: there is no problem.
    """

    def __init__(self, seeds: Mapping[Any, SeedCounts]) -> None:
        self._counts = {seed: seeds[seed] for seed in sorted(seeds)}
        self.seeds = list(self._counts)
        self.problems = sorted({problem for counts in seeds.values() for problem in counts.problems})
        if not self.problems:
            raise ValueError("the verdict table has no rows")
        place = {problem: i for i, problem in enumerate(self.problems)}
        self._places = [np.array([place[p] for p in counts.problems]) for counts in self._counts.values()]
        self.generated, self.scored, self.correct = (
            self._placed(getattr(counts, name) for counts in self._counts.values())
            for name in ("generated", "scored", "correct")
        )
        self.samples = int(self.generated.sum())
        self.unscored = self.samples - int(self.scored.sum())
        sizes = np.unique(self.generated)
        self.n = int(sizes[0]) if len(sizes) == 1 else None

    @classmethod
    def of_rows(cls, rows: Any) -> VerdictTable:
        """The table of a pandas frame or Arrow table of verdicts, of all training seeds in its column `train_seed`.

        Raises:
            ValueError: no rows, a missing column, an unknown verdict, several benchmarks, or a sample that is there
                twice.
        """
        return cls(counts_of_rows(rows))

    def only(self, seeds: Collection[Any]) -> VerdictTable:
        """The table of some training seeds."""
        return VerdictTable({seed: counts for seed, counts in self._counts.items() if seed in seeds})

    @cached_property
    def golds(self) -> dict[str, str]:
        """The gold answer of each problem; {} where the rows had none."""
        with_golds = [counts for counts in self._counts.values() if counts.golds]
        return {p: gold for counts in with_golds for p, gold in zip(counts.problems, counts.golds, strict=True)}

    @cached_property
    def fingerprints(self) -> dict[Any, int]:
        """Training seed -> a number that equal samples share (`SeedCounts.fingerprint`)."""
        return {seed: counts.fingerprint for seed, counts in self._counts.items()}

    @cached_property
    def unscored_as_wrong(self) -> VerdictTable:
        """The same table with every unscored sample counted as incorrect."""
        return VerdictTable({s: replace(counts, scored=counts.generated) for s, counts in self._counts.items()})

    def values(self, metric: str, k: int | None = None, tau: float | None = None) -> Matrix:
        """One metric of every problem under every seed, [S, P]; NaN without a value (too few scored samples).

        Raises:
            ValueError: tau outside (0, 1], or verdicts that contradict the answer classes.
        """
        if metric == "avg":
            return _ratio(self.correct, self.scored)
        if metric == "fmt":
            boxed = self._placed(counts.boxed for counts in self._counts.values())
            return _ratio(boxed, self.generated)
        if metric == "mean_tokens":
            return self._ratio("lengths")
        if metric == "truncation_rate":
            return self._ratio("cut_off")
        if metric == "maj":
            return self._maj(k)
        if metric == "g_pass":
            if tau is None or not 0 < tau <= 1:
                raise ValueError(f"tau must lie in (0, 1], got {tau!r}")
            return self._of_counts(lambda n, c, at: g_pass_at_k(n, c, at, tau), k)
        return self._of_counts({"pass": pass_at_k, "unsolvable": unsolvable_at_k}[metric], k)

    def why_none(self, metric: str, k: int | None) -> str:
        """Why no problem has a value of this metric."""
        if metric == "mean_tokens":
            return "no problem has a response of known length in every training seed"
        if metric == "truncation_rate":
            return "no problem has a response with a known finish reason in every training seed"
        if metric == "avg":
            return f"no problem has a scored sample in every training seed; unscored samples: {self.unscored}"
        name = {"g_pass": "G-Pass"}.get(metric, metric)
        most = int(self.scored.max())
        if k is not None and most >= k:
            return f"{name}@{k}: no problem has k = {k} scored samples in every training seed"
        return f"{name}@{k} needs k = {k} scored samples of a problem, the most that one has is n = {most}"

    def _placed(self, rows: Iterable[NDArray[Any]]) -> NDArray[Any]:
        """[S, P] from an array [P] of each seed; 0 for the problems that a seed lacks."""
        arrays = list(rows)
        table = np.zeros((len(arrays), len(self.problems)), dtype=arrays[0].dtype)
        for row, places, array in zip(table, self._places, arrays, strict=True):
            row[places] = array
        return table

    def _ratio(self, name: str) -> Matrix:
        """Of a pair of `SeedCounts`: sums over how many values are known."""
        pairs = [getattr(counts, name) for counts in self._counts.values()]
        return _ratio(self._placed(sums for sums, _ in pairs), self._placed(counts for _, counts in pairs))

    def _of_counts(self, metric: Callable[[int, int, int], float], k: int | None) -> Matrix:
        """A metric of (n, c, k): computed once for each pair (n, c) that occurs."""
        result = np.full(self.scored.shape, np.nan)
        if k is None:
            return result
        pairs = np.stack([self.scored, self.correct], axis=-1).reshape(-1, 2)
        different, where = np.unique(pairs, axis=0, return_inverse=True)
        values = [metric(int(n), int(c), k) if n >= k else np.nan for n, c in different]
        return np.asarray(values, dtype=float)[where.reshape(-1)].reshape(result.shape)

    def _maj(self, k: int | None) -> Matrix:
        values = np.full(self.scored.size, np.nan)
        if k is None:
            return values.reshape(self.scored.shape)
        scored = self.scored.reshape(-1)
        for cell in np.flatnonzero(scored >= k):
            right, rivals = self._votes.get(int(cell), (0, ()))
            values[cell] = maj_of_votes(int(scored[cell]), right, rivals, k)
        return values.reshape(self.scored.shape)

    @cached_property
    def _votes(self) -> dict[int, tuple[int, tuple[int, ...]]]:
        """Cell (seed, problem) of the flat table -> (votes of the correct class, sorted votes of the other classes)."""
        for counts in self._counts.values():
            if counts.fault:
                raise ValueError(counts.fault)
        return {
            row * len(self.problems) + int(places[i]): votes
            for row, (counts, places) in enumerate(zip(self._counts.values(), self._places, strict=True))
            for i, votes in counts.votes.items()
        }


def complete(values: Matrix) -> NDArray[np.bool_]:
    """[P]: the problems with a value under every seed of [S, P]."""
    return np.asarray(~np.isnan(values).any(axis=0))


def _ratio(counts: Any, wholes: Counts) -> Matrix:
    return np.asarray(np.divide(counts, wholes, out=np.full(wholes.shape, np.nan), where=wholes > 0))
