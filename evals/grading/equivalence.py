"""Is an answer equal to the gold? `equal` says so; `quick` says it at once where no more than a look is needed."""

from __future__ import annotations

from evals.grading import forms
from evals.grading.compare import compare
from evals.grading.rules.form import same_literal, same_plain_number
from evals.grading.spelling import clean

LONGEST, DEEPEST = 10_000, 100


class UnscorableError(Exception):
    """The answer is too large to be read safely; the text says in which way."""


def equal(gold: str, answer: str) -> bool:
    """Whether an answer equals the gold.

    May hang or exhaust memory on a hostile answer: call it through `evals.grading.Grader`, which runs it in a process
    that can be killed, unless `quick` already knows.

    Raises:
        UnscorableError: one of them is too long or too deeply nested.
    """
    known = quick(gold, answer)
    return compare(clean(gold), clean(answer)) if known is None else known


def quick(gold: str, answer: str) -> bool | None:
    """The verdict on literally equal answers and on two plain numbers, in microseconds; None when that is not enough.

    Raises:
        UnscorableError: as `equal`.
    """
    if gold.strip() and gold == answer:
        return True
    for text in (gold, answer):
        if len(text) > LONGEST:
            raise UnscorableError(f"size: {len(text)} characters, more than {LONGEST}")
        if forms.depth(text) > DEEPEST:
            raise UnscorableError(f"size: nested deeper than {DEEPEST}")
    left, right = clean(gold), clean(answer)
    if not left or not right:
        return False
    verdict = same_literal(left, right)
    return verdict if verdict is not None else same_plain_number(left, right)
