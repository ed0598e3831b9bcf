"""One response to a problem, as every format yields it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from evals.grading import Response
from evals.grading.verdicts import WITHHELD

BENCHMARK = "answers"  # the name for samples that have none


@dataclass(frozen=True)
class Sample:
    """A response, its problem and its gold. A value that a file does not state is None or empty.

    Attributes:
        problem_id: the same for all samples of a problem. Empty until `evals.answer_files.reading` has set it.
        golds: a response is right that has any of them. Empty until the gold is found.
        finish_reason: "stop", "length", one of `WITHHELD`, or None.
        sampling_error: why there is no whole response. The sample is then unscored.
        labels: the authors' verdicts by their names, as they stand in the file. `as_label` reads one.
        answers: what the authors extracted for each verdict, where each has its own.
        expected: the verdict of the authors that is compared with ours.
        their_answer: what the authors extracted.
        read_gold: the value in a gold in prose, which is one of the golds.
        thought_begun: the prompt began the thought.
        several: the file lists several golds, any of which is right, or all of which are one.
        extras: the file's own columns, which are written out again. Parts of a benchmark among them.
    """

    problem_id: str = ""
    golds: tuple[str, ...] = ()
    response: str = ""
    problem: str | None = None
    benchmark: str | None = None
    finish_reason: str | None = None
    sampling_error: str | None = None
    labels: Mapping[str, object] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    expected: bool | None = None
    their_answer: str | None = None
    tokens: int | None = None
    step: str | int | float | None = None
    graded_by: str | None = None
    thought_begun: bool | None = None
    several: bool = False
    read_gold: str | None = None
    extras: Mapping[str, object] = field(default_factory=dict)

    @property
    def gold(self) -> str:
        """The gold, or the first of several."""
        return self.golds[0]

    @property
    def to_grade(self) -> str | tuple[str, ...]:
        """The gold as the grader takes it: a tuple where any of several is right."""
        return self.golds if len(self.golds) > 1 else self.gold

    @property
    def exchange(self) -> Response:
        """The response as the grader takes it."""
        return self.to_grade, self.response, self.finish_reason, bool(self.thought_begun)

    @property
    def problem_of(self) -> tuple[str, str]:
        """(benchmark, problem_id): what makes rows samples of one problem."""
        return self.benchmark or BENCHMARK, self.problem_id

    def part(self, name: str) -> str | None:
        """A part of the benchmark that the sample belongs to, such as its `level`, or None without one."""
        value = self.extras.get(name)
        return str(value) if isinstance(value, str | int) else None

    def row(self) -> dict[str, object]:
        """The sample as a row that is written: the file's own columns, and ours."""
        our_columns = {
            "problem_id": self.problem_id,
            "answer": self.gold,
            "golds": list(self.golds) if len(self.golds) > 1 else None,
            **{f.name: getattr(self, f.name) for f in fields(self) if f.name in _WRITTEN},
        }
        return {**self.extras, **{name: value for name, value in our_columns.items() if value is not None}}


_WRITTEN = (
    *("response", "problem", "benchmark", "finish_reason", "sampling_error", "expected", "their_answer", "tokens"),
    *("step", "graded_by", "thought_begun"),
)


def settled(sample: Sample) -> Sample:
    """The sample, with the error of a response that a server withheld or that did not come."""
    if sample.finish_reason in WITHHELD and sample.sampling_error is None:
        return replace(sample, sampling_error=f"server: no whole response ({sample.finish_reason})")
    return sample
