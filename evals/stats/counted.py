"""Verdict tables of counts, for long verdict tables whose rows are not kept in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evals.files import file_sha256
from evals.grading.verdicts import Verdict
from evals.stats.verdict_rows import NEEDED
from evals.stats.verdict_table import Counts, Matrix, VerdictTable

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Sums = NDArray[np.float64]
Codes = NDArray[np.signedinteger[Any]]
FIELDS = ("generated", "scored", "correct", "boxed", "tokens", "known", "stopped", "reasons")
COLUMNS = (  # of a verdict file, those that are counted
    "benchmark", "problem_id", "sample", "gold", "verdict", "answer_class", "boxed", "tokens", "finish_reason",
)  # fmt: skip
ROWS = 65_536  # held at once


@dataclass(frozen=True)
class SeedCounts:
    """A verdict table of one training seed, counted. Arrays are [P], in the order of `problems`, which are sorted.

    Attributes:
        lengths: (tokens, samples of known length). cut_off: (stopped by the length limit, known finish reasons).
        votes: of a problem, by its place: (of the correct class of answers, sorted ones of the others).
        golds: of each problem; none where they are not known.
        fingerprint: a number that equal samples share, in any order: verdicts, answer classes and lengths.
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


@dataclass(slots=True)
class ProblemCounts:
    """The samples of one problem.

    `votes`: the scored samples of each class of incorrect answers.
    """

    generated: int = 0
    scored: int = 0
    correct: int = 0
    boxed: int = 0
    votes: list[int] = field(default_factory=list)


class CountedTable(VerdictTable):
    """The table of one benchmark, from the counts of each training seed.

    Raises:
        ValueError: no problem.
    """

    def __init__(self, seeds: Mapping[Any, SeedCounts]) -> None:
        self._of_seeds = {seed: seeds[seed] for seed in sorted(seeds)}
        self.seeds = list(self._of_seeds)
        self.problems = sorted({problem for one in seeds.values() for problem in one.problems})
        if not self.problems:
            raise ValueError("the verdict table has no rows")
        place = {problem: i for i, problem in enumerate(self.problems)}
        self._places = [np.array([place[p] for p in one.problems]) for one in self._of_seeds.values()]
        self.generated, self.scored, self.correct = (
            self._placed(getattr(one, name) for one in self._of_seeds.values())
            for name in ("generated", "scored", "correct")
        )
        self.samples = int(self.generated.sum())
        self.unscored = self.samples - int(self.scored.sum())
        sizes = np.unique(self.generated)
        self.n = int(sizes[0]) if len(sizes) == 1 else None

    def only(self, seeds: Collection[Any]) -> CountedTable:
        """The table of some training seeds."""
        return CountedTable({seed: one for seed, one in self._of_seeds.items() if seed in seeds})

    def _placed(self, rows: Iterable[NDArray[Any]]) -> NDArray[Any]:
        """[S, P] from an array [P] of each seed; 0 for the problems that a seed lacks."""
        arrays = list(rows)
        table = np.zeros((len(arrays), len(self.problems)), dtype=arrays[0].dtype)
        for row, places, array in zip(table, self._places, arrays, strict=True):
            row[places] = array
        return table

    @cached_property
    def golds(self) -> dict[str, str]:
        return {p: g for one in self._of_seeds.values() for p, g in zip(one.problems, one.golds, strict=True)}

    @cached_property
    def fingerprints(self) -> dict[Any, int]:
        return {seed: one.fingerprint for seed, one in self._of_seeds.items()}

    @cached_property
    def unscored_as_wrong(self) -> CountedTable:
        return CountedTable({seed: replace(one, scored=one.generated) for seed, one in self._of_seeds.items()})

    @cached_property
    def _boxed(self) -> Counts:
        return self._placed(one.boxed for one in self._of_seeds.values())

    @cached_property
    def _lengths(self) -> tuple[Matrix, Counts]:
        return self._pair("lengths")

    @cached_property
    def _cut_off(self) -> tuple[Matrix, Counts]:
        return self._pair("cut_off")

    def _pair(self, name: str) -> tuple[Matrix, Counts]:
        pairs = [getattr(one, name) for one in self._of_seeds.values()]
        return self._placed(sums for sums, _ in pairs), self._placed(known for _, known in pairs)

    @cached_property
    def _votes(self) -> dict[int, tuple[int, tuple[int, ...]]]:
        return {
            row * len(self.problems) + int(places[i]): votes
            for row, (one, places) in enumerate(zip(self._of_seeds.values(), self._places, strict=True))
            for i, votes in one.votes.items()
        }


