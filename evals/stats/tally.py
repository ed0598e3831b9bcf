"""Counts of a verdict table whose rows come in parts: what is held grows with its different answers, not its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evals.grading.verdicts import Verdict
from evals.stats.verdict_rows import NEEDED, fingerprints_of

if TYPE_CHECKING:
    import pyarrow as pa

Sums = NDArray[np.float64]
Counts = NDArray[np.int64]
FIELDS = ("generated", "scored", "correct", "boxed", "tokens", "known", "stopped", "reasons")


@dataclass(frozen=True)
class SeedCounts:
    """A verdict table of one training seed, counted. Arrays are [P], in the order of `problems`, which are sorted.

    Attributes:
        lengths: (tokens, samples of known length). cut_off: (stopped by the length limit, known finish reasons).
        votes: of a problem, by its place: (of the correct class of answers, sorted ones of the others).
        golds: of each problem; none where they are not known.
        fingerprint: as `VerdictTable.fingerprints`.
    """

    problems: tuple[str, ...]
    generated: Counts
    scored: Counts
    correct: Counts
    boxed: Counts
    lengths: tuple[Sums, Counts]
    cut_off: tuple[Sums, Counts]
    votes: Mapping[int, tuple[int, tuple[int, ...]]]
    golds: tuple[str, ...] = ()
    fingerprint: int = 0


class Tally:
    """Counts rows of one training seed and one benchmark, a part at a time."""

    def __init__(self) -> None:
        self._place: dict[str, int] = {}  # of a problem, in the order of the rows
        self._numbers = np.zeros((len(FIELDS), 0))  # whole numbers, all below 2**53
        self._votes: dict[tuple[int, int], list[int]] = {}  # (problem, answer class) -> [scored samples, correct ones]
        self._golds: dict[int, str] = {}
        self._last: dict[int, int] = {}  # the last sample of each problem
        self._benchmarks: set[Any] = set()
        self._fingerprint = 0

    def add(self, rows: pa.RecordBatch) -> bool:
        """Count these rows; False where they are not plain: a column is not there or has holes, a verdict is unknown,
        there are two benchmarks, or the samples of a problem do not come in order (one may then be there twice)."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if len(rows) == 0:
            return True
        columns = dict(zip(rows.schema.names, rows.columns, strict=True))
        needed = [columns.get(name) for name in NEEDED]
        if any(c is None or (c.null_count and name != "answer_class") for name, c in zip(NEEDED, needed, strict=True)):
            return False
        self._benchmarks |= set(pc.unique(columns["benchmark"]).to_pylist()) if "benchmark" in columns else set()
        problem, problems = _coded(columns["problem_id"])
        verdict, verdicts = _coded(columns["verdict"])
        sample, boxed = (columns[name].to_numpy(zero_copy_only=False) for name in ("sample", "boxed"))
        places = np.array([self._place.setdefault(name, len(self._place)) for name in problems])
        problem_of = places[problem]
        if set(verdicts) - set(Verdict) or len(self._benchmarks) > 1 or not self._follow(problem_of, sample):
            return False
        scored, correct = (np.array([of(v) for v in verdicts])[verdict] for of in (_is_scored, _is_correct))
        nothing = pa.nulls(len(rows), pa.float64())
        tokens = columns.get("tokens", nothing).cast(pa.float64())
        answer = columns["answer_class"].cast(pa.float64())
        reason = columns.get("finish_reason", nothing).cast(pa.string())
        length = _filled(tokens)
        self._grow(len(self._place))
        weights = (
            None, scored, correct, boxed, np.where(length < 0, 0.0, length), _known(tokens),
            _filled(pc.equal(reason, "length").cast(pa.float64())) > 0, _known(reason),
        )  # fmt: skip
        for total, weight in zip(self._numbers, weights, strict=True):
            total += np.bincount(problem_of, weight, len(total))
        if not self._vote(problem_of, _filled(answer), _known(answer) & scored, correct):
            return False
        if "gold" in columns:
            golds = dict(zip(problem_of.tolist(), columns["gold"].to_pylist(), strict=True))
            self._golds |= golds
        numbers = (sample.astype(float), _filled(answer), length)
        of_rows = fingerprints_of(problems, problem, verdicts, verdict, *numbers)
        self._fingerprint = (self._fingerprint + int(of_rows.sum(dtype=np.uint64))) % 2**64
        return True

    def counts(self) -> SeedCounts | None:
        """Of all rows; None if there is none, or if the verdicts contradict the answer classes."""
        if not self._place:
            return None
        right: dict[int, int] = {}
        rivals: dict[int, list[int]] = {}
        for (problem, _), (size, correct) in self._votes.items():
            if not correct:
                rivals.setdefault(problem, []).append(size)
            elif correct < size or problem in right:
                return None
            else:
                right[problem] = size
        problems = sorted(self._place)
        order = [self._place[name] for name in problems]
        votes = {i: (right.get(p, 0), tuple(sorted(rivals.get(p, ())))) for i, p in enumerate(order)}
        of = dict(zip(FIELDS, self._numbers[:, order], strict=True))
        whole = {name: of[name].astype(np.int64) for name in FIELDS if name not in ("tokens", "stopped")}
        return SeedCounts(
            tuple(problems), whole["generated"], whole["scored"], whole["correct"], whole["boxed"],
            (of["tokens"], whole["known"]), (of["stopped"], whole["reasons"]), votes,
            tuple(self._golds[p] for p in order) if self._golds else (), self._fingerprint,
        )  # fmt: skip

    def _grow(self, problems: int) -> None:
        more = np.zeros((len(FIELDS), problems - self._numbers.shape[1]))
        self._numbers = np.hstack([self._numbers, more]) if more.size else self._numbers

    def _follow(self, problem: Counts, sample: Counts) -> bool:
        """Whether each problem's samples follow one another and those of earlier parts."""
        order = np.argsort(problem, kind="stable")
        problems, samples = problem[order], sample[order]
        new = np.flatnonzero(np.diff(problems, prepend=-1))  # where a problem begins
        rising = np.diff(samples) > 0
        rising[new[1:] - 1] = True
        begins = zip(problems[new].tolist(), samples[new].tolist(), strict=True)
        follow = bool(rising.all()) and all(p not in self._last or self._last[p] < s for p, s in begins)
        ends = np.append(new[1:], len(samples)) - 1
        self._last |= dict(zip(problems[ends].tolist(), samples[ends].tolist(), strict=True))
        return follow

    def _vote(self, problem: Counts, answer: Sums, named: NDArray[np.bool_], correct: NDArray[np.bool_]) -> bool:
        """Add the votes of the answers; False where a correct sample has no class."""
        pairs = np.stack([problem[named], answer[named].astype(np.int64)], axis=1)
        order = np.lexsort(pairs.T)
        pairs, right = pairs[order], correct[named][order]
        new = np.flatnonzero(np.diff(pairs, axis=0, prepend=-1).any(axis=1))
        sizes = np.diff(np.append(new, len(pairs)))
        rights = np.add.reduceat(right.astype(np.int64), new) if len(new) else sizes
        for (p, c), size, of_right in zip(pairs[new].tolist(), sizes.tolist(), rights.tolist(), strict=True):
            votes = self._votes.setdefault((p, c), [0, 0])
            votes[0] += size
            votes[1] += of_right
        return not bool((correct & ~named).any())


def _is_scored(verdict: str) -> bool:
    return verdict != Verdict.UNSCORED


def _is_correct(verdict: str) -> bool:
    return verdict == Verdict.CORRECT


def _coded(column: Any) -> tuple[Counts, list[str]]:
    """(the place of each value among the different ones, these)."""
    encoded = column.dictionary_encode()
    return encoded.indices.to_numpy(), encoded.dictionary.to_pylist()


def _filled(column: Any) -> Sums:
    """-1 where there is no value."""
    filled: Sums = column.fill_null(-1.0).to_numpy(zero_copy_only=False)
    return filled


def _known(column: Any) -> NDArray[np.bool_]:
    known: NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return known
