"""The only answer checker: responses and bare answers against golds, to one of five verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from evals.grading import Conventions
from evals.grading.classes import first_members
from evals.grading.equivalence import DEFAULT, Step, UnscorableError, compared, equal
from evals.grading.extraction import Extraction, extract, locate
from evals.grading.numbers import same_text
from evals.grading.reasoning import graded_part
from evals.grading.spelling import clean
from evals.grading.verdicts import Verdict
from evals.notebook import Block, Tabular


@dataclass(frozen=True, repr=False)
class Explanation(Tabular):
    """The explanation of a verdict. Prints as text.

    `read_gold` and `read_answer` are the compared texts, in one spelling. The last of `steps` compares the whole
    answers, those before it their parts.
    """

    policy: str | None
    gold: str
    read_gold: str
    extracted: str | None
    read_answer: str | None
    steps: tuple[Step, ...]
    verdict: Verdict
    reason: str | None

    def blocks(self) -> list[Block]:
        lines: list[Block] = [f"gold       {self.gold}", f"  read as  {self.read_gold}"]
        lines += [
            f"extracted  {'nothing' if self.extracted is None else self.extracted}  (policy {self.policy or 'none'})"
        ]
        if self.read_answer is not None:
            lines += [f"  read as  {self.read_answer}"]
        for step in self.steps:
            lines += [f"step       {step.gold}  {'==' if step.equal else '!='}  {step.answer}  by {step.rule}"]
        return [*lines, f"verdict    {self.verdict}" + (f" ({self.reason})" if self.reason else "")]

    def rows(self) -> list[dict[str, object]]:
        """One row: what was read, and the verdict."""
        return [{name: value for name, value in vars(self).items() if name != "steps"}]


Progress = Callable[[int, int], None]  # called with (finished, total) comparisons


@dataclass(frozen=True)
class Grade:
    """The verdict on one answer. `answer` is what was compared. `reason` says why it is unscored, its kind first.

    `boxed`: the response holds a complete, non-empty box (always False for bare answers).
    """

    verdict: Verdict
    answer: str | None
    reason: str | None = None
    boxed: bool = False


@lru_cache(maxsize=200_000)
def outcome(gold: str, answer: str, conventions: Conventions) -> bool | str:
    """Whether they are equal, or why that is not known."""
    try:
        return equal(gold, answer, conventions)
    except UnscorableError as error:
        return str(error)


@dataclass(frozen=True)
class Grader:
    """Grades answers under conventions, in the calling process. Safe to use from several threads.

    Attributes:
        reasoning: which part of a response with a thought in it is graded (`evals.grading.reasoning`).
    """

    conventions: Conventions = DEFAULT
    reasoning: str = "after"

    def grade_responses(
        self, rows: Sequence[Sequence[Any]], policy: str = "boxed_last", progress: Progress | None = None
    ) -> list[Grade]:
        """Grades of (gold, response, finish reason or None), in order. A tuple of golds is correct by any of them. A
        fourth item is True if the prompt began the thought.

        A response without an answer is truncated when it was cut ("length") or ends inside a box, unless it is known to
        have ended by itself ("stop"). Otherwise it has no answer. An answer given before the cut is graded.

        Raises:
            ValueError: the extraction policy is unknown, or a row holds something else.
        """
        grades = []
        texts = _texts([_first(row) for row in rows], ("gold", "response", "finish_reason"))
        for row, (gold, response, finish_reason) in zip(rows, texts, strict=True):
            part, finish_reason = graded_part(response or "", finish_reason, self.reasoning, any(row[3:]))
            extraction = extract(part, policy)
            if extraction.answer is None:
                cut = finish_reason == "length" or (extraction.truncated and finish_reason != "stop")
                grades.append(Grade(Verdict.TRUNCATED if cut else Verdict.NO_ANSWER, None, None, extraction.boxed))
            else:
                tried = [self._extracted(_gold(text), extraction) for text in (row[0] if _several(row) else (gold,))]
                grades.append(min(tried, key=lambda grade: _BEST.index(grade.verdict)))
            if progress:
                progress(len(grades), len(rows))
        return grades

    def grade_answers(
        self, rows: Sequence[tuple[str | float, str | float | None]], progress: Progress | None = None
    ) -> list[Grade]:
        r"""Grades of (gold, bare answer), in order. Either may hold a `\boxed{}`, `$...$`, be a sentence, or a number.

        Raises:
            ValueError: a row holds something else.
        """
        grades = []
        for gold, text in _texts(rows, ("gold", "answer")):
            answer = locate(text or "").strip()
            grades.append(self._grade(_gold(gold), answer) if answer else Grade(Verdict.NO_ANSWER, None))
            if progress:
                progress(len(grades), len(rows))
        return grades

    def explain(
        self, gold: str | tuple[str, ...], response: str, policy: str | None = None, begun: bool = False
    ) -> Explanation:
        """How a response, or a bare answer (`policy=None`), gets its verdict: each step of the comparison. With several
        golds, by the one that it equals, else by the first.

        Args:
            begun: the prompt began the thought.

        Raises:
            ValueError: the extraction policy is unknown.
        """
        if isinstance(gold, tuple):
            tried = [self.explain(part, response, policy, begun) for part in gold]
            return next((explanation for explanation in tried if explanation.verdict is Verdict.CORRECT), tried[0])
        if policy is None:
            [grade] = self.grade_answers([(gold, response)])
        else:
            [grade] = self.grade_responses([(gold, response, None, begun)], policy)
        answer = grade.answer
        located, unread = _gold(gold), answer is None or grade.verdict is Verdict.UNSCORED
        steps = [] if unread else compared(located, answer or "", self.conventions).steps
        read = None if answer is None else clean(answer)
        return Explanation(policy, gold, clean(located), answer, read, tuple(steps), grade.verdict, grade.reason)

    def answer_classes(self, answers: Sequence[str | None], grades: Sequence[Grade]) -> list[int | None]:
        """Which answers to one problem are equal: class numbers from 0 in order of appearance, None without an answer.

        All correct answers are one class. Each other one is of the first class whose first member it equals (of many
        different ones: `evals.grading.classes`). A comparison that fails counts as different. Unscored answers have no
        class.
        """
        wrong = [answer or "" for answer, grade in zip(answers, grades, strict=True) if grade.verdict is Verdict.WRONG]
        first = first_members(wrong, lambda a, b: outcome(a, b, self.conventions) is True)
        numbers: dict[
            str | None, int
        ] = {}  # the number of a class by its first member. None: the class of the correct answers.
        return [
            numbers.setdefault(first[answer or ""] if grade.verdict is Verdict.WRONG else None, len(numbers))
            if grade.verdict in (Verdict.CORRECT, Verdict.WRONG)
            else None
            for answer, grade in zip(answers, grades, strict=True)
        ]

    def _extracted(self, gold: str, extraction: Extraction) -> Grade:
        last = extraction.last if same_text(clean(gold), clean(extraction.last or "")) else None
        return self._grade(gold, last or extraction.answer or "", extraction.boxed)

    def _grade(self, gold: str, answer: str, boxed: bool = False) -> Grade:
        equal_or_why = outcome(gold, answer, self.conventions)
        if isinstance(equal_or_why, str):
            return Grade(Verdict.UNSCORED, answer, equal_or_why, boxed)
        return Grade(Verdict.CORRECT if equal_or_why else Verdict.WRONG, answer, None, boxed)


_BEST = (Verdict.CORRECT, Verdict.UNSCORED, Verdict.WRONG)  # the best verdict if there are several golds


def _several(row: object) -> bool:
    return isinstance(row, Sequence) and len(row) > 0 and isinstance(row[0], tuple)


def _first(row: object) -> object:
    """The row with the first of several golds, and without what says that the prompt began the thought."""
    if isinstance(row, tuple) and len(row) == 4 and isinstance(row[3], bool):
        row = row[:3]
    return (row[0][0], *row[1:]) if _several(row) else row  # type: ignore[index]


def _gold(gold: str | None) -> str:
    return locate(gold or "")


def _texts(rows: Sequence[object], columns: tuple[str, ...]) -> list[tuple[str | None, ...]]:
    """The rows with numbers as text. Raises ValueError where one is no row, or holds something else."""
    checked = []
    for index, row in enumerate(rows):
        if isinstance(row, str) or not isinstance(row, Sequence) or len(row) != len(columns):
            raise ValueError(f"row {index} is {row!r:.80}. Expected ({', '.join(columns)})")
        for column, value in zip(columns, row, strict=True):
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not (isinstance(value, str) or number or (value is None and column != "gold")):
                raise ValueError(f"row {index}: {column} is {value!r:.80}. Expected text or a number")
        checked.append(tuple(None if value is None else str(value) for value in row))
    return checked
