"""The metrics of one problem, and the table of counts that they read, by training seed and problem.

The metrics are pure functions of a problem's verdicts. n is the number of scored samples of the problem, c the number
of correct ones, k the number of samples of a metric. A k-subset is k of the n samples without replacement, all subsets
equally likely. Every value is a fraction in 0..1. A benchmark's score is the mean over its problems
(`evals.stats.score`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property, lru_cache
from math import comb
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evals.errors import UsageError
from evals.stats.counted import counts_of_rows

if TYPE_CHECKING:
    import pandas as pd

Vector = NDArray[np.float64]


def pass_at_k(n: int, c: int, k: int) -> float:
    """pass@k: the probability that a k-subset contains a correct sample, 1 - C(n-c, k) / C(n, k).

    The unbiased estimate of Chen et al. (arXiv 2107.03374, Eq. 1, arXiv 2508.07534, Eq. 2). Computed in integers and
    rounded once, so it is exact to the last bit for any n.

    Raises:
        ValueError: k > n, k < 1, or c outside 0..n.
    """
    subsets = _subsets(n, c, k)
    return (subsets - comb(n - c, k)) / subsets


def unsolvable_at_k(n: int, c: int, k: int) -> float:
    """The probability that a k-subset contains no correct sample, C(n-c, k) / C(n, k) = 1 - pass@k.

    Summed over problems, the expected number of k-rollout unsolvable problems (arXiv 2508.07534, section 2.1). With
    n = k it is 0 or 1 per problem, and the sum is that paper's count.

    Raises:
        ValueError: k > n, k < 1, or c outside 0..n.
    """
    subsets = _subsets(n, c, k)
    return comb(n - c, k) / subsets


@lru_cache(maxsize=65536)
def maj_of_votes(n: int, correct: int, rivals: tuple[int, ...], k: int) -> float:
    """maj@k: the probability that the most frequent answer of a k-subset is the correct one.

    Exact over all k-subsets. Where t incorrect answers tie with the correct one, it wins 1 / (1 + t) of the subset. A
    subset without answers is not correct.

    How: keep each sample by itself with probability k/n. Given that k were kept, they are a uniform k-subset. The
    classes are then independent, each with a binomial number of votes, and the distribution of (incorrect classes that
    tie, samples kept) is a convolution over the classes, for each number of votes x of the correct class. All terms are
    probabilities, so nothing overflows or cancels for any n.

    Args:
        correct: votes for the correct answer. rivals: votes for each incorrect answer, sorted. Answers that are equal
            under the verifier are one class. A sample without an answer takes a place among the n but has no vote.
    Raises:
        ValueError: k > n or k < 1.
    """
    _check_k(n, k)
    if correct == 0:
        return 0.0
    if k == n:  # one subset
        most = max(rivals, default=0)
        return 0.0 if most > correct else 1 / (1 + rivals.count(correct))
    kept = _kept(n, k)
    won = sum(kept[correct][x] * _share_won(x, rivals, n - correct, k, kept) for x in range(1, min(k, correct) + 1))
    return min(1.0, float(won / kept[n][k]))


def _share_won(x: int, rivals: tuple[int, ...], outside: int, k: int, kept: Sequence[Vector]) -> float:
    """The expected share won with x votes: sum over t of P(t rivals tie, none has more, k - x others kept) / (1 + t).

    `rivals` are the sizes of the incorrect classes. `outside` counts every sample outside the correct class.
    """
    strong = [m for m in rivals if m >= x]  # a smaller class can neither tie nor win: only its number kept matters
    room = k - x
    pool = kept[outside - sum(strong)][: room + 1]
    if not strong:
        return float(pool[room]) if len(pool) > room else 0.0
    ways = np.zeros((1 + min(len(strong), room // x), room + 1))
    ways[0, : len(pool)] = pool  # ways[t, j] = P(t rivals so far tie, j samples so far kept, no rival above x)
    for m in strong:
        apart = np.zeros((len(ways), room + x))  # a row's tail of zeros keeps the rows apart in one convolution
        apart[:, : room + 1] = ways
        more = np.convolve(apart.ravel(), kept[m][: min(x, room + 1)])[: apart.size].reshape(apart.shape)[:, : room + 1]
        if room >= x:
            more[1:, x:] += kept[m][x] * ways[:-1, : room + 1 - x]
        ways = more
    return float(np.sum(ways[:, room] / np.arange(1, len(ways) + 1)))


@lru_cache(maxsize=4)  # n = 2000 has 16 MB
def _kept(n: int, k: int) -> list[Vector]:
    """For m = 0..n, P(j of m samples kept) at k/n each: a vector over j = 0..m."""
    p = k / n
    rows = [np.ones(1)]
    for _ in range(n):
        rows.append(np.convolve(rows[-1], [1 - p, p]))
    return rows


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


METRICS: Mapping[str, str] = {  # the one table of metrics: name -> what it is, in three words
    "avg": "mean of samples",
    "pass": "any of k",
    "maj": "majority of k",
    "unsolvable": "none of k",
    "fmt": "answer in box",
    "no_answer_rate": "ended without answer",
    "mean_tokens": "length in tokens",
    "truncation_rate": "cut at max_tokens",
}
REPORTED = tuple(metric for metric in METRICS if metric != "unsolvable")
"""What every evaluation records, and every command and page shows of it (`score.reported`)."""
COMPARED = ("avg", "pass", "maj")  # where no others are asked for
OF_K = ("pass", "maj", "unsolvable")  # one score per k. The others are one score in all

RATIOS = {  # numerator and denominator, of the columns of `counts_of_rows`
    "avg": ("correct", "scored"),
    "fmt": ("boxed", "replied"),
    "no_answer_rate": ("no_answer", "scored"),
    "mean_tokens": ("tokens", "known"),
    "truncation_rate": ("stopped", "reasons"),
}
OF_VERDICTS = ("avg", "pass", "maj", "unsolvable")  # unscored samples change these

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
        seeds, problems: their names.
        samples: how many verdicts there are. unscored: of these, without a verdict.
        generated, scored, correct: samples, scored ones, correct ones of each problem under each seed.
        n: samples of every problem under every seed, or None if they differ (a problem that a seed lacks has 0).
        counts: all that is known, by (seed, problem), see `counts_of_rows`.
        fingerprints: seed -> a number that equal samples share, in any order.
    """

    def __init__(self, counts: pd.DataFrame, fingerprints: Mapping[object, int], fault: str = "") -> None:
        """Args: as `counts_of_rows` returns them.

        Raises:
            ValueError: there is no problem.
        """
        if len(counts) == 0:
            raise ValueError("the verdict table has no rows")
        self.counts, self.fingerprints, self._fault = counts.sort_index(), dict(fingerprints), fault
        index = self.counts.index
        names = [index.unique(level).sort_values() for level in (0, 1)]
        self._places = tuple(name.get_indexer(index.get_level_values(level)) for level, name in enumerate(names))
        self.seeds, self.problems = (name.tolist() for name in names)
        self.generated, self.scored, self.correct = (
            self._by_seed(self.counts[name], 0).astype(int) for name in ("generated", "scored", "correct")
        )
        self._values: dict[tuple[str, int | None], Matrix] = {}  # a comparison asks for the same ones many times
        self.samples = int(self.generated.sum())
        self.unscored = self.samples - int(self.scored.sum())
        sizes = np.unique(self.generated)
        self.n = int(sizes[0]) if len(sizes) == 1 else None

    @classmethod
    def of_rows(cls, rows: object) -> VerdictTable:
        """The table of a pandas frame or Arrow table of verdicts, of all training seeds in its column `train_seed`.

        Raises:
            ValueError: as `counts_of_rows`.
        """
        return cls(*counts_of_rows(rows))

    def only(self, seeds: Collection[object]) -> VerdictTable:
        """The table of some training seeds."""
        kept = self.counts[self.counts.index.isin(seeds, level=0)]
        return VerdictTable(kept, {s: f for s, f in self.fingerprints.items() if s in seeds}, self._fault)

    @cached_property
    def _lists(self) -> dict[str, list[Any]]:
        """The columns of `counts`. A pandas column is slow to ask for many times."""
        return {str(name): self.counts[name].tolist() for name in self.counts}

    @cached_property
    def golds(self) -> dict[str, str]:
        """The gold answer of each problem, or {} where the rows had none."""
        golds = self.counts["gold"].dropna()
        return dict(zip(golds.index.get_level_values(1), golds, strict=True))

    @cached_property
    def unscored_as_wrong(self) -> VerdictTable:
        """The same table with every unscored sample counted as the most frequent incorrect answer of its problem."""
        unscored = (self.counts["generated"] - self.counts["scored"]).tolist()
        rivals = [
            (*votes[:-1], sum(votes[-1:]) + more) if more else votes
            for votes, more in zip(self._lists["rivals"], unscored, strict=True)
        ]
        return self._all_scored(rivals=self._column(rivals))

    @cached_property
    def unscored_as_right(self) -> VerdictTable:
        """The same table with every unscored sample counted as correct."""
        unscored = self.counts["generated"] - self.counts["scored"]
        return self._all_scored(**{name: self.counts[name] + unscored for name in ("correct", "right")})

    def _column(self, values: list[tuple[int, ...]]) -> pd.Series:
        import pandas as pd

        return pd.Series(values, self.counts.index, dtype=object)

    def _all_scored(self, **columns: pd.Series) -> VerdictTable:
        counts = self.counts.assign(scored=self.counts["generated"], **columns)
        return VerdictTable(counts, self.fingerprints, self._fault)

    def bounds(self, metric: str, k: int | None = None) -> tuple[float, float] | None:
        """The least and the greatest value of a metric of verdicts, whatever the unscored samples are: each problem
        with k samples has its value with all of them incorrect, and with all of them correct. None if no problem has
        the k samples.
        """
        known, wrong, right = (
            table.values(metric, k) for table in (self, self.unscored_as_wrong, self.unscored_as_right)
        )
        enough = complete(wrong)
        if not enough.any():
            return None
        low = np.fmin(known, np.minimum(wrong, right))[:, enough]  # NaN where there is no value, which fmin ignores
        high = np.fmax(known, np.maximum(wrong, right))[:, enough]
        return fmean(low.ravel()), fmean(high.ravel())

    def values(self, metric: str, k: int | None = None) -> Matrix:
        """One metric of every problem under every seed, [S, P], or NaN without a value: fewer than k scored samples.

        This holds also where the unscored samples cannot change the value. A correct and an unscored sample give
        pass@2 = 1, but an incorrect and an unscored one give no value, so a mean with the former is too high.

        Raises:
            UsageError: verdicts that contradict the answer classes.
        """
        if (metric, k) not in self._values:
            self._values[metric, k] = self._computed(metric, k)
        return self._values[metric, k].copy()

    def _computed(self, metric: str, k: int | None) -> Matrix:
        if metric == "maj" and self._fault:
            raise UsageError(self._fault)
        values: Any = np.nan
        if metric in RATIOS:
            part, whole = (self._lists[name] for name in RATIOS[metric])
            values = [a / b if b else np.nan for a, b in zip(part, whole, strict=True)]
        elif metric == "maj" and k:
            cells = zip(*(self._lists[name] for name in ("scored", "right", "rivals")), strict=True)
            values = [maj_of_votes(n, *votes, k) if n >= k else np.nan for n, *votes in cells]
        elif k:
            of_counts = {"pass": pass_at_k, "unsolvable": unsolvable_at_k}[metric]
            groups = list(zip(self._lists["scored"], self._lists["correct"], strict=True))
            values_by_group = {(n, c): of_counts(n, c, k) if n >= k else np.nan for n, c in set(groups)}
            values = [values_by_group[group] for group in groups]
        return self._by_seed(values, np.nan)

    def _by_seed(self, values: object, missing: float) -> Matrix:
        """[S, P] from a value for each row of `counts`."""
        matrix = np.full((len(self.seeds), len(self.problems)), missing)
        matrix[self._places] = values
        return matrix

    def why_none(self, metric: str, k: int | None) -> str:
        """Why no problem has a value of this metric."""
        everywhere = " in every training seed" if len(self.seeds) > 1 else ""
        if metric in RATIOS:
            needed = {
                "avg": f"a scored sample{everywhere}; unscored samples: {self.unscored}",
                "no_answer_rate": f"a scored sample{everywhere}; unscored samples: {self.unscored}",
                "mean_tokens": f"a response of known length{everywhere}",
                "truncation_rate": f"a response with a known finish reason{everywhere}",
                "fmt": f"a response{everywhere}; withheld by the server: {self.samples}",
            }
            return f"no problem has {needed[metric]}"
        most = int(self.scored.max())
        if k is not None and most >= k:
            return f"{metric}@{k}: no problem has k = {k} scored samples{everywhere}"
        return f"{metric}@{k} needs k = {k} scored samples of a problem, the most that one has is n = {most}"


def complete(values: Matrix) -> NDArray[np.bool_]:
    """[P]: the problems with a value under every seed of [S, P]."""
    return np.asarray(~np.isnan(values).any(axis=0))
