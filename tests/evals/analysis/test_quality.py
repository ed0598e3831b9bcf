"""Quality flags by examples, 3-gram redundancy by hand, and what is asked of a judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.analysis.forms import response_table, shares
from evals.analysis.quality import Flags, Judge, flags, garbled, parse, redundancy
from evals.sampling.engines.base import Completion, Decoding, Request
from tests.evals.analysis.verdict_tables import table
from tests.evals.sampling.chat_server import Handler, completion, serving


def test_a_clean_response_has_no_flag() -> None:
    assert flags(r"Let α = π/2, 𝑥 ∈ ℝ, ℵ₀ and naïve; 3 × 10⁻⁴ µm → \boxed{42}") == Flags(False, False, False)


@pytest.mark.parametrize(
    ("text", "violation"),
    [(r"\boxed{1}", False), ("1", True), (r"\boxed{1} and \boxed{1}", True), (r"\boxed 1", True), (r"\boxed{1", False)],
)
def test_a_response_without_exactly_one_box_violates_the_format(text: str, violation: bool) -> None:
    assert flags(text).format_violation is violation  # the paper counts "\boxed{" in the text, closed or not


def test_irrelevant_is_repetitive_or_garbled() -> None:
    # "a b c a b c": 1 - 3/4 = 0.25 redundant; once more: 1 - 3/7 = 0.57; the paper's limit is 0.31
    assert not flags("a b c a b c").irrelevant
    assert flags("a b c a b c a b c").irrelevant
    assert flags("so so so so so so").irrelevant
    assert flags("so \x00 it is").irrelevant


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\ue000", "\U0010ffff", "\ufffd", chr(0xD800), "\u0378"])
def test_characters_of_no_writing_system_are_garbled(character: str) -> None:
    assert garbled(f"a{character}b")


@pytest.mark.parametrize("text", ["", "a\n\tb\r\n", "é 漢 🙂 ∑", "cut inside a charac\ufffd", "a\u200bb"])
def test_characters_of_writing_systems_are_not_garbled(text: str) -> None:
    assert not garbled(text)


@pytest.mark.parametrize(("text", "expected"), [("所以 x = 2", True), ("значит", False), ("x ∑ π", False)])
def test_a_chinese_character_is_language_mixing_and_no_other_script_is(text: str, expected: bool) -> None:
    assert flags(text).language_mixing is expected


def test_by_hand() -> None:
    # "a b c a b c": 3-grams abc, bca, cab, abc: 4, of which 3 distinct, and abc occurs twice.
    assert redundancy("a b c a b c", "not_distinct") == pytest.approx(1 - 3 / 4)
    assert redundancy("a b c a b c", "repeated") == pytest.approx(2 / (4 + 1))
    # its 1-grams: 6, of which 3 distinct, all of them twice
    assert redundancy("a b c a b c", "not_distinct", n=1) == pytest.approx(1 / 2)
    assert redundancy("a b c a b c", "repeated", n=1) == pytest.approx(6 / 7)
    for measure in ("not_distinct", "repeated"):
        assert redundancy("a b", measure) == 0 and redundancy("", measure) == 0  # type: ignore[arg-type]
        assert redundancy("a b c d e", measure) == 0  # type: ignore[arg-type]
    # one word n times: n - 2 3-grams, one distinct
    assert redundancy("a " * 100, "not_distinct") == pytest.approx(97 / 98)
    assert redundancy("a " * 100, "repeated") == pytest.approx(98 / 99)


@given(st.lists(st.sampled_from("ab"), max_size=12), st.integers(1, 4))
def test_equals_loops(words: list[str], n: int) -> None:
    grams = [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
    seen: set[tuple[str, ...]] = set()
    again = 0
    for gram in grams:
        again += gram in seen
        seen.add(gram)
    assert redundancy(" ".join(words), "not_distinct", n=n) == pytest.approx(again / len(grams) if grams else 0)
    repeated = sum(1 for gram in grams if grams.count(gram) > 1)
    assert redundancy(" ".join(words), "repeated", n=n) == pytest.approx(repeated / (len(grams) + 1))


def test_n_must_be_positive() -> None:
    with pytest.raises(ValueError, match="n: expected at least 1, got 0"):
        redundancy("a", "repeated", n=0)


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


def test_each_response_gets_its_own_answer_and_equal_ones_are_judged_once() -> None:
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


def test_a_judge_behind_a_chat_server_fills_the_figure_of_quality() -> None:
    from rlvr.writing import _judge

    def garbled_where_it_says_so(handler: Handler, body: dict[str, Any]) -> None:
        handler.reply(200, completion(body, "Yes" if "%%%" in body["messages"][-1]["content"] else "No."))

    with serving() as server:
        server.usual = garbled_where_it_says_so
        judge = _judge("a-32b", server.url)
        given = table({"p": "cc", "q": "w"}, response=["so 7", "so %%% 7", "%%%"])
        made = response_table(given, judge=judge, problems={"p": "What is 3 + 4?", "q": "And 5?"})
    assert made["judged_irrelevant"].tolist() == [0, 1, 1]
    bodies = [body for _, _, body in server.seen]
    assert len(bodies) == 3
    for body in bodies:
        assert body["model"] == "a-32b" and body["temperature"] == 0 and body["max_tokens"] == judge.max_tokens
    assert any("What is 3 + 4?" in body["messages"][-1]["content"] for body in bodies)
