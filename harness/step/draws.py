"""A number in [0, 1) for each response, from a hash of texts.

A control that errs by such a number makes the same error in every process, order, run and backend. The errors are
those of a verifier: the same response is always judged alike.

    response_draw   of the prompt and the response
    answer_draw     of the prompt and the class of the response's answer, NaN without an answer

Two answers are of one class here if they are the same number, or have the same normal form (`evals.grading.spelling`).
The class is read from one response alone. The grader's own equality of two answers needs both.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from math import nan

from evals.grading.extraction import extract
from evals.grading.numbers import literal, number
from evals.grading.reasoning import begins, graded_part
from evals.grading.spelling import clean

_BITS = 24  # float32 holds each of these numbers exactly, so none is rounded up to 1


def draw(*texts: str) -> float:
    """Uniform over different texts."""
    digest = hashlib.sha256(json.dumps(texts).encode()).digest()
    return (int.from_bytes(digest[:8], "big") >> (64 - _BITS)) / 2.0**_BITS


def answer_class(response: str, *, policy: str, reasoning: str, begun: bool) -> str | None:
    """The class of the answer that the grader extracts, or None without one. The arguments are those of
    `harness.step.rewards.score_responses`, for one response."""
    part, _ = graded_part(response, None, reasoning, begun)
    answer = extract(part, policy).answer
    if answer is None:
        return None
    spelled = clean(answer)
    value = number(spelled)
    return literal(spelled) if value is None else str(value.value)


def response_draws(
    names: Sequence[str], prompt: str, response: str, *, policy: str, reasoning: str
) -> dict[str, float]:
    """Those of `harness.step.batch.DRAWS` that `names` lists, for one response."""
    draws = {}
    if "response_draw" in names:
        draws["response_draw"] = draw(prompt, response)
    if "answer_draw" in names:
        answer = answer_class(response, policy=policy, reasoning=reasoning, begun=begins(prompt))
        draws["answer_draw"] = nan if answer is None else draw(prompt, answer)
    return draws
