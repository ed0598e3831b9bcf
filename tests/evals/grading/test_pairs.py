"""300 pairs of a gold and a response, in families, labelled by hand before the grader ran on them.

`pairs.jsonl` has a row per pair, with the reason of its label. Nobody looked at a third of each family (`held_out`)
while the rules were written. At commit fa6b9c17 the grader had 179 of the 300 right and accepted 22 wrong ones.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evals.grading import Grader
from evals.grading.verdicts import Verdict

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("pairs.jsonl").read_text("utf-8").splitlines()
]


def accepted(row: dict[str, Any]) -> bool | None:
    """None: unscored."""
    pair = row["gold"], row["response"]
    grader = Grader()
    if row["policy"] is None:
        [grade] = grader.grade_answers([pair])
    else:
        [grade] = grader.grade_responses([(*pair, None)], row["policy"])
    return None if grade.verdict is Verdict.UNSCORED else grade.verdict is Verdict.CORRECT


def test_the_pairs_are_those_that_were_labelled() -> None:
    assert len(ROWS) == len({(row["gold"], row["response"]) for row in ROWS}) == 300
    assert sum(row["right"] for row in ROWS) == 164 and sum(row["held_out"] for row in ROWS) == 100


@pytest.mark.parametrize("family", sorted({row["family"] for row in ROWS}))
def test_no_wrong_response_is_accepted(family: str) -> None:
    assert [row for row in ROWS if row["family"] == family and not row["right"] and accepted(row)] == []


def test_every_right_response_is_accepted() -> None:
    assert [row for row in ROWS if row["right"] and not accepted(row)] == []


# that an earlier rework lost, from others' responses
@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("4", r"\text{Yes, } n=4"),
        (r"\frac{1}{360000}", r"\frac{1}{360,000}"),
        (r"\frac{1}{2024}", r"\frac{1}{2,024}"),
        ("72", r"72 \qquad \text{QED}"),
        ("(n, 1)", "(f(n), g(n)) = (n, 1)"),
        ("f(n)=n, g(n)=1", "(f(n), g(n)) = (n, 1)"),
    ],
)
def test_a_form_that_was_lost(gold: str, answer: str) -> None:
    assert accepted({"gold": gold, "response": answer, "policy": None}) is True
