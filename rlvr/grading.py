"""Grade answers: lists or a file, by the one answer checker that training and evaluation use."""

from __future__ import annotations

from collections.abc import Iterable

from evals.answer_files import grade_file
from evals.grading import Grade, Grader
from rlvr.notebook import Rows

__all__ = ["Grades", "grade_answers", "grade_file", "grade_responses"]


class Grades(Rows[Grade]):
    """The grades in order; a notebook shows the list as a table."""

    header = ("verdict", "answer", "why unscored")

    def cells(self, row: Grade) -> tuple[str, ...]:
        return (str(row.verdict), "–" if row.answer is None else row.answer, row.reason or "")


def grade_answers(pairs: Iterable[tuple[str, str]], *, workers: int = 2, limit_s: float = 10.0) -> Grades:
    r"""Grade bare answers, such as "1/2", "\frac12" or "x = 3".

    Args:
        pairs: (gold, answer) each.
        workers: processes for the comparisons that need symbolic algebra. limit_s: seconds that one may take.
    Returns:
        A grade for each pair, in order. `verdict` is correct, wrong, no_answer or unscored (never counted as wrong).
    """
    with Grader(workers=workers, limit_s=limit_s) as grader:
        return Grades(grader.grade_answers(list(pairs)))


def grade_responses(
    pairs: Iterable[tuple[str, str]], *, policy: str = "boxed_last", workers: int = 2, limit_s: float = 10.0
) -> Grades:
    r"""Grade whole responses, whose answers are in `\boxed{}` (see `evals.grading.extraction` for other policies).

    Args:
        pairs: (gold, response) each.
    Returns:
        A grade for each pair, in order; `answer` is what was extracted.
    Raises:
        ValueError: no such policy.
    """
    with Grader(workers=workers, limit_s=limit_s) as grader:
        return Grades(grader.grade_responses([(gold, response, None) for gold, response in pairs], policy))
