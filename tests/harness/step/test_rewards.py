"""Rewards come from verdicts; what could not be scored has none."""

from __future__ import annotations

import pytest

from evals.grading import Grader
from evals.grading.verdicts import Verdict
from harness.step.rewards import REWARDS, score_responses


@pytest.mark.parametrize(
    ("verdict", "accuracy", "signed"),
    [
        (Verdict.CORRECT, 1.0, 1.0),
        (Verdict.WRONG, 0.0, -1.0),
        (Verdict.NO_ANSWER, 0.0, -1.0),
        (Verdict.TRUNCATED, 0.0, -1.0),
        (Verdict.UNSCORED, None, None),
    ],
)
def test_every_verdict(verdict: Verdict, accuracy: float | None, signed: float | None) -> None:
    assert REWARDS["accuracy"](verdict, True) == accuracy
    assert REWARDS["signed_accuracy"](verdict, True) == signed
    assert REWARDS["strict_accuracy"](verdict, True) == (accuracy or 0.0)
    assert REWARDS["strict_signed_accuracy"](verdict, True) == (-1.0 if signed is None else signed)
    assert REWARDS["boxed_format"](verdict, True) == 1.0
    assert REWARDS["boxed_format"](verdict, False) == 0.0


def test_responses_are_graded_once_for_all_rewards() -> None:
    with Grader(workers=1) as grader:
        got = score_responses(
            ("accuracy", "boxed_format"),
            [r"\boxed{4}", r"\boxed{5}", "four"],
            ["4", "4", "4"],
            grader,
            policy="boxed_last",
        )
        assert grader.workers_started == 0  # whole numbers need no worker
    assert got == {"accuracy": [1.0, 0.0, 0.0], "boxed_format": [1.0, 1.0, 0.0]}
