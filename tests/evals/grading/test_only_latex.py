"""Answers of commands and numbers alone skip the reading of code, which would leave them as they are."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evals.grading.code import from_code
from evals.grading.spelling import _ONLY_LATEX

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
