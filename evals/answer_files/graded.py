"""The grades of a file's rows, collected piece by piece, and the results computed from them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import IO, TYPE_CHECKING

from evals.answer_files.differing import Disagreement, differing
from evals.answer_files.report import count_agreements
from evals.answer_files.rows import Row, as_text
from evals.answer_files.table import Columns, benchmark_of, columns_of_pairs
from evals.grading import Grade, Grader, Progress
from evals.grading.verdicts import PolicyEffect, Verdict, policy_effects

if TYPE_CHECKING:
    from evals.stats.counted import ProblemCounts
    from evals.stats.score import Score

PIECE = 8192  # rows that are in memory at a time


def pieces(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows, `PIECE` at a time."""
    left = iter(rows)
    while piece := list(islice(left, PIECE)):
        yield piece


@dataclass(slots=True)
class _Problem:
    """The grades of one problem's rows: the number of each, by first occurrence; and the number with a box."""

    grades: dict[tuple[Verdict, str | None], int] = field(default_factory=dict)
    boxed: int = 0


class Graded:
    """Results from the grades of the rows. Keeps the distinct answers to each problem in memory, but no rows.

    Args:
        grader: it keeps outcomes, so that equal rows of two pieces get one verdict.
        policy: of extraction; None for pairs of bare answers. rows: how many there will be.
        kept: a file for the grades themselves, open for writing and reading; None if `beside` is not asked for.
    """

    def __init__(self, grader: Grader, policy: str | None, rows: int, kept: IO[str] | None = None) -> None:
        self._grader, self._policy, self._all = grader, policy, rows
        self._kept = kept
        self._done = 0
        self._problems: dict[str, _Problem] = {}
        self._verdicts: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()  # by kind
        self.effects: list[PolicyEffect] = []  # what other policies of extraction would change
        self.agreements: dict[str, Counter[str]] = defaultdict(Counter)
        self.differing: list[Disagreement] = []

    def __len__(self) -> int:
        return self._done

    def add(self, rows: Sequence[Row], progress: Progress | None = None) -> None:
        """Grade the next rows; calls `progress` with (done, all) rows of the file."""
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
            self._count(rows, grades)
        count_agreements(self.agreements, rows, grades)
        self._verdicts.update(str(grade.verdict) for grade in grades)
        self._reasons.update(grade.reason.split(":")[0] for grade in grades if grade.reason)
        self._keep(grades)
        self._done += len(rows)
        if progress:  # nothing was compared where no row of the piece has an answer
            progress(len(self), self._all)

    def verdicts(self) -> dict[str, int]:
        """The number of rows with each verdict."""
        return dict(sorted(self._verdicts.items()))

    def unscored_reasons(self) -> dict[str, int]:
        """The number of unscored rows, by the kind of the reason."""
        return dict(self._reasons)

    def beside(self, rows: Iterable[Row]) -> Iterator[tuple[list[Row], Columns]]:
        """The same rows, given again, piece by piece with our columns.

        Raises:
            ValueError: the grades were not kept.
        """
        if self._kept is None:
            raise ValueError("the grades were not kept; expected a file for them")
        self._kept.seek(0)
        samples: Counter[str] = Counter()
        for piece, line in zip(pieces(rows), self._kept, strict=True):
            grades = [Grade(Verdict(verdict), *others) for verdict, *others in json.loads(line)]
            yield piece, self._columns(piece, grades, samples)

    def _columns(self, rows: Sequence[Row], grades: Sequence[Grade], samples: Counter[str]) -> Columns:
        if self._policy is None:
            return columns_of_pairs(grades)
        numbers, classes = [], []
        for row, grade in zip(rows, grades, strict=True):
            problem = str(row["problem_id"])
            numbers.append(samples[problem])
            samples[problem] += 1
            classes.append(self._classes[problem][grade.verdict, grade.answer])
        return {
            "benchmark": [benchmark_of(row) for row in rows],
            "sample": numbers,
            "gold": [as_text(row["answer"]) for row in rows],
            **columns_of_pairs(grades),
            "answer_class": classes,
            "boxed": [grade.boxed for grade in grades],
        }

    def scores(self, ks: Sequence[int]) -> list[Score]:
        """Of all rows, as one benchmark."""
        if self._policy is None:
            return []
        from evals.stats.counted import counts_of_problems
        from evals.stats.score import score
        from evals.stats.verdict_table import VerdictTable

        counted = {name: _counts(of, self._classes[name]) for name, of in self._problems.items()}
        return score(VerdictTable({0: counts_of_problems(counted)}), ks=ks)

    @cached_property
    def _classes(self) -> dict[str, dict[tuple[Verdict, str | None], int | None]]:
        """Problem -> each grade of it -> the class of its answer; made when all rows are there."""
        classes = {}
        for name, of in self._problems.items():
            grades = [Grade(verdict, answer) for verdict, answer in of.grades]
            numbers = self._grader.answer_classes([grade.answer for grade in grades], grades)
            classes[name] = dict(zip(of.grades, numbers, strict=True))
        return classes

    def _count(self, rows: Sequence[Row], grades: Sequence[Grade]) -> None:
        for row, grade in zip(rows, grades, strict=True):
            of = self._problems.setdefault(str(row["problem_id"]), _Problem())
            key = (grade.verdict, grade.answer)
            of.grades[key] = of.grades.get(key, 0) + 1
            of.boxed += grade.boxed

    def _keep(self, grades: Sequence[Grade]) -> None:
        if self._kept is not None:
            values = [(str(grade.verdict), grade.answer, grade.reason, grade.boxed) for grade in grades]
            self._kept.write(json.dumps(values) + "\n")

    def _add_effects(self, effects: list[PolicyEffect]) -> None:
        self.effects = [a + b for a, b in zip(self.effects, effects, strict=True)] if self.effects else effects


def _counts(of: _Problem, classes: Mapping[tuple[Verdict, str | None], int | None]) -> ProblemCounts:
    from evals.stats.counted import ProblemCounts

    made = ProblemCounts(boxed=of.boxed)
    votes: Counter[int] = Counter()
    for (verdict, answer), count in of.grades.items():
        made.generated += count
        if verdict is Verdict.UNSCORED:
            continue
        made.scored += count
        number = classes[verdict, answer]
        if verdict is Verdict.CORRECT:
            made.correct += count
        elif number is not None:
            votes[number] += count
    made.votes = list(votes.values())
    return made
