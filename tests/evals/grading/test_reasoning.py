"""The part of a response with a thought in it that is graded."""

from __future__ import annotations

import pytest

from evals.answer_files.policies import policy_effects
from evals.data import protocols
from evals.grading import Grader
from evals.grading.reasoning import begins, graded_part, has_marker
from evals.provenance import Origin

CASES = [  # response, finish reason, begun by the prompt, verdict on the gold 7: after, whole
    (r"<think>I get \boxed{7}</think> It is 8.", None, False, "no_answer", "correct"),
    (r"<think>I get \boxed{7}</think> It is \boxed{8}.", None, False, "wrong", "wrong"),
    (r"<think>I get \boxed{8}</think> It is \boxed{7}.", None, False, "correct", "correct"),
    (r"<think>maybe \boxed{7}? let me check", None, False, "truncated", "correct"),
    (r"<think>maybe \boxed{7}? let me check", "stop", False, "truncated", "correct"),
    (r"maybe \boxed{7}? let me check", "length", True, "truncated", "correct"),  # the template began the thought
    (r"maybe \boxed{8}?</think>\boxed{7}", "stop", True, "correct", "correct"),
    (r"a</think>\boxed{8}<think>b</think>\boxed{7}", "stop", False, "correct", "correct"),  # the last
    (r"a</think>\boxed{7}<think>b", "length", False, "correct", "correct"),  # answered before it was cut
    (r"<|begin_of_thought|>\boxed{8}<|end_of_thought|>\boxed{7}", "stop", False, "correct", "correct"),
    (r"[THINK]\boxed{7}[/THINK]So \boxed{8}", "stop", False, "wrong", "wrong"),
    (r"<|channel|>analysis<|message|>\boxed{8}<|end|><|channel|>final<|message|>\boxed{7}", "stop", False, "correct",
     "correct"),
    (r"no thought, \boxed{7}", None, False, "correct", "correct"),
]  # fmt: skip


@pytest.mark.parametrize(("response", "finish", "begun", "after", "whole"), CASES)
def test_the_part_after_the_last_thought_is_graded(
    response: str, finish: str | None, begun: bool, after: str, whole: str
) -> None:
    for reasoning, verdict in (("after", after), ("whole", whole)):
        part, reason = graded_part(response, finish, reasoning, begun)
        assert Grader(reasoning="whole").grade_responses([("7", part, reason)])[0].verdict == verdict
        if not begun:
            assert Grader(reasoning=reasoning).grade_responses([("7", response, finish)])[0].verdict == verdict
            part_once = graded_part(part, reason, reasoning)
            assert part_once == (part, reason)  # twice is once


def test_markers() -> None:
    assert has_marker("<think>") and has_marker("so</think>") and not has_marker("I think > 5")
    assert begins("<|im_start|>assistant\n<think>\n") and not begins("Use <think> and </think>.\nQuestion: 1?")
    assert not begins("<think>\n\n</think>\n\n")  # a template that turns thinking off
    with pytest.raises(ValueError, match=r"reasoning is 'before'\. Expected one of after, whole"):
        graded_part("", None, "before")


def test_its_effect_is_counted_like_a_policys() -> None:
    rows = [("7", r"<think>\boxed{7}</think>It is 8.", None), ("7", r"\boxed{7}", None)]
    grader = Grader()
    grades = grader.grade_responses(rows)
    effects = {effect.policy: effect for effect in policy_effects(rows, grades, grader, "boxed_last")}
    whole = effects["boxed_last, reasoning=whole"]
    assert (whole.correct, whole.gained, whole.lost) == (2, 1, 0)
    plain = policy_effects(rows[1:], grades[1:], grader, "boxed_last")
    assert not any("reasoning" in effect.policy for effect in plain)


def test_it_is_a_value_of_the_protocol_with_its_source() -> None:
    assert protocols.get("sampled").reasoning.value == "after"
    assert protocols.get("forking_tokens").reasoning.origin is Origin.CODE
    assert protocols.get("anchor_gsm8k").reasoning.value == "whole"
    changed = protocols.get("sampled").override({"reasoning": "whole"}, Origin.USER, "command line")
    assert changed.sourced()["reasoning"].value == "whole"
    with pytest.raises(ValueError, match=r"reasoning='before'\. Expected one of after, whole"):
        protocols.get("sampled").override({"reasoning": "before"}, Origin.USER, "command line")


def test_a_training_reward_reads_the_same_part() -> None:
    from harness.step.rewards import score_responses

    responses = [response for response, *_ in CASES[:5]]
    rewards = score_responses(["accuracy"], responses, ["7"] * 5, Grader(), policy="boxed_last")
    assert rewards == {"accuracy": [0.0, 0.0, 1.0, 0.0, 0.0]}
