"""Grade lists of answers, by the one answer checker that training and evaluation use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evals.grading import Conventions, Explanation, Grade, Grader
from rlvr.results import Rows


class Grades(Rows[Grade]):
    """The grades in order. A notebook shows the list as a table."""

    header = ("verdict", "answer", "why unscored")

    def cells(self, row: Grade) -> tuple[str, ...]:
        return (str(row.verdict), "–" if row.answer is None else row.answer, row.reason or "")


def grade_answers(
    pairs: Iterable[tuple[str | float, str | float | None]],
    *,
    conventions: Conventions = Conventions(),
) -> Grades:
    r"""Grade bare answers, such as "1/2", "\frac12", "x = 3" or 5.

    Args:
        pairs: (gold, answer) each.
        conventions: which answers count as equal where mathematics leaves a choice.
    Returns:
        A grade for each pair, in order. `verdict` is correct, wrong, no_answer or unscored (never counted as wrong).
    Raises:
        ValueError: a pair is something else. The message names its place.
    """
    return Grades(Grader(conventions).grade_answers(list(pairs)))


def grade_responses(
    rows: Iterable[Sequence[str | None]],
    *,
    policy: str = "boxed_last",
    reasoning: str = "after",
    conventions: Conventions = Conventions(),
) -> Grades:
    r"""Grade whole responses, whose answers are in `\boxed{}` (see `evals.grading.extraction` for other policies).

    Args:
        rows: (gold, response) or (gold, response, finish reason) each. A finish reason is "stop", "length" or None: a
            response without an answer is truncated if it was cut.
        policy: how an answer is extracted from a response. `rlvr list what=policies` describes each.
        conventions: as for `grade_answers`.
        reasoning: after (what follows the last `</think>`, an unclosed thought is truncated) or whole.
    Returns:
        A grade for each row, in order. `answer` is what was extracted.
    Raises:
        ValueError: no such policy, or a row is something else.
    """
    whole = [(*row, None) if not isinstance(row, str) and len(row) == 2 else row for row in rows]
    return Grades(Grader(conventions, reasoning).grade_responses(whole, policy))


def explain(
    gold: str,
    response: str,
    *,
    policy: str | None = None,
    conventions: Conventions = Conventions(),
) -> Explanation:
    """How a response, or with `policy=None` a bare answer, gets its verdict: each step of the comparison.

    Args:
        gold: the correct answer.
        response: what is graded.
        policy: how the answer is extracted, as for `grade_responses`. None takes `response` as the answer.
        conventions: as for `grade_answers`.
    """
    return Grader(conventions).explain(gold, response, policy)
