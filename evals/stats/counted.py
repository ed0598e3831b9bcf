"""Count verdicts, without keeping the rows of a long file in memory: all that a score is computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evals.files import file_sha256
from evals.grading.verdicts import Verdict
from evals.stats.verdict_rows import NEEDED, checked_rows

if TYPE_CHECKING:
    import pyarrow as pa

Counts = NDArray[np.int64]
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
        fault: how the verdicts contradict the answer classes, which then have no votes; "" if they do not.
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
    fault: str = ""


def counts_of_rows(rows: Any) -> dict[Any, SeedCounts]:
    """Training seed (column `train_seed`; 0 without it) -> its counts, of the rows of one benchmark in any order.

    Args:
        rows: a pandas frame or an Arrow table.
    Raises:
        ValueError: no rows, a missing column, an unknown verdict, several benchmarks, or a sample that is there twice.
    """
    import pyarrow as pa

    frame = checked_rows(rows).sort_values(["problem_id", "sample"], kind="stable")
    counts = {}
    for seed, of_seed in frame.groupby("train_seed"):
        kept = [name for name in COLUMNS if name in of_seed]
        table = pa.Table.from_pandas(of_seed[kept], preserve_index=False).combine_chunks()
        tally = Tally()
        for batch in table.to_batches():
            if not tally.add(batch):
                raise ValueError("the verdict table has a column with values of another kind than verdicts have")
        counts[seed] = tally.counts()
    return counts


def counted_file(path: Path, sha256: str | None = None) -> SeedCounts:
    """The counts of a verdict file of one training seed; files of equal content are read once in a process.

    Args:
        sha256: of the file, where it is known.
    Raises:
        ValueError: as `counts_of_rows`.
    """
    return _counted_file(_File(sha256 or file_sha256(path), path))


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
        rows = table.metadata.num_rows
    if plain and rows:
        return tally.counts()
    (counts,) = counts_of_rows(pq.read_table(file.path, columns=columns)).values()
    return counts


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
        self._unclassed: int | None = None  # a problem with a correct sample that has no answer class

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
        problem, problems = _coded(columns["problem_id"].cast(pa.string()))
        verdict, verdicts = _coded(columns["verdict"])
        sample, boxed = (columns[name].to_numpy(zero_copy_only=False) for name in ("sample", "boxed"))
        places = np.array([self._place.setdefault(name, len(self._place)) for name in problems])
        problem_of = places[problem]
        if set(verdicts) - set(Verdict) or len(self._benchmarks) > 1 or not self._follow(problem_of, sample):
            return False
        scored, correct = (np.array([holds(v) for v in verdicts])[verdict] for holds in (_is_scored, _is_correct))
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
        self._vote(problem_of, _filled(answer), _known(answer) & scored, correct)
        if "gold" in columns:
            golds = dict(zip(problem_of.tolist(), columns["gold"].to_pylist(), strict=True))
            self._golds |= golds
        numbers = (sample.astype(float), _filled(answer), length)
        of_rows = fingerprints_of(problems, problem, verdicts, verdict, *numbers)
        self._fingerprint = (self._fingerprint + int(of_rows.sum(dtype=np.uint64))) % 2**64
        return True

    def counts(self) -> SeedCounts:
        """Of all rows that were added; at least one."""
        problems = sorted(self._place)
        order = [self._place[name] for name in problems]
        votes, fault = self._votes_of({place: name for name, place in self._place.items()})
        columns = dict(zip(FIELDS, self._numbers[:, order], strict=True))
        whole = {name: columns[name].astype(np.int64) for name in FIELDS if name not in ("tokens", "stopped")}
        return SeedCounts(
            tuple(problems), whole["generated"], whole["scored"], whole["correct"], whole["boxed"],
            (columns["tokens"], whole["known"]), (columns["stopped"], whole["reasons"]),
            {} if fault else {i: votes[p] for i, p in enumerate(order)},
            tuple(self._golds[p] for p in order) if self._golds else (), self._fingerprint, fault,
        )  # fmt: skip

    def _votes_of(self, names: Mapping[int, str]) -> tuple[dict[int, tuple[int, tuple[int, ...]]], str]:
        """(problem's place -> (votes of the correct class, sorted votes of the others); a contradiction, or "")."""
        if self._unclassed is not None:
            return {}, f"problem {names[self._unclassed]!r}: a correct sample must have an answer class, got None"
        right: dict[int, tuple[int, int]] = {}  # problem -> (class, votes)
        rivals: dict[int, list[int]] = {}
        for (problem, answer), (size, correct) in sorted(self._votes.items()):
            if not correct:
                rivals.setdefault(problem, []).append(size)
            elif problem in right:
                classes = [right[problem][0], answer]
                return {}, f"problem {names[problem]!r}: one answer class may be correct, got {classes}"
            elif correct < size:
                where = f"problem {names[problem]!r}: answer class {answer}"
                return {}, f"{where} is correct in one sample and not in another"
            else:
                right[problem] = answer, size
        return {p: (right.get(p, (0, 0))[1], tuple(sorted(rivals.get(p, ())))) for p in names}, ""

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

    def _vote(self, problem: Counts, answer: Sums, named: NDArray[np.bool_], correct: NDArray[np.bool_]) -> None:
        """Add the votes of the answers."""
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
        lost = np.flatnonzero(correct & ~named)
        if len(lost) and self._unclassed is None:
            self._unclassed = int(problem[lost[0]])


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
    valid: NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return valid


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
