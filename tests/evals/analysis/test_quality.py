"""Quality flags by examples, 3-gram redundancy by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.analysis.quality import flags, garbled, redundancy


@pytest.mark.parametrize(
    ("text", "violation"),
    [(r"\boxed{1}", False), ("1", True), (r"\boxed{1} and \boxed{1}", True), (r"\boxed 1", True), (r"\boxed{1", False)],
)
def test_a_response_without_exactly_one_box_violates_the_format(text: str, violation: bool) -> None:
    assert flags(text).format_violation is violation  # the paper counts "\boxed{" in the text, closed or not


def test_irrelevant_is_repetitive_or_garbled() -> None:
    # "a b c a b c": 1 - 3/4 = 0.25 redundant. Once more: 1 - 3/7 = 0.57. The paper's limit is 0.31
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
    for measure in ("not_distinct", "repeated"):
        assert redundancy("a b", measure) == 0 and redundancy("", measure) == 0  # type: ignore[arg-type]
        assert redundancy("a b c d e", measure) == 0  # type: ignore[arg-type]
    # one word n times: n - 2 3-grams, one distinct
    assert redundancy("a " * 100, "not_distinct") == pytest.approx(97 / 98)
    assert redundancy("a " * 100, "repeated") == pytest.approx(98 / 99)


@given(st.lists(st.sampled_from("ab"), max_size=12))
def test_equals_loops(words: list[str]) -> None:
    grams = [tuple(words[i : i + 3]) for i in range(len(words) - 2)]
    seen: set[tuple[str, ...]] = set()
    again = 0
    for gram in grams:
        again += gram in seen
        seen.add(gram)
    assert redundancy(" ".join(words), "not_distinct") == pytest.approx(again / len(grams) if grams else 0)
    repeated = sum(1 for gram in grams if grams.count(gram) > 1)
    assert redundancy(" ".join(words), "repeated") == pytest.approx(repeated / (len(grams) + 1))
