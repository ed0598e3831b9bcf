"""Verifiable rewards by name. One grader scores training and evaluation, so the two cannot disagree.

A reward is a function from verdicts to numbers. None means that the response could not be scored, which a trainer must
treat as missing, never as 0. The declaration's `unscored` says what happens then: the response leaves its group, or it
gets the reward of an incorrect one, so that answers made too hard to grade gain nothing, or the training ends with an
error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from evals.grading.verdicts import Verdict
from harness.step import own_rewards

if TYPE_CHECKING:
    from evals.grading import Grader
    from evals.grading.grader import Grade


def accuracy(verdict: Verdict, boxed: bool) -> float | None:
    """1 when correct, 0 when incorrect, missing or truncated."""
    return None if verdict is Verdict.UNSCORED else float(verdict is Verdict.CORRECT)


def signed_accuracy(verdict: Verdict, boxed: bool) -> float | None:
    """+1 when correct, -1 otherwise (arXiv 2506.14758, section 4)."""
    return None if verdict is Verdict.UNSCORED else 2.0 * (verdict is Verdict.CORRECT) - 1.0


def boxed_format(verdict: Verdict, boxed: bool) -> float | None:
    r"""1 when the response contains a complete \boxed{...}, else 0."""
    return float(boxed)


UNSCORED = ("skip", "incorrect", "error")


class UnscoredError(RuntimeError):
    """A response could not be scored, and the declaration makes that an error."""


REWARDS: dict[str, Callable[[Verdict, bool], float | None]] = {
    "accuracy": accuracy,
    "signed_accuracy": signed_accuracy,
    "boxed_format": boxed_format,
}
GROUP_REWARDS = ("majority",)
"""Rewards of a response that depend on the other responses to its prompt."""
RANGES: dict[str, tuple[float, float]] = {
    "accuracy": (0.0, 1.0),
    "signed_accuracy": (-1.0, 1.0),
    "boxed_format": (0.0, 1.0),
    "majority": (0.0, 1.0),
}
"""Name of every reward -> (smallest, largest)."""


def range_of(name: str) -> tuple[float, float]:
    """(smallest, largest) of a reward, of your own (MODULE:FUNCTION) too."""
    return own_rewards.range_of(name) if own_rewards.is_own(name) else RANGES[name]


def unequal_boxes(responses: Sequence[str]) -> float:
    """The share of responses that box different texts: under the policy boxed_last the last box is paid, whatever the
    others hold, and a model can learn to try several."""
    from evals.grading.extraction import extract

    return sum(extract(response).unequal for response in responses) / len(responses)


def score_responses(
    names: Sequence[str],
    responses: Sequence[str],
    golds: Sequence[str],
    grader: Grader,
    *,
    policy: str,
    begun: Sequence[bool] = (),
    group_size: int | None = None,
    unscored: str = "skip",
) -> dict[str, list[float | None]]:
    """Reward name -> one reward a response. Each response is graded once for all rewards.

    Args:
        grader: its `reasoning` says which part of a response with a thought in it is graded, and holds the box.
        begun: of each response, whether its prompt begins the thought (`evals.grading.reasoning.begins`), or () for
            none.
        group_size: responses to one prompt, which follow each other. Needed for GROUP_REWARDS.
        unscored: the reward of a response that could not be scored: "skip" (None), "incorrect", or "error". Rewards of
            your own are not affected.
    Raises:
        ValueError: a group reward without whole groups, or an unknown `unscored`.
        UnscoredError: a response could not be scored, and `unscored` is "error".
    """
    from evals.grading.extraction import boxes
    from evals.grading.reasoning import graded_part

    parts = [
        graded_part(response, None, grader.reasoning, thinks)
        for response, thinks in zip(responses, begun or [False] * len(responses), strict=True)
    ]
    rows = [(gold, *part) for gold, part in zip(golds, parts, strict=True)]
    grades = replace(grader, reasoning="whole").grade_responses(rows, policy)
    if unscored not in UNSCORED:
        raise ValueError(f"unscored is {unscored!r}. Expected one of {', '.join(UNSCORED)}")
    if unscored != "skip":
        grades = [_instead(grade, unscored) if grade.verdict is Verdict.UNSCORED else grade for grade in grades]
    has_box = [bool(boxes(part)) for part, _ in parts]
    scores = {
        name: [REWARDS[name](grade.verdict, box) for grade, box in zip(grades, has_box, strict=True)]
        for name in names
        if name in REWARDS
    }
    for name in filter(own_rewards.is_own, names):
        scores[name] = [own_rewards.value(name, r, g) for r, g in zip(responses, golds, strict=True)]
    if "majority" in names:
        if not group_size or len(grades) % group_size:
            raise ValueError(f"majority: expected whole groups of responses, got {len(grades)} of {group_size}")
        scores["majority"] = [
            reward
            for start in range(0, len(grades), group_size)
            for reward in majority(grades[start : start + group_size], grader)
        ]
    return {name: scores[name] for name in names}


def _instead(grade: Grade, unscored: str) -> Grade:
    """An incorrect grade in place of an unscored one, or UnscoredError."""
    if unscored == "error":
        raise UnscoredError(
            f"a response could not be scored ({grade.reason}), and unscored=error: {grade.answer!r:.200}"
        )
    return replace(grade, verdict=Verdict.WRONG)


def majority(group: Sequence[Grade], grader: Grader) -> list[float | None]:
    """1 for the most frequent answer of a group, 0 for another or none, None where unscored (TTRL, arXiv 2504.16084).

    Among equally frequent answers the first counts. The grader decides which answers are equal.
    """
    classes = grader.answer_classes([grade.answer for grade in group], group)
    votes = Counter(number for number in classes if number is not None)
    top = max(votes, key=lambda number: (votes[number], -number), default=None)
    return [
        None if grade.verdict is Verdict.UNSCORED else float(number is not None and number == top)
        for grade, number in zip(group, classes, strict=True)
    ]
