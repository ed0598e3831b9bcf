r"""Quality flags: each by examples that it must and must not find."""

from __future__ import annotations

import pytest

from evals.analysis.responses.quality import Flags, flags, garbled, letters_of


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


@pytest.mark.parametrize(("text", "expected"), [("所以 x = 2", {"所", "以"}), ("значит", set()), ("x ∑ π", set())])
def test_a_chinese_character_is_language_mixing_and_no_other_script_is(text: str, expected: set[str]) -> None:
    assert letters_of(text) == expected
    assert flags(text).language_mixing == bool(expected)


def test_other_scripts_can_be_asked_for() -> None:
    assert letters_of("значит so", ("Cyrillic",)) == set("значит") and flags("да", mixing=("Cyrillic",)).language_mixing
    with pytest.raises(ValueError, match=r"expected names of Unicode scripts, got .*Elvish"):
        letters_of("a", ("Elvish",))
    with pytest.raises(ValueError, match="one Unicode script or more"):
        letters_of("a", ())
