"""Is an answer equal to the gold? `equal` decides it; `quick` decides it at once where no worker is needed."""

from __future__ import annotations

from evals.grading import rules
from evals.grading.latex import depth
from evals.grading.rules.form import same_literal, same_plain_number
from evals.grading.spelling import clean

LONGEST, DEEPEST = 10_000, 100


class UnscorableError(Exception):
    """The answer is too large to be read safely; the message says why."""


def equal(gold: str, answer: str) -> bool:
    """Whether an answer equals the gold.

    May hang or exhaust memory on a hostile answer: call it through `evals.grading.Grader`, which runs it in a process
    that can be killed, unless `quick` already decides.

    Raises:
        UnscorableError: one of them is too long or too deeply nested.
    """
    known = quick(gold, answer)
    return compare(clean(gold), clean(answer)) if known is None else known


def quick(gold: str, answer: str) -> bool | None:
    """The verdict on literally equal answers and on two plain numbers, in microseconds; None for all others.

    Raises:
        UnscorableError: as `equal`.
    """
    if gold.strip() and gold == answer:
        return True
    for text in (gold, answer):
        if len(text) > LONGEST:
            raise UnscorableError(f"size: {len(text)} characters, more than {LONGEST}")
        if depth(text) > DEEPEST:
            raise UnscorableError(f"size: nested deeper than {DEEPEST}")
    left, right = clean(gold), clean(answer)
    if not left or not right:
        return False
    verdict = same_literal(left, right, compare)
    return verdict if verdict is not None else same_plain_number(left, right, compare)


def compare(gold: str, answer: str) -> bool:
    """Compare two cleaned answers: the first rule that applies decides, else math-verify.

    A rule that takes answers apart receives this function, and compares the parts with it.
    """
    for rule in rules.RULES:
        verdict = rule(gold, answer, compare)
        if verdict is not None:
            return verdict
    from evals.grading.symbolic import same_expression

    return same_expression(gold, answer)
