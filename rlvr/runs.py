"""Read measured runs and compare them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evals.stats.compare import CompareResult, compare_runs
from evals.stats.intervals import ROUGH
from evals.stats.measured_run import MeasuredRun
from evals.stats.score import bounds_text, line_form, line_interval, number_text, p_text, score
from harness.errors import choose
from harness.record.find import seeds_of, together
from harness.record.run import Run as RecordedRun
from rlvr.metrics import Scores
from rlvr.notebook import Figure, html_table

if TYPE_CHECKING:
    import pandas as pd

PathLike = str | os.PathLike[str]


@dataclass(frozen=True, repr=False)
class Run:
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
        """One row for each problem and sample; the columns of `evals.grading.verdicts.schema`.

        Raises:
            ValueError: the run was not measured on it.
        """
        choose("benchmark", [benchmark], self.benchmarks)
        import pandas as pd

        frames = [run.verdicts(benchmark) for run in self.seeds]
        if len(frames) > 1:
            frames = [frame.assign(train_seed=number) for number, frame in enumerate(frames)]
        return pd.concat(frames, ignore_index=True)

    def scores(self, ks: Sequence[int] = (1,), metrics: Sequence[str] = ("avg", "pass", "maj", "fmt")) -> Scores:
        """Scores of every benchmark with 95 % intervals.

        Args:
            ks: for pass, maj, g_pass and unsolvable.
            metrics: of avg, pass, maj, g_pass, unsolvable, fmt, mean_tokens, truncation_rate.
        Raises:
            ValueError: an unknown metric, or k < 1.
        """
        tables = self.measured.tables.items()
        return Scores((name, own) for name, table in tables for own in score(table, ks=ks, metrics=metrics))

    def _repr_html_(self) -> str:
        return self.scores(metrics=("avg", "fmt"))._repr_html_()

    def __str__(self) -> str:
        return f"{self.name}\n{self.scores(metrics=('avg', 'fmt'))}"

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class Difference:
    """Run a minus run b, paired by problem, with Holm's correction over the benchmarks of each metric."""

    result: CompareResult

    @property
    def lines(self) -> list[dict[str, object]]:
        """One dictionary for each benchmark and metric: a, b, difference, low, high, p_value, p_holm, verdict, ..."""
        lines: list[dict[str, object]] = self.result.as_dict()["lines"]
        return lines

    @property
    def notes(self) -> list[str]:
        """Warnings, and what was measured differently in the two runs."""
        return [*(f"measured differently: {text}" for text in self.result.different), *self.result.notes]

    def plot(self) -> Figure:
        """The differences with their intervals, one row for each benchmark and metric."""
        from evals.plots.comparison import write_figure

        return Figure(lambda path: write_figure(self.result, path))

    header = ("benchmark", "metric", "A", "B", "A − B", "95 % interval", "p (Holm)", "verdict")

    def _repr_html_(self) -> str:
        return html_table(self.header, self._rows(), self._caption())

    def __str__(self) -> str:
        from tabulate import tabulate

        return f"{tabulate(self._rows(), headers=self.header, disable_numparse=True)}\n{self._caption()}"

    __repr__ = __str__

    def _caption(self) -> str:
        rough = [f"{ROUGH}."] if any(line.rough for line in self.result.lines) else []
        return " ".join([f"A: {self.result.a}. B: {self.result.b}.", *rough, *(f"{note}." for note in self.notes)])

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = []
        for line in self.result.lines:
            form = line_form(line)
            means = (number_text(v, line.factor, form.lstrip("+")) for v in (line.a, line.b))
            difference = number_text(line.difference, line.factor, form)
            interval = bounds_text(line_interval(line), line.factor, form)
            rows.append((line.benchmark, line.name, *means, difference, interval, p_text(line.p_holm), line.verdict))
        return rows


def read_run(*sources: PathLike, name: str | None = None) -> Run:
    """Read a run's verdicts.

    Args:
        sources: the folder of a job or of an evaluation, a file of verdicts (as `rlvr.grade_file(out=...)` writes),
            or an MLflow run id; one for each training seed of the method.
        name: shown in tables.
    Raises:
        ValueError: nothing there, or seeds that were measured differently.
    """
    text = ",".join(os.fspath(source) for source in sources)
    seeds = seeds_of(text)
    return Run(together(seeds, name or text), tuple(seeds))


def compare(
    a: Run | PathLike,
    b: Run | PathLike,
    *,
    metrics: Sequence[str] = ("avg", "pass", "maj"),
    ks: Sequence[int] | None = None,
    benchmarks: Sequence[str] | None = None,
    margin: float | None = None,
    allow_different: bool = False,
) -> Difference:
    """The differences of two runs on the same problems, paired by problem (see `evals.stats.compare.compare_runs`).

    Args:
        a, b: runs, or what `read_run` takes. ks: None takes the fewest samples of a problem.
        margin: a difference up to this size (a fraction) counts as none: "equal".
        allow_different: compare even if the measurements differ; the notes say how.
    Raises:
        ValueError: no problem in common, other golds, or measured differently.
    """
    first, second = (run if isinstance(run, Run) else read_run(run) for run in (a, b))
    result = compare_runs(
        first.measured,
        second.measured,
        metrics=metrics,
        ks=ks,
        benchmarks=benchmarks,
        margin=margin,
        allow_different=allow_different,
    )
    return Difference(result)