def counts_of_problems(counts: Mapping[str, ProblemCounts]) -> SeedCounts:
    """One training seed from the counts of each problem; without golds, lengths and finish reasons."""
    problems = tuple(sorted(counts))
    of = [counts[problem] for problem in problems]

    def number(name: str) -> Counts:
        return np.array([getattr(one, name) for one in of], dtype=np.int64)

    nothing = np.zeros(len(of)), np.zeros(len(of), dtype=np.int64)
    votes = {i: (one.correct, tuple(sorted(one.votes))) for i, one in enumerate(of)}
    generated, scored, correct, boxed = (number(name) for name in ("generated", "scored", "correct", "boxed"))
    return SeedCounts(problems, generated, scored, correct, boxed, nothing, nothing, votes)


def counted_rows(rows: pd.DataFrame) -> CountedTable:
    """The table of one benchmark, of all training seeds in its column `train_seed` (0 without it).

    Raises:
        ValueError: as `VerdictTable`.
    """
    parts = rows.groupby("train_seed") if "train_seed" in rows else [(0, rows)]
    return CountedTable({seed: _of_table(VerdictTable(own)) for seed, own in parts})


def _of_table(table: VerdictTable) -> SeedCounts:
    """The counts of a table of one training seed."""
    golds = tuple(table.golds[p] for p in table.problems) if "gold" in table._frame else ()
    lengths, cut_off = ((sums[0], known[0]) for sums, known in (table._lengths, table._cut_off))
    return SeedCounts(
        tuple(table.problems), table.generated[0], table.scored[0], table.correct[0], table._boxed[0],
        lengths, cut_off, table._votes, golds, _fingerprint(table._frame),
    )  # fmt: skip


def _fingerprint(rows: pd.DataFrame) -> int:
    """The number of `SeedCounts.fingerprint`."""
    import pandas as pd

    (problem, problems), (verdict, verdicts) = (pd.factorize(rows[name]) for name in ("problem_id", "verdict"))
    numbers = (_numbers(rows[name]) for name in ("sample", "answer_class", "tokens"))
    return int(fingerprints_of(list(problems), problem, list(verdicts), verdict, *numbers).sum(dtype=np.uint64))


def counts_of_rows(rows: pd.DataFrame) -> SeedCounts:
    """The counts of the rows of one benchmark and training seed.

    Raises:
        ValueError: as `VerdictTable`.
    """
    return _of_table(VerdictTable(rows))


def counted_file(path: Path) -> SeedCounts:
    """The counts of a verdict file of one training seed; files of equal content are read once in a process.

    Raises:
        ValueError: as `VerdictTable`.
    """
    return _counted_file(_File(file_sha256(path), path))


@dataclass(frozen=True)
class _File:
    """Equal to another file of the same content."""

    sha256: str
    path: Path = field(compare=False)


@lru_cache(maxsize=4096)
def _counted_file(file: _File) -> SeedCounts:
    """Counted in parts if the samples of each problem come in order; else, and where something is wrong with them, as a
    table of all rows."""
    import pyarrow.parquet as pq

    tally = Tally()
    with pq.ParquetFile(file.path) as table:
        columns = [name for name in COLUMNS if name in table.schema_arrow.names]
        plain = all(tally.add(batch) for batch in table.iter_batches(ROWS, columns=columns))
    counts = tally.counts() if plain else None
    return counts or _of_table(VerdictTable(pq.read_table(file.path, columns=columns).to_pandas()))


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


def fingerprints_of(
    problems: Sequence[str], problem: Codes, verdicts: Sequence[str], verdict: Codes, *numbers: NDArray[np.float64]
) -> NDArray[np.uint64]:
    """A number for each row; the sum of several does not depend on their order.

    Args:
        problems, verdicts: the different ones. problem, verdict: of each row, its place among them.
        numbers: of each row: its sample, its answer class, its length; -1 where unknown.
    """
    mixed = _hashes(problems)[problem]
    with np.errstate(over="ignore"):
        for column in (_hashes(verdicts)[verdict], *(number.view(np.uint64) for number in numbers)):
            mixed = (mixed ^ column) * np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing
            mixed ^= mixed >> np.uint64(29)
            mixed *= np.uint64(0xBF58476D1CE4E5B9)
            mixed ^= mixed >> np.uint64(32)
    return mixed


def _hashes(names: Sequence[str]) -> NDArray[np.uint64]:
    return np.frombuffer(b"".join(blake2b(str(name).encode(), digest_size=8).digest() for name in names), np.uint64)


def _numbers(column: Any) -> Matrix:
    """-1 where there is no value."""
    return np.asarray(column.astype(float).fillna(-1.0), dtype=np.float64)
