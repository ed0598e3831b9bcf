"""Plain answers skip the reading of code and of Unicode, which would leave them as they are."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evals.grading.spelling import _ASCII, _ONLY_LATEX, from_code, in_latex

COMMANDS = [r"\sin", r"\log", r"\sqrt", r"\frac", r"\pi", r"\math", r"\Sin"]
PIECES = [*COMMANDS, *"(){}[]23^_+-=\\IEx,/|! "]


@settings(max_examples=500)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_what_skips_the_reading_of_code_is_not_code(text: str) -> None:
    assume(_ONLY_LATEX.fullmatch(text))
    assert from_code(text) == text


def test_code_is_read() -> None:
    for text in ("sin(x)", "2*3", "2**3", "pi", "Sin[2]", "2./3", "2*I"):
        assert not _ONLY_LATEX.fullmatch(text)
    assert _ONLY_LATEX.fullmatch(r"\frac{1}{2}")


@settings(max_examples=500)
@given(
    st.lists(
        st.sampled_from([*PIECES, "\t", "\n", "  ", "½", "frac", "\x0c"]) | st.characters(max_codepoint=300), max_size=9
    ).map("".join)
)
def test_what_skips_the_reading_of_unicode_has_none(text: str) -> None:
    assume(_ASCII.fullmatch(text))
    assert in_latex(text) == text


def test_unicode_is_read() -> None:
    for text in ("½", "2 × 3", "a  b", "\x0crac12", "x=1\ny=2"):
        assert not _ASCII.fullmatch(text)
    assert _ASCII.fullmatch(r"\frac{1}{2} + x")
