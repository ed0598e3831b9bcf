"""The effects of other conventions: one is named only where it changes a verdict of the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

from evals.answer_files.sample import Sample
from evals.grading import MOST_DIGITS, Conventions, Grade
from evals.grading.extraction import locate
from evals.grading.grader import outcome
from evals.grading.verdicts import Verdict


@dataclass(frozen=True)
class ConventionEffect:
    """The same answers under one other convention: `gained` more are correct, or `lost` are correct no more."""

    option: str
    gained: int
    lost: int

    def __str__(self) -> str:
        changed = self.gained + self.lost
        change = "1 verdict changes" if changed == 1 else f"{changed} verdicts change"
        return f"{self.option}: {change} (correct: +{self.gained}, -{self.lost})"


def other_conventions(conventions: Conventions) -> Iterator[tuple[str, Conventions, bool]]:
    """Each convention changed alone: as it is typed, all of them then, and whether it accepts more."""
    for option in fields(conventions):
        value: int = getattr(conventions, option.name)
        near = (value - 1, value + 1)
        for other in (not value,) if isinstance(value, bool) else (n for n in near if 1 <= n <= MOST_DIGITS):
            changed = replace(conventions, **{option.name: other})  # type: ignore[arg-type]
            looser = other if isinstance(other, bool) else other < value
            yield f"{option.name}={str(other).lower()}", changed, looser


def convention_effects(
    rows: Sequence[Sample], grades: Sequence[Grade], conventions: Conventions
) -> list[ConventionEffect]:
    """The other conventions that change a verdict. One that accepts more is tried on wrong answers alone, and one that
    accepts less on correct ones."""
    effects = []
    answered = [(row.golds, grade.answer, grade.verdict) for row, grade in zip(rows, grades, strict=True)]
    for option, changed, looser in other_conventions(conventions):
        before = Verdict.WRONG if looser else Verdict.CORRECT
        count = sum(
            any(outcome(locate(gold), answer, changed) is True for gold in golds) is looser
            for golds, answer, verdict in answered
            if verdict is before and answer is not None and answer not in golds
        )
        if count:
            effects.append(ConventionEffect(option, count if looser else 0, 0 if looser else count))
    return effects
