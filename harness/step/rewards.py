"""Verifiable rewards by name. The grader that scores evaluations scores training, so that the two cannot disagree.

A reward is a function from verdicts to numbers; None means that the response could not be scored, which a trainer must
treat as missing and never as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from evals.grading.verdicts import Verdict

if TYPE_CHECKING:
    from evals.grading import Grader


def accuracy(verdict: Verdict, boxed: bool) -> float | None:
    """1 when correct, 0 when incorrect, missing or cut off."""
    return None if verdict is Verdict.UNSCORED else float(verdict is Verdict.CORRECT)


def signed_accuracy(verdict: Verdict, boxed: bool) -> float | None:
    """+1 when correct, -1 otherwise (arXiv 2506.14758, section 4)."""
    return None if verdict is Verdict.UNSCORED else 2.0 * (verdict is Verdict.CORRECT) - 1.0


def boxed_format(verdict: Verdict, boxed: bool) -> float | None:
    r"""1 when the response holds a complete \boxed{...}, else 0."""
    return float(boxed)


REWARDS: dict[str, Callable[[Verdict, bool], float | None]] = {
    "accuracy": accuracy,
    "signed_accuracy": signed_accuracy,
    "boxed_format": boxed_format,
}


def score_responses(
    names: Sequence[str], responses: Sequence[str], golds: Sequence[str], grader: Grader, *, policy: str
) -> dict[str, list[float | None]]:
    """Reward name -> one reward a response. Each response is graded once for all rewards."""
    from evals.grading.extraction import boxes

    grades = grader.grade_responses([(g, r, None) for g, r in zip(golds, responses, strict=True)], policy)
    has_box = [bool(boxes(response)) for response in responses]
    return {
        name: [REWARDS[name](grade.verdict, box) for grade, box in zip(grades, has_box, strict=True)] for name in names
    }
