r"""Quality flags: each by examples that it must and must not find."""

from __future__ import annotations

import pytest

from evals.analysis.responses.quality import Flags, flags, foreign_letters, garbled


def test_a_clean_response_has_no_flag() -> None:
    assert flags(r"Let α = π/2, 𝑥 ∈ ℝ, ℵ₀ and naïve; 3 × 10⁻⁴ µm → \boxed{42}") == Flags(False, False, False)


@pytest.mark.parametrize(
    ("text", "violation"),
    [(r"\boxed{1}", False), ("1", True), (r"\boxed{1} and \boxed{1}", True), (r"\boxed 1", True), (r"\boxed{1", False)],
)
def test_a_format_violation_is_another_number_of_openings_than_one(text: str, violation: bool) -> None:
    assert flags(text).format_violation is violation  # the paper counts "\boxed{" in the text, closed or not


def test_irrelevant_is_repetitive_or_garbled() -> None:
    # "a b c a b c": 1 - 3/4 = 0.25 redundant
    assert not flags("a b c a b c").irrelevant
    assert flags("a b c a b c", redundant_above=0.24).irrelevant
    assert flags("so so so so so so").irrelevant
    assert flags("so \x00 it is").irrelevant


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\ue000", "\U0010ffff", "\ufffd", chr(0xD800), "\u0378"])
def test_characters_of_no_writing_are_garbled(character: str) -> None:
    assert garbled(f"a{character}b")


@pytest.mark.parametrize("text", ["", "a\n\tb\r\n", "é 漢 🙂 ∑", "cut inside a charac\ufffd", "a\u200bb"])
def test_what_writing_uses_is_not_garbled(text: str) -> None:
    assert not garbled(text)


@pytest.mark.parametrize(("text", "found"), [("所以 x = 2", {"所", "以"}), ("значит", set("значит")), ("x", set())])
def test_letters_of_other_scripts(text: str, found: set[str]) -> None:
    assert foreign_letters(text) == found
    assert flags(text).language_mixing == bool(found)


def test_the_language_that_was_asked_for_is_native() -> None:
    assert foreign_letters("所以 so", ("Han",)) == {"s", "o"}
    assert not foreign_letters("所以 so", ("Han", "Latin"))
    with pytest.raises(ValueError, match=r"expected names of Unicode scripts, got .*Elvish"):
        foreign_letters("a", ("Elvish",))
