"""The grades of a file's rows, a few bytes for each, gathered piece by piece; and what follows from them."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from evals.answer_files.differing import Disagreement, differing
from evals.answer_files.report import count_agreements
from evals.answer_files.rows import Row, as_text
from evals.answer_files.table import Columns, benchmark_of, columns_of_pairs
from evals.grading import Grade, Grader, Progress
from evals.grading.effects import PolicyEffect, policy_effects
from evals.grading.verdicts import Verdict

if TYPE_CHECKING:
    from evals.stats.score import Score

PIECE = 8192  # rows that are in memory at a time
_VERDICTS = tuple(Verdict)


def pieces(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows, `PIECE` at a time."""
    left = iter(rows)
    while piece := list(islice(left, PIECE)):
        yield piece


class _Texts:
    """One of few different texts, or None, for each row: a number into the list of them."""

    def __init__(self) -> None:
        self._known: dict[str | None, int] = {}
        self._texts: list[str | None] = []
        self._numbers = array("i")

    def append(self, text: str | None) -> None:
        number = self._known.setdefault(text, len(self._texts))
        if number == len(self._texts):
            self._texts.append(text)
        self._numbers.append(number)

    def __getitem__(self, index: int) -> str | None:
        return self._texts[self._numbers[index]]

    @property
    def numbers(self) -> array[int]:
        return self._numbers

    @property
    def different(self) -> list[str | None]:
        return self._texts


class Graded:
    """The grades of the rows that were added.

    Args:
        grader: one that keeps the outcome of a comparison that failed (`retry=False`), so that equal rows of two
            pieces get one verdict. policy: of extraction; None for pairs of bare answers. rows: how many there will be.
    """

    def __init__(self, grader: Grader, policy: str | None, rows: int) -> None:
        self._grader, self._policy, self._all = grader, policy, rows
        self._problems, self._answers, self._reasons = _Texts(), _Texts(), _Texts()
        self._verdicts, self._boxed = array("b"), array("b")
        self._samples = array("i")
        self._classes: array[int] | None = None  # -1: none
        self._of_problem: Counter[str] = Counter()
        self.effects: list[PolicyEffect] = []  # what other policies of extraction would change
        self.agreements: dict[str, Counter[str]] = defaultdict(Counter)
        self.differing: list[Disagreement] = []

    def __len__(self) -> int:
        return len(self._verdicts)

    def add(self, rows: Sequence[Row], progress: Progress | None = None) -> None:
        """Grade the next rows; `progress` is told (done, all) rows of the file."""
        start = len(self)

        def told(done: int, total: int) -> None:
            assert progress is not None
            progress(start + len(rows) * done // max(total, 1), self._all)

        if self._policy is None:
            pairs = [(as_text(row["gold"]), as_text(row["prediction"])) for row in rows]
            grades = self._grader.grade_answers(pairs, told if progress else None)
        else:
            triples = [(as_text(row["answer"]), row["response"], row.get("finish_reason")) for row in rows]
            grades = self._grader.grade_responses(triples, self._policy, told if progress else None)
            self._add_effects(policy_effects(triples, grades, self._grader, self._policy))
            differ = differing(rows, grades, self._grader, self._policy)
            self.differing += [replace(one, row=start + one.row) for one in differ]
            self._add_problems(rows)
        count_agreements(self.agreements, rows, grades)
        for grade in grades:
            self._verdicts.append(_VERDICTS.index(grade.verdict))
            self._answers.append(grade.answer)
            self._reasons.append(grade.reason)
            self._boxed.append(grade.boxed)
        if progress:  # nothing was compared where no row of the piece has an answer
            progress(len(self), self._all)

    def verdicts(self) -> dict[str, int]:
        """How many rows have each verdict."""
        return dict(sorted((str(_VERDICTS[number]), count) for number, count in Counter(self._verdicts).items()))

    def unscored_reasons(self) -> dict[str, int]:
        """How many rows are unscored, by the kind of the reason."""
        counts: Counter[str] = Counter()
        for number in self._reasons.numbers:
            reason = self._reasons.different[number]
            if reason:
                counts[reason.split(":")[0]] += 1
        return dict(counts)

    def beside(self, rows: Iterable[Row]) -> Iterator[tuple[list[Row], Columns]]:
        """The same rows, given again, piece by piece with our columns."""
        start = 0
        for piece in pieces(rows):
            yield piece, self._columns(start, piece)
            start += len(piece)

    def _columns(self, start: int, rows: Sequence[Row]) -> Columns:
        grades = [self._grade(start + i) for i in range(len(rows))]
        if self._policy is None:
            return columns_of_pairs(grades)
        classes = self.classes[start : start + len(rows)]
        return {
            "benchmark": [benchmark_of(row) for row in rows],
            "sample": self._samples[start : start + len(rows)],
            "gold": [as_text(row["answer"]) for row in rows],
            **columns_of_pairs(grades),
            "answer_class": [None if number < 0 else number for number in classes],
            "boxed": [grade.boxed for grade in grades],
        }

    def scores(self, ks: Sequence[int]) -> list[Score]:
        """Of all rows, as one benchmark."""
        if self._policy is None:
            return []
        import numpy as np
        import pandas as pd

        from evals.stats.score import score

        classes = np.array(self.classes)
        frame = pd.DataFrame(
            {
                "problem_id": np.array(self._problems.different, object)[np.array(self._problems.numbers)],
                "sample": np.array(self._samples),
                "verdict": np.array([str(verdict) for verdict in _VERDICTS], object)[np.array(self._verdicts)],
                "answer_class": pd.arrays.IntegerArray(classes, classes < 0),
                "boxed": np.array(self._boxed, bool),
            }
        )
        return score(frame, ks=ks)

    @property
    def classes(self) -> array[int]:
        """The class of each row's answer among those to its problem, -1 without one; made when all rows are there."""
        if self._classes is None:
            import numpy as np

            self._classes = array("i", [-1]) * len(self)
            numbers = np.array(self._problems.numbers)
            order = np.argsort(numbers, kind="stable")
            for rows in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1):
                grades = [self._grade(int(row)) for row in rows]
                own = self._grader.answer_classes([grade.answer for grade in grades], grades)
                for row, number in zip(rows, own, strict=True):
                    self._classes[row] = -1 if number is None else number
        return self._classes

    def _grade(self, row: int) -> Grade:
        return Grade(_VERDICTS[self._verdicts[row]], self._answers[row], self._reasons[row], bool(self._boxed[row]))

    def _add_problems(self, rows: Sequence[Row]) -> None:
        for row in rows:
            problem = str(row["problem_id"])
            self._problems.append(problem)
            self._samples.append(self._of_problem[problem])
            self._of_problem[problem] += 1

    def _add_effects(self, effects: list[PolicyEffect]) -> None:
        self.effects = [a + b for a, b in zip(self.effects, effects, strict=True)] if self.effects else effects
