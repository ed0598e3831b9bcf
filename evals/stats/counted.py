"""Verdict tables of counts, for long verdict tables whose rows are not kept in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evals.files import file_sha256
from evals.stats.tally import SeedCounts, Tally
from evals.stats.verdict_table import Counts, Matrix, VerdictTable

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (  # of a verdict file, those that are counted
    "benchmark", "problem_id", "sample", "gold", "verdict", "answer_class", "boxed", "tokens", "finish_reason",
)  # fmt: skip
ROWS = 65_536  # held at once


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
    [seed] = table.seeds
    golds = tuple(table.golds[p] for p in table.problems) if "gold" in table._frame else ()
    lengths, cut_off = ((sums[0], known[0]) for sums, known in (table._lengths, table._cut_off))
    return SeedCounts(
        tuple(table.problems), table.generated[0], table.scored[0], table.correct[0], table._boxed[0],
        lengths, cut_off, table._votes, golds, table.fingerprints[seed],
    )  # fmt: skip


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
