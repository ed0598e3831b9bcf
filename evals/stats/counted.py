"""A verdict table of counts: what a stream of verdicts leaves behind, whose rows are not held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from evals.stats.verdict_table import Counts, Matrix, VerdictTable


@dataclass(slots=True)
class ProblemCounts:
    """The samples of one problem.

    `votes`: of each class of answers that is not the correct one, its scored samples.
    """

    generated: int = 0
    scored: int = 0
    correct: int = 0
    boxed: int = 0
    votes: list[int] = field(default_factory=list)


class CountedTable(VerdictTable):
    """The table of one benchmark and one training seed, from the counts of each problem.

    It has avg, pass, maj, g_pass, unsolvable and fmt; the lengths and finish reasons of responses are not counted.

    Raises:
        ValueError: no problem.
    """

    def __init__(self, counts: Mapping[str, ProblemCounts]) -> None:
        if not counts:
            raise ValueError("the verdict table has no rows")
        self._counts = counts
        self.seeds = [0]
        self.problems = sorted(counts)
        of = [counts[problem] for problem in self.problems]
        self.generated, self.scored, self.correct, boxed = (
            np.array([[getattr(one, name) for one in of]]) for name in ("generated", "scored", "correct", "boxed")
        )
        self._boxed_counts = boxed
        self.samples = int(self.generated.sum())
        self.unscored = self.samples - int(self.scored.sum())
        sizes = np.unique(self.generated)
        self.n = int(sizes[0]) if len(sizes) == 1 else None

    def values(self, metric: str, k: int | None = None, tau: float | None = None) -> Matrix:
        if metric in ("mean_tokens", "truncation_rate"):
            raise ValueError(f"metric {metric!r} is not counted; expected a table of the verdicts")
        return super().values(metric, k, tau)

    @cached_property
    def unscored_as_wrong(self) -> CountedTable:
        return CountedTable(
            {
                problem: ProblemCounts(one.generated, one.generated, one.correct, one.boxed, one.votes)
                for problem, one in self._counts.items()
            }
        )

    @cached_property
    def _boxed(self) -> Counts:
        return self._boxed_counts

    @cached_property
    def _votes(self) -> dict[int, tuple[int, tuple[int, ...]]]:
        of = (self._counts[problem] for problem in self.problems)
        return {cell: (one.correct, tuple(sorted(one.votes))) for cell, one in enumerate(of)}
