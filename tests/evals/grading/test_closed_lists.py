"""The closed lists of words: each entry's example needs it, and its counter-example is refused."""

from __future__ import annotations

import pytest

from evals.grading import asides, conclusion, letters
from evals.grading.equivalence import UnscorableError, equal
from evals.grading.extraction import extract


def accepts(answer: str) -> bool:
    try:
        return equal("5", answer)
    except UnscorableError:
        return False


@pytest.mark.parametrize("form", conclusion.FORMS, ids=lambda form: form.name)
def test_a_form_of_a_conclusion_is_needed(form: conclusion.Form, monkeypatch: pytest.MonkeyPatch) -> None:
    assert accepts(form.example) and not accepts(form.counter)
    fewer = conclusion._pattern([other for other in conclusion.FORMS if other is not form])
    monkeypatch.setattr(conclusion, "_FORM", fewer)
    assert not accepts(form.example)


@pytest.mark.parametrize("form", asides.FORMS, ids=lambda form: form.name)
def test_a_form_of_a_parenthesis_is_needed(form: asides.Form, monkeypatch: pytest.MonkeyPatch) -> None:
    assert accepts(form.example) and not accepts(form.counter)
    monkeypatch.setattr(asides, "FORMS", tuple(other for other in asides.FORMS if other is not form))
    assert not accepts(form.example)


@pytest.mark.parametrize(
    "words", ["or six", "wrong", "the other root", "if that is wrong, 6", "actually it is 6", "a bound"]
)
@pytest.mark.parametrize("gold", ["5", r"\frac{3}{7}", "x+1", "(1,2)", r"5\text{ cm}"])
def test_any_other_parenthesis_makes_another_answer(gold: str, words: str) -> None:
    assert not equal(gold, rf"{gold}\text{{ ({words})}}") and not equal(gold, f"{gold} ({words})")


def letter(response: str) -> str | None:
    return extract(response, "letter").answer


@pytest.mark.parametrize("words", letters.SET_ASIDE, ids=lambda words: words.example)
def test_a_letter_that_is_set_aside(words: letters.Words, monkeypatch: pytest.MonkeyPatch) -> None:
    assert letter(words.example) == "C" and letter(words.counter) is None
    monkeypatch.setattr(letters, "SET_ASIDE", tuple(other for other in letters.SET_ASIDE if other is not words))
    assert letter(words.example) is None


@pytest.mark.parametrize("words", letters.OFFERS, ids=lambda words: words.example)
def test_a_letter_that_is_offered(words: letters.Words, monkeypatch: pytest.MonkeyPatch) -> None:
    assert letter(words.example) is None and letter(words.counter) == "C"
    monkeypatch.setattr(letters, "OFFERS", tuple(other for other in letters.OFFERS if other is not words))
    assert letter(words.example) is not None


@pytest.mark.parametrize("other", [letter for letter in "ABDEFGHJ"])
@pytest.mark.parametrize(
    "hedge", ["C (if not, then {})", "C, with {} as a backup", "C, or maybe {}", "C; failing that, {}"]
)
def test_a_second_letter_is_no_answer(hedge: str, other: str) -> None:
    assert letter(f"Answer: {hedge.format(other)}") is None
    assert letter(rf"\boxed{{C \text{{ or }} {other}}}") is None


@pytest.mark.parametrize(
    ("answer", "same"),
    [
        (r"1024\text{ (which is }2^{10}\text{)}", True),
        (r"1024\text{ (which is }2^{9}\text{)}", False),
        (r"1024\text{ (or }2\cdot 512\text{)}", True),
        (r"1024\text{ (or }2\cdot 511\text{)}", False),
        (r"1024\text{ (i.e., }4^5)", True),
    ],
)
def test_the_same_value_in_a_parenthesis(answer: str, same: bool) -> None:
    assert equal("1024", answer) is same
