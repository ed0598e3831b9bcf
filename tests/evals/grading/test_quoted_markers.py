"""A marker of a thought that is only spoken about ends no thought. gpt-oss's final channel without a message."""

from __future__ import annotations

import pytest

from evals.grading import Grader
from evals.grading.reasoning import graded_part

RIGHT = [  # the response is graded, and its answer is 7
    r"<|channel|>analysis<|message|>hm \boxed{8}?<|end|><|start|>assistant<|channel|>final \boxed{7}",  # the issue's
    r"<|channel|>analysis hm \boxed{8}? <|channel|>final \boxed{7}",
    r"<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>\boxed{7}<|return|>",
    r"<|channel|>analysis<|message|>hm<|end|><|channel|>final <|constrain|>JSON<|message|>\boxed{7}",
    r"<|channel|>analysis<|message|>a<|end|><|channel|>commentary<|message|>b<|end|><|channel|>final<|message|>\boxed{7}",
    r"<think>hm</think> It is \boxed{7}. (I closed my `</think>` tag.)",  # the issue's
    r'<think>hm</think> It is \boxed{7}. The tag "</think>" came before it.',
    r"hm</think> It is \boxed{7}. The tag '</think>' came before it.",
    r"<think>hm</think> It is \boxed{7}. “</think>” came before it.",
    r"<think>hm</think> It is \boxed{7}. </think>",  # closed once more
    r"<think>hm</think> It is \boxed{7}. My </think> came before it.",
    r"hm</think> It is \boxed{7}.</think>",
    r"[THINK]hm[/THINK]So \boxed{7}[/THINK]",
    r"<think>hm</think> My `<think>` was long. It is \boxed{7}",  # a quoted beginning cut the response
    r"The tag `<think>` opens a thought. It is \boxed{7}",
    r"<think>I must end with `</think>`, then \boxed{8}? No.</think>It is \boxed{7}",  # quoted inside the thought
    r"<think>a</think><think>b \boxed{8}</think>\boxed{7}",
]


@pytest.mark.parametrize("response", RIGHT)
def test_the_answer_is_found(response: str) -> None:
    (grade,) = Grader().grade_responses([("7", response, "stop")])
    assert grade.verdict == "correct", graded_part(response, "stop")
    part, reason = graded_part(response, "stop")
    assert graded_part(part, reason) == (part, reason)  # twice is once


@pytest.mark.parametrize(
    ("response", "verdict"),
    [
        (r"<|channel|>analysis<|message|>hm \boxed{7}", "truncated"),
        (r"<think>I will write `</think>` at the end, \boxed{7}", "truncated"),  # never closed
        (r"<think>\boxed{7}</think> It is 8.", "no_answer"),
        (r"<think>a</think> so <think>\boxed{7}", "truncated"),
        (r"<think>The word final: \boxed{7}</think> It is \boxed{8}", "wrong"),
    ],
)
def test_what_is_thought_is_not_graded(response: str, verdict: str) -> None:
    (grade,) = Grader().grade_responses([("7", response, None)])
    assert grade.verdict == verdict
