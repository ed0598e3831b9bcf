"""A judge's answers are read as yes, no or unknown; equal questions are asked once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from evals.analysis.responses.forms import response_table, shares
from evals.analysis.responses.judge import Judge, parse
from evals.sampling.engines.base import Completion, Decoding, Request
from tests.evals.analysis.verdict_tables import table


class Scripted:
    """Says what the response in the question says after "judge:"."""

    chunk_rows, tokenizer, context = 8, None, None

    def __init__(self) -> None:
        self.asked: list[Request] = []

    def describe(self) -> dict[str, Any]:
        return {"name": "scripted"}

    def generate(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[list[Completion]]:
        assert decoding.temperature == 0
        for request in reversed(requests):  # engines answer in any order
            self.asked.append(request)
            said = request.prompt_text.partition("judge:")[2].split("\n")[0]
            yield [Completion(request.key, said, 1, "stop")]


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        ("Yes.", True),
        ("no", False),
        ("It may say yes, but: No", False),
        ("maybe", None),
        ("", None),
        ("yesterday", None),
    ],
)
def test_an_answer_is_yes_no_or_unknown(answer: str, read: bool | None) -> None:
    assert parse(answer) is read


def test_each_response_gets_its_own_answer_and_equal_ones_are_asked_once() -> None:
    engine = Scripted()
    texts = ["judge: yes", "judge: no", "judge: hm", "judge: yes"]
    assert Judge(engine, "scripted")(texts, ["p", "p", "p", "p"]) == [True, False, None, True]
    assert len(engine.asked) == 3 and "Problem:\np\n" in engine.asked[0].prompt_text
    assert engine.asked[0].messages is not None and engine.asked[0].messages[0]["role"] == "user"


def test_an_unknown_judgement_is_excluded_and_not_counted_as_relevant() -> None:
    given = table({"p": "cc", "q": "w"}, response=["judge: yes", "judge: hm", "judge: no"])
    made = response_table(given, judge=Judge(Scripted(), "scripted"), problems={"p": "P", "q": "Q"})
    assert made["judged_irrelevant"].tolist()[0] == 1 and made["judged_irrelevant"].isna().tolist() == [
        False,
        True,
        False,
    ]
    row = shares({"a": made}).set_index("measure").loc["judged_irrelevant"]
    # p: 1 of 1 known, q: 0 of 1
    assert row["value"] == 0.5 and row["samples"] == 2
    assert "judged_irrelevant" not in response_table(given)
