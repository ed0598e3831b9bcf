"""The metrics of one problem: pure functions of its samples' verdicts.

n is the number of scored samples of the problem, c the number of correct ones, k the number of samples of a metric. A
k-subset is k of the n samples without replacement, all subsets equally likely. Every value is a
fraction in 0..1. A benchmark's score is the mean over its problems (`evals.stats.score`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, comb

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def avg_at_k(correct: Sequence[bool]) -> float:
    """avg@k: the share of the k samples that are correct; k is all of them.

    Raises:
        ValueError: there is no sample.
    """
    if len(correct) == 0:
        raise ValueError("avg@k needs at least one sample, got none")
    return sum(map(bool, correct)) / len(correct)


def pass_at_k(n: int, c: int, k: int) -> float:
    """pass@k: the probability that a k-subset holds a correct sample, 1 - C(n-c, k) / C(n, k).

    The unbiased estimate of Chen et al. (arXiv 2107.03374, Eq. 1; arXiv 2508.07534, Eq. 2). Computed in integers and
    rounded once, so it is exact to the last bit for any n.

    Raises:
        ValueError: k > n, k < 1, or c outside 0..n.
    """
    subsets = _subsets(n, c, k)
    return (subsets - comb(n - c, k)) / subsets


def unsolvable_at_k(n: int, c: int, k: int) -> float:
    """The probability that a k-subset holds no correct sample, C(n-c, k) / C(n, k) = 1 - pass@k.

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
    et al., arXiv 2412.13147). tau = 1 asks that all k are correct; tau <= 1/k is pass@k. `tau` is read as the decimal
    that is written, so that 0.1 of 30 is 3 and not, by rounding, 4.

    Raises:
        ValueError: tau outside (0, 1], k > n, k < 1, or c outside 0..n.
    """
    if not 0 < tau <= 1:
        raise ValueError(f"tau must lie in (0, 1], got {tau!r}")
    subsets = _subsets(n, c, k)
    least = ceil(Fraction(str(tau)) * k)
    return sum(comb(c, j) * comb(n - c, k - j) for j in range(least, min(c, k) + 1)) / subsets


def maj_at_k(classes: Sequence[int | None], correct: Sequence[bool], k: int) -> float:
    """maj@k: the probability that the most frequent answer of a k-subset is the correct one.

    Exact over all k-subsets. `classes[i]` is the class of sample i's answer (equal under the verifier = one class),
    None where it gave none: such a sample takes a place in the subset but has no vote. Where t incorrect classes tie
    with the correct one it wins 1 / (1 + t) of the subset; a subset without answers is not correct.

    How: keep each sample by itself with probability k/n; given that k were kept, they are a uniform k-subset. The
    classes are then independent, each with a binomial number of votes, and the distribution of (incorrect classes that
    tie, samples kept) is a convolution over the classes, for each number of votes x of the correct class. All terms are
    probabilities, so nothing overflows or cancels for any n.

    Raises:
        ValueError: k > n, k < 1, lengths differ, a correct sample without a class, a class that is correct in one
            sample and not in another, or two correct classes.
    """
    n = len(classes)
    if len(correct) != n:
        raise ValueError(f"classes and correct must have the same length, got {n} and {len(correct)}")
    _check_k(n, k)
    of_correct = _correct_class(classes, correct)
    if of_correct is None:
        return 0.0
    votes = Counter(a for a in classes if a is not None)
    correct_votes = votes.pop(of_correct)
    return maj_of_votes(n, correct_votes, tuple(sorted(votes.values())), k)


@lru_cache(maxsize=65536)
def maj_of_votes(n: int, correct: int, rivals: tuple[int, ...], k: int) -> float:
    """`maj_at_k` from counts: `correct` votes for the correct answer, `rivals` for the wrong ones, of n samples."""
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


def fmt(boxed: Sequence[bool]) -> float:
    r"""Fmt: the share of responses that hold a complete ``\boxed{...}`` (arXiv 2603.28204, section 5).

    Raises:
        ValueError: there is no response.
    """
    if len(boxed) == 0:
        raise ValueError("fmt needs at least one response, got none")
    return sum(map(bool, boxed)) / len(boxed)


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


@lru_cache(maxsize=16)
def _binomials(n: int, k: int) -> list[Vector]:
    """For m = 0..n, P(j of m samples kept) at k/n each: a vector over j = 0..m, each row from the one before."""
    p = k / n
    rows = [np.ones(1)]
    for _ in range(n):
        rows.append(np.convolve(rows[-1], [1 - p, p]))
    return rows


def _correct_class(classes: Sequence[int | None], correct: Sequence[bool]) -> int | None:
    """The one class that is correct, or None if none is."""
    if any(a is None and ok for a, ok in zip(classes, correct, strict=True)):
        raise ValueError("a correct sample must have an answer class, got None")
    solved = {a for a, ok in zip(classes, correct, strict=True) if ok}
    wrong = {a for a, ok in zip(classes, correct, strict=True) if not ok}
    if len(solved) > 1:
        raise ValueError(f"one answer class may be correct, got {sorted(solved, key=str)}")
    if solved & wrong:
        raise ValueError(f"answer class {solved.pop()} is correct in one sample and not in another")
    return solved.pop() if solved else None


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
