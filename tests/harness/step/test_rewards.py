"""Rewards come from verdicts; what could not be scored has none."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from evals.grading import Grader
from evals.grading.verdicts import Verdict
from evals.provenance import Origin
from harness.backends.trl.train import reward_functions
from harness.backends.verl.rewards import score
from harness.step.rewards import REWARDS, UnscoredError, score_responses, unequal_boxes
from tests.experiments import experiment


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
def test_each_reward_of_every_verdict(verdict: Verdict, accuracy: float | None, signed: float | None) -> None:
    assert REWARDS["accuracy"](verdict, True) == accuracy
    assert REWARDS["signed_accuracy"](verdict, True) == signed
    assert REWARDS["boxed_format"](verdict, True) == 1.0
    assert REWARDS["boxed_format"](verdict, False) == 0.0


def test_responses_are_graded_once_for_all_rewards() -> None:
    grader = Grader()
    got = score_responses(
        ("accuracy", "boxed_format"), [r"\boxed{4}", r"\boxed{5}", "four"], ["4", "4", "4"], grader, policy="boxed_last"
    )
    assert got == {"accuracy": [1.0, 0.0, 0.0], "boxed_format": [1.0, 1.0, 0.0]}


LOST = r"\boxed{\text{So }24^{2}\text{ divides }9!\text{ and the power }24^{3}\text{ does not.}}"  # not read: unscored
RESPONSES = [r"\boxed{4}", LOST, r"\boxed{5}", "four"]
EARNED = {
    "skip": {"accuracy": [1.0, None, 0.0, 0.0], "signed_accuracy": [1.0, None, -1.0, -1.0]},
    "incorrect": {"accuracy": [1.0, 0.0, 0.0, 0.0], "signed_accuracy": [1.0, -1.0, -1.0, -1.0]},
}


@pytest.mark.parametrize("unscored", EARNED)
def test_the_reward_of_unscored_answers_is_declared(unscored: str) -> None:
    names = ("accuracy", "signed_accuracy")
    grader = Grader()
    got = score_responses(names, RESPONSES, ["4"] * 4, grader, policy="boxed_last", unscored=unscored)
    votes = score_responses(
        ("majority",), RESPONSES, ["4"] * 4, grader, policy="boxed_last", group_size=4, unscored=unscored
    )
    assert got == EARNED[unscored]
    # 4 and 5 are given once each, the first counts; what the lost one would have voted for is unknown
    assert votes == {"majority": [1.0, None if unscored == "skip" else 0.0, 0.0, 0.0]}


def test_an_unscored_answer_may_be_an_error() -> None:
    grader = Grader()
    with pytest.raises(UnscoredError, match=r"could not be scored \(prose: .* unscored=error"):
        score_responses(("accuracy",), RESPONSES, ["4"] * 4, grader, policy="boxed_last", unscored="error")
    assert score_responses(("accuracy",), RESPONSES[:1], ["4"], grader, policy="boxed_last", unscored="error") == {
        "accuracy": [1.0]
    }
    with pytest.raises(ValueError, match=r"unscored is 'zero'\. Expected one of skip, incorrect, error"):
        score_responses(("accuracy",), RESPONSES, ["4"] * 4, grader, policy="boxed_last", unscored="zero")


@pytest.mark.parametrize("unscored", EARNED)
def test_both_trainers_give_the_declared_rewards(unscored: str) -> None:
    expected = EARNED[unscored]["accuracy"]
    declared = experiment().override({"unscored": unscored}, Origin.USER, "a test")
    grader = Grader()
    [reward] = reward_functions(declared, grader, policy="boxed_last")
    assert reward(prompts=["q"] * 4, completions=RESPONSES, answer=["4"] * 4) == expected
    options = {
        "names": ("accuracy",), "weights": (1.0,), "policy": "boxed_last", "unscored": unscored, "reasoning": "after",
    }  # fmt: skip
    verl = [score(response, "4", **options) for response in RESPONSES]
    assert [None if math.isnan(each["score"]) else each["score"] for each in verl] == expected
    assert [None if math.isnan(each["correct"]) else each["correct"] for each in verl] == expected


def test_different_boxes_are_counted_and_logged():
    # one of four responses boxes two texts. Spaces are no difference.
    responses = [r"\boxed{5}", r"\boxed{5} so \boxed{ 5 }", r"\boxed{6}, no, \boxed{5}", "nothing"]
    assert unequal_boxes(responses) == 0.25
    settings = {"policy": "boxed_last", "unscored": "skip", "reasoning": "after"}
    verl = [score(response, "5", names=["accuracy"], weights=[1.0], **settings) for response in responses]
    assert [each["unequal_boxes"] for each in verl] == [0, 0, 1, 0]


THOUGHTS = [  # response, begun by the prompt, accuracy and format on the gold 7: after, whole
    (r"<think>I get \boxed{7}</think> It is \boxed{8}.", False, (0.0, 1.0), (0.0, 1.0)),
    (r"<think>I get \boxed{7}</think> It is 8.", False, (0.0, 0.0), (1.0, 1.0)),
    (r"<think>maybe \boxed{7}? let me check", False, (0.0, 0.0), (1.0, 1.0)),
    (r"maybe \boxed{7}? let me check", True, (0.0, 0.0), (1.0, 1.0)),
    (r"maybe \boxed{8}?</think> \boxed{7}", True, (1.0, 1.0), (1.0, 1.0)),
    (r"maybe \boxed{7}", False, (1.0, 1.0), (1.0, 1.0)),
]


@pytest.mark.parametrize("reasoning", ["after", "whole"])
def test_both_trainers_read_the_part_that_an_evaluation_reads(reasoning: str) -> None:
    """The box inside a thought earns nothing, nor does one in a thought that the chat template began."""
    names = ("accuracy", "boxed_format")
    declared = experiment().override({"rewards": names, "reward_weights": (1.0, 1.0)}, Origin.USER, "a test")
    functions = reward_functions(declared, Grader(reasoning=reasoning), policy="boxed_last")
    texts = [text for text, *_ in THOUGHTS]
    prompts = ["<|im_start|>assistant\n<think>\n" if begun else "q" for _, begun, *_ in THOUGHTS]
    given = [f(prompts=prompts, completions=texts, answer=["7"] * len(texts)) for f in functions]
    expected = [after if reasoning == "after" else whole for _, _, after, whole in THOUGHTS]
    assert list(zip(*given, strict=True)) == expected
    options = {"names": names, "weights": (1.0, 1.0), "policy": "boxed_last", "unscored": "skip"}
    verl = [score(text, "7", reasoning=reasoning, begun=begun, **options) for text, begun, *_ in THOUGHTS]
    assert [(each["reward/accuracy"], each["reward/boxed_format"]) for each in verl] == expected


def test_verl_reads_what_comes_before_a_stop_text() -> None:
    settings = {
        "policy": "boxed_last",
        "unscored": "skip",
        "reasoning": "after",
        "names": ["accuracy"],
        "weights": [1.0],
    }
    ended = score(r"\boxed{5}" + "\n\nNext: \\boxed{6}", "5", **settings, stop=["\n\n"])
    assert (ended["score"], ended["ended_by_text"]) == (1.0, 1.0)
    on = score(r"\boxed{5}", "5", **settings, stop=["\n\n"])
    assert (on["score"], on["ended_by_text"]) == (1.0, 0.0)


def test_a_reward_of_your_own_gets_the_whole_response(tmp_path: Path) -> None:
    source = "def size(response, answer):\n    return float(len(response))\n\nsize.range = (0.0, 100.0)\n"
    (tmp_path / "mine.py").write_text(source)
    names, text = ("accuracy", f"{tmp_path / 'mine.py'}:size"), r"<think>I get \boxed{7}</think> 8"
    scores = score_responses(names, [text], ["7"], Grader(reasoning="after"), policy="boxed_last")
    assert scores == {names[0]: [0.0], names[1]: [float(len(text))]}
