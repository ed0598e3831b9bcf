"""The rows with their verdicts.

They get the columns of a verdict table (`evals.grading.verdicts`), which `rlvr compare` reads: `benchmark`, `sample`,
`gold`, `verdict`, `extracted`, `reason`, `answer_class`, `boxed`, and `graded_by`, how answers were read. An input
column of one of these names is kept as NAME_in_file. A text in `benchmark` is taken as the benchmark's name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evals.answer_files.sample import Sample
from evals.code_execution.program_grader import ProgramGrader
from evals.grading import Grade, Grader, Progress
from evals.grading.verdicts import WITHHELD

Columns = Mapping[str, Sequence[Any]]  # our columns by name, a value for each row


def columns_of_responses(
    rows: Sequence[Sample],
    grades: Sequence[Grade],
    grader: Grader | ProgramGrader,
    graded_by: str,
    progress: Progress | None = None,
) -> Columns:
    """Our columns for responses. Samples are numbered within a problem in row order. `progress` counts problems."""
    by_problem: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        by_problem[row.problem_of].append(index)
    samples = [0] * len(rows)
    classes: list[int | None] = [None] * len(rows)
    for count, indices in enumerate(by_problem.values(), 1):
        of_problem = [grades[index] for index in indices]
        answer_classes = grader.answer_classes([grade.answer for grade in of_problem], of_problem)
        for sample, (index, answer_class) in enumerate(zip(indices, answer_classes, strict=True)):
            samples[index], classes[index] = sample, answer_class
        if progress:
            progress(count, len(by_problem))
    return {
        "benchmark": [row.problem_of[0] for row in rows],
        "sample": samples,
        "gold": [row.gold for row in rows],
        "verdict": [str(grade.verdict) for grade in grades],
        "extracted": [grade.answer for grade in grades],
        "reason": [grade.reason for grade in grades],
        "answer_class": classes,
        "boxed": [grade.boxed for grade in grades],
        "graded_by": [graded_by] * len(rows),
    }


def ended(row: Sample) -> str | None:
    """The finish reason of a row. "error" where the engine gave no whole response and the file says no more."""
    return "error" if row.sampling_error is not None and row.finish_reason not in WITHHELD else row.finish_reason


def with_columns(rows: Sequence[Sample], our_columns: Columns) -> Iterator[dict[str, object]]:
    """The rows with our columns."""
    for row, values in zip(rows, zip(*our_columns.values(), strict=True), strict=True):
        kept = {f"{name}_in_file" if name in our_columns else name: value for name, value in row.row().items()}
        kept |= {"finish_reason": ended(row)} if row.sampling_error is not None else {}
        yield kept | dict(zip(our_columns, values, strict=True))
