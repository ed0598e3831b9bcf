"""Read measured runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evals.notebook import Block, Tabular
from evals.stats.measured_run import MeasuredRun
from evals.stats.score import reported, score
from harness.errors import choose
from harness.record.find import seeds_of, together
from harness.record.run import Run as RecordedRun
from rlvr.metrics import Scores, ks_of

if TYPE_CHECKING:
    import pandas as pd

PathLike = str | os.PathLike[str]


@dataclass(frozen=True, repr=False)
class Run(Tabular):
    """The verdicts of one method, over one or several training seeds. A notebook shows the scores."""

    measured: MeasuredRun
    seeds: tuple[RecordedRun, ...]

    @property
    def name(self) -> str:
        return self.measured.name

    @property
    def benchmarks(self) -> list[str]:
        return list(self.measured.tables)

    def verdicts(self, benchmark: str) -> pd.DataFrame:
        """One row for each problem and sample. The columns of `evals.grading.verdicts.schema`.

        Raises:
            ValueError: the run was not measured on it.
        """
        choose("benchmark", [benchmark], self.benchmarks)
        import pandas as pd

        frames = [run.verdicts(benchmark) for run in self.seeds]
        if len(frames) > 1:
            frames = [frame.assign(train_seed=number) for number, frame in enumerate(frames)]
        return pd.concat(frames, ignore_index=True)

    def scores(self, ks: Sequence[int] | None = None, metrics: Sequence[str] | None = None) -> Scores:
        """Scores of every benchmark with 95 % intervals. By default those that `rlvr show` prints.

        Args:
            ks: for pass, maj and unsolvable, which have no score without one. None: the protocol's.
            metrics: of avg, pass, maj, unsolvable, fmt, no_answer_rate, mean_tokens, truncation_rate.
        Raises:
            ValueError: an unknown metric, or k < 1.
        """
        rows = []
        for name, table in self.measured.tables.items():
            used = ks_of(self.seeds[0], name, table) if ks is None else ks
            benchmark_scores = reported(table, used, self.seeds[0].policy(name))
            rows += [
                (name, s) for s in (benchmark_scores if metrics is None else score(table, ks=used, metrics=metrics))
            ]
        return Scores(rows)

    def rows(self) -> Sequence[Mapping[str, object]]:
        return self.scores().rows()

    def blocks(self) -> list[Block]:
        policies = [f"{b}: policy {policy}" for b in self.benchmarks if (policy := self.seeds[0].policy(b))]
        return [self.name, *policies, *self.scores().blocks()]


def read_run(*sources: PathLike, name: str | None = None) -> Run:
    """Read a run's verdicts.

    Args:
        sources: the folder of a job or of an evaluation, or a file of verdicts (as `rlvr.grade(out=...)` writes).
            One for each training seed of the method.
        name: shown in tables.
    Raises:
        UsageError: nothing there, or seeds that were measured differently.
    """
    text = ",".join(os.fspath(source) for source in sources)
    seeds = seeds_of(text)
    return Run(together(seeds, name or text), tuple(seeds))
