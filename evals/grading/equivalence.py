"""Is an answer equal to the gold? The first rule that applies decides, else the values at random points.

Everything runs in the calling process, where nothing can be killed, so everything is bounded: texts of at most LONGEST
characters, read by patterns of at most quadratic time (a test). At most MOST_COMPARISONS of parts. Arithmetic on
numbers below 10^(10^9) to 200 digits, and exactly up to 100,000. No bound is a clock, so that a verdict is the same on
every machine. An answer that a bound refuses is unscored, except an answer far larger than its gold, and one whose
value is not computed where the gold's is. Both are wrong: in a training, a policy could else leave its group.
"""

from __future__ import annotations

from typing import NamedTuple

from evals.grading import Conventions
from evals.grading.conclusion import conclusion, is_derivation
from evals.grading.evaluation import UndecidedError, same_value
from evals.grading.numbers import depth
from evals.grading.rules import RULES
from evals.grading.spelling import clean

LONGEST, DEEPEST = 2_000, 50
FAR = 10  # times as long or as deep as the gold: no form of it is so large, and an answer that cannot be read is wrong
MOST_COMPARISONS, MOST_NESTED = 2_000, 20  # parts, and parts inside parts
FAR_LARGER = "too large to be read, and far larger than the gold"
DEFAULT = Conventions()


class UnscorableError(Exception):
    """The answer is too large to be read safely. The message says why."""


class Step(NamedTuple):
    """One comparison: of the whole answers, or of two parts of them. `rule` decided it."""

    gold: str
    answer: str
    rule: str
    equal: bool


class Comparison:
    """Compares cleaned answers. Rules receive it and compare the parts of answers with it.

    `steps` records every comparison and its parts, the whole one last.
    """

    def __init__(self, conventions: Conventions = DEFAULT) -> None:
        self.conventions = conventions
        self.steps: list[Step] = []
        self._compared = self._nested = 0

    def __call__(self, gold: str, answer: str) -> bool:
        self._compared += 1
        self._nested += 1
        if self._compared > MOST_COMPARISONS or self._nested > MOST_NESTED:
            raise UnscorableError(f"size: more than {MOST_COMPARISONS} parts, or {MOST_NESTED} inside each other")
        decided_by, verdict = self._decide(gold, answer)
        self._nested -= 1
        self.steps.append(Step(gold, answer, decided_by, verdict))
        return verdict

    def _decide(self, gold: str, answer: str) -> tuple[str, bool]:
        for rule in RULES:
            verdict = rule.decide(gold, answer, self)
            if verdict is not None:
                return rule.name, verdict
        try:
            return "same_value", same_value(gold, answer)
        except UndecidedError as error:
            raise UnscorableError(str(error)) from error


def equal(gold: str, answer: str, conventions: Conventions = DEFAULT) -> bool:
    """Whether an answer equals the gold. False where nothing shows that it does.

    Raises:
        UnscorableError: one of them is too long or too deeply nested (an answer far more than its gold is unequal), or
            they have too many parts.
    """
    return compared(gold, answer, conventions).steps[-1].equal


def compared(gold: str, answer: str, conventions: Conventions) -> Comparison:
    """The comparison of the whole answers, with its steps. Raises UnscorableError as `equal`."""
    comparison = Comparison(conventions)
    if gold.strip() and gold == answer:  # needs no reading, however long
        comparison.steps.append(Step(gold, answer, "text", True))
        return comparison
    derived = is_derivation(answer) and not is_derivation(gold)
    if not derived and _far_larger(gold, answer):
        comparison.steps.append(Step(gold, answer, FAR_LARGER, False))
        return comparison
    if not derived or _size(answer) is None:
        for reason in filter(None, map(_size, (gold, answer))):
            raise UnscorableError(reason)
        left, right = clean(gold), clean(answer)
        if not (left and right):
            comparison.steps.append(Step(left, right, "nothing to compare", False))
        elif comparison(left, right) or not derived:
            return comparison
    return _concluded(comparison, gold, answer) if derived else comparison


def _concluded(comparison: Comparison, gold: str, answer: str) -> Comparison:
    """Compares what a sentence or a derivation concludes. Raises UnscorableError where that is not read."""
    concluded = conclusion(answer)
    if concluded.unread and _far_larger(gold, answer):
        comparison.steps.append(Step(gold, answer, FAR_LARGER, False))
        return comparison
    if concluded.unread:
        raise UnscorableError("prose: a sentence or derivation whose conclusion is not read")
    left, right = clean(gold), clean(concluded.value or "")
    equal = bool(left and right) and _size(gold) is None and comparison(left, right)
    comparison.steps.append(Step(left, right, "conclusion of a text", equal))
    return comparison


def _far_larger(gold: str, answer: str) -> bool:
    """Whether the answer is too large to be read, and FAR times as large as its gold."""
    if len(answer) > max(LONGEST, FAR * len(gold.strip())):
        return True
    return len(answer) > DEEPEST and depth(answer) > max(DEEPEST, FAR * depth(gold))


def _size(text: str) -> str | None:
    """Why a text cannot be read whole, or None."""
    if len(text) > LONGEST:
        return f"size: {len(text)} characters, more than {LONGEST}"
    return f"size: nested deeper than {DEEPEST}" if depth(text) > DEEPEST else None
