"""Every figure from verdicts and texts of responses: pass@k, answer diversity, length, form."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from evals.analysis.responses.curves_over_k import answer_diversity, pass_at_k
from evals.analysis.responses.forms import response_form, response_length, response_table
from evals.analysis.responses.judge import Judge
from evals.analysis.responses.quality import MIXING, REDUNDANT_ABOVE
from evals.analysis.subjects import Subject
from evals.plots.parts import (
    common_benchmarks,
    tables_of,
)
from evals.plots.plot import Plot

if TYPE_CHECKING:
    pass


def plot_verdicts(
    subjects: Sequence[Subject],
    *,
    benchmarks: Sequence[str] | None = None,
    ks: Sequence[int] | None = None,
    redundant_above: float = REDUNDANT_ABOVE,
    mixing: Collection[str] = MIXING,
    judge: Judge | None = None,
) -> list[Plot]:
    """Every figure of this file, for each benchmark.

    Args:
        subjects: the runs, the base model first.
        benchmarks: None takes those that all runs were measured on.
        ks: None takes the powers of two up to what all problems allow (`evals.analysis.responses.curves_over_k`).
        redundant_above, mixing: see `evals.analysis.responses.quality.flags`.
        judge: asked whether responses are irrelevant; None uses the rules alone.
    Raises:
        ValueError: no runs, no common benchmark, or tables without texts.
    """
    plots = []
    for benchmark in common_benchmarks(subjects, benchmarks):
        tables = tables_of(subjects, benchmark)
        responses = {
            name: response_table(
                table, redundant_above=redundant_above, mixing=mixing, judge=judge, problems=_texts(subjects, benchmark)
            )
            for name, table in tables.items()
        }
        plots += [pass_at_k(tables, benchmark, ks), answer_diversity(tables, benchmark, ks)]
        if any(table["tokens"].notna().any() for table in responses.values()):  # a server may not tell
            plots.append(response_length(responses, benchmark))
        plots.append(response_form(responses, benchmark, redundant_above, judge.name if judge else ""))
    return plots


def _texts(subjects: Sequence[Subject], benchmark: str) -> dict[str, str]:
    """Problem -> its text, of the subjects that hold the problems."""
    return {problem.id: problem.problem for subject in subjects for problem in subject.problems.get(benchmark, ())}
