"""GPQA's letters: responses as models write them, each with the letter that a person reads in it as the final answer.

`letters.jsonl` was written by hand before the policy was run on it. When it read A to H and no option that is restated,
it had 22 of 42 right, and 38 of 45 others.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evals.grading.extraction import extract

ROWS = [json.loads(line) for line in Path(__file__).with_name("letters.jsonl").read_text("utf-8").splitlines()]


def test_every_letter_is_there() -> None:
    assert len(ROWS) == 140
    assert {row["letter"] for row in ROWS} == {*"ABCDEFGHIJ", None}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["response"][:60])
def test_the_letter_of_a_response(row: dict[str, str | None]) -> None:
    assert extract(str(row["response"]), "letter").answer == row["letter"]
