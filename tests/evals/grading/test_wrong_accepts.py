"""Texts that a policy could learn to write to be paid without knowing the answer: each family on many golds.

A family changes a right answer, or leaves it open, in one way (`changes.txt`, `%s` is the right answer). The golds have
the forms of MATH, Minerva, OlympiadBench and AIME. The last test takes golds of the benchmarks at hand.
"""

from __future__ import annotations

import json
import os
import re
import time
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.grading import Conventions, Grader
from evals.grading.equivalence import UnscorableError, equal
from evals.grading.extraction import extract
from evals.grading.verdicts import Verdict


def changes() -> dict[str, list[str]]:
    """A section for each family of `changes.txt`, a change a line."""
    families: dict[str, list[str]] = {}
    for line in Path(__file__).with_name("changes.txt").read_text("utf-8").splitlines():
        if title := re.fullmatch(r"\[([a-z ]+)\]", line):
            forms = families[title[1]] = []
        else:
            forms.append(line.replace("(nothing)", ""))
    return families


CHANGES = changes()
FORMS = [
    *("5", "-5", r"\frac{3}{7}", "1/2", r"2\sqrt{3}", "x+1", "y=2x+1", "(1,2)", r"\{1,2\}", "[0,1)", "x>3", "8.7e8"),
    *(r"\text{Tuesday}", "even", r"5\text{ cm}", "0.25", r"\pi", r"\infty", r"\emptyset", "3+4i", "n^2+1", r"\$5"),
    *(r"\begin{pmatrix}1\\2\end{pmatrix}", r"C_1e^x+C_2e^{-x}", r"k\pi", "2^{10}", "1,000", "1:2"),
]
# the same value or the same word after all, or another form of the gold's own words
EQUAL = {
    ("-%s", r"\emptyset"), ("%s/0", r"\infty"), ("(%s", r"\text{Tuesday}"), ("(%s", "even"), ("{%s", r"\text{Tuesday}"),
}  # fmt: skip


@pytest.mark.parametrize("family", list(CHANGES)[:-2])
def test_no_change_of_an_answer_is_accepted(family: str) -> None:
    pairs = [(gold, form % gold if "%s" in form else form) for gold in FORMS for form in CHANGES[family]
             if (form, gold) not in EQUAL]  # fmt: skip
    assert [pair for pair in pairs if accepts(*pair)] == []


def accepts(gold: str, answer: str) -> bool:
    """Whether an answer is correct. One that cannot be decided is unscored."""
    try:
        return equal(gold, answer)
    except UnscorableError:
        return False


# + concludes its gold, ? concludes it in words that are not read, - names the gold's value and concludes another one
SENTENCES = [line.split(" ", 1) for line in Path(__file__).with_name("sentences.txt").read_text("utf-8").splitlines()]
CONCLUDES = {mark: [tuple(pair.split(" | ", 1)) for other, pair in SENTENCES if other == mark] for mark in "+?-"}


def test_a_sentence_is_read_by_its_conclusion() -> None:
    assert len(CONCLUDES["+"]) > 35 and [pair for pair in CONCLUDES["+"] if not equal(*pair)] == []
    assert [pair for pair in CONCLUDES["?"] if accepts(*pair)] == []  # right ones, unscored: a `+` once they are read


@pytest.mark.parametrize("gold", ["5", r"\frac{3}{7}", "x+1", "(1,2)", r"5\text{ cm}"])
def test_no_sentence_that_concludes_something_else_is_accepted(gold: str) -> None:
    sentences = [sentence.replace("}5", "}" + gold) for _, sentence in CONCLUDES["-"] if "}5" in sentence]
    assert len(sentences) > 120 and [sentence for sentence in sentences if accepts(gold, sentence)] == []


INTEGER = st.integers(-999, 999)
LETTERS = st.sampled_from("IxvyTaNqU")


@given(INTEGER, INTEGER.filter(bool), st.integers(1, 9))
def test_no_change_of_a_number_is_accepted(number: int, off: int, digit: int) -> None:
    gold, other = str(number), str(number + off)
    wrong = [
        other,
        f"{gold}, {other}",
        rf"{gold}\text{{ or }}{other}",
        f"{other}={gold}",
        f"{gold}={other}",
        f"{gold}{digit}",
    ]
    wrong += [
        rf"\sqrt{{{gold}}}+{off}",
        f"{gold}.{digit}",
        rf"{gold}+\frac{{{digit}}}{{10^9}}",
        rf"{gold}\cdot 10^{{{digit}}}+{off}",
    ]
    wrong += [
        f"[{gold},{other}]",
        rf"{gold}<x<{other}",
        rf"\frac{{{gold}}}{{{abs(number) + digit + 1}}}-{digit}",
        f"{gold}_{digit + 1}",
    ]
    assert [answer for answer in wrong if equal(gold, answer)] == []


@given(LETTERS, st.integers(0, 9), st.sampled_from([r"\cos t", "e^{-kt}", "t", "+at", r"\frac{t}{R}"]))
def test_a_letter_with_a_number_in_brackets_is_no_product(letter: str, at: int, rest: str) -> None:
    gold = f"{letter}({at}){rest}"
    assert equal(gold, gold.replace("(", r"\left(").replace(")", r"\right)"))
    changes = ["0", letter, f"{letter}({at})", f"{at}{letter}{rest}", f"{letter}({at + 1}){rest}", f"{letter}{rest}"]
    assert [answer for answer in changes if equal(gold, answer)] == []


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=4, unique=True), st.integers(21, 99))
def test_a_list_or_set_is_met_by_all_its_items_alone(items: list[int], more: int) -> None:
    gold, *texts = (
        ", ".join(map(str, selection)) for selection in (items, items[1:], [*items, more], [more, *items[1:]])
    )
    texts += [
        rf"\{{{items[0]}\}}, \{{{', '.join(map(str, items[1:]))}\}}",
        rf"({gold}), {more}",
        rf"\{{{gold}\}}, \{{{more}\}}",
    ]
    texts += [
        rf"\{{{items[0]}, \{{{', '.join(map(str, items[1:]))}\}}\}}",
        f"{gold}, ...",
        f"{gold}, {items[0]}, {more}",
    ]
    assert [text for text in texts if equal(gold, text) or equal(rf"\{{{gold}\}}", text)] == []


@given(
    st.integers(1, 400),
    st.sampled_from(["m cm", "km m", "kg g", "h min", "s ms", "ft in", "L mL", "m kg", "N J", "m m^2"]),
)
def test_a_unit_that_changes_the_value(count: int, units: str) -> None:
    first, second = units.split()
    assert not equal(rf"{count}\text{{ {first}}}", rf"{count}\text{{ {second}}}")
    assert equal(rf"{count}\text{{ {first}}}", rf"{count}\mathrm{{{first}}}")


def test_an_approximation_is_rounded_or_cut_off() -> None:
    # 5 sqrt(2) is 7.0711
    assert all(equal(r"5\sqrt{2}", rf"5\sqrt{{2}} \approx {near}") for near in ("7", "7.1", "7.07", "7.071"))
    assert not any(equal(r"5\sqrt{2}", rf"5\sqrt{{2}} \approx {off}") for off in ("8", "6", "7.2", "9"))


@pytest.mark.parametrize("more", ["или 8", "or 8", "8", ", 8", "? 8"])
def test_a_unit_with_another_number_behind_it_is_none(more: str) -> None:
    assert not accepts(r"5\text{ cm}^2", rf"5\text{{ cm}}^2\text{{ {more}}}")
    assert not accepts(r"5\text{ cm}", rf"5\text{{ cm {more}}}")


@pytest.mark.parametrize(
    "words", ["apples", "cm", "shaded squares", "ways", "in total", "square units", "minutes", "people", "dollars"]
)
def test_a_unit_or_a_counted_thing_may_follow(words: str) -> None:
    assert equal("5", rf"5\text{{ {words}}}") and equal(rf"5\text{{ {words}}}", "5")


def test_a_percent_sign_is_a_hundredth_unless_the_convention_says_else() -> None:
    assert equal("0.42", r"42\%") and equal(r"42\%", "42") and not equal("42", r"42\%")
    assert equal("42", r"42\%", Conventions(percent_sign=True))


@pytest.mark.parametrize("answer", CHANGES["arithmetic that costs much"])
def test_what_costs_much_is_refused_at_once(answer: str) -> None:
    started = time.process_time()
    for gold in ("5", "0", r"\frac{1}{2}", r"\sqrt{2}"):
        assert not accepts(gold, answer)
    assert time.process_time() - started < 2


@pytest.mark.parametrize("response", CHANGES["several letters or a denied one"])
def test_several_letters_or_a_denied_one_are_no_letter(response: str) -> None:
    assert extract(response, "letter").answer is None


@pytest.mark.parametrize(
    "answer", ["(C) or (D)", "(C), (D)", "(C) (D)", "(C) no, (D)", "C and then D", "not (C)", "(C) is wrong", "(C)?"]
)
def test_a_bare_answer_of_several_letters_is_no_choice(answer: str) -> None:
    assert not equal("(C)", answer) and not equal("C", answer)


# -- trivial answers ---------------------------------------------------------------------------------------------------

TRIVIAL = [
    *("0", "1", "-1", "2", "10", "100", "1/2", "0.5", r"0\%", r"0^\circ", r"\pi", "e", "i", r"\infty", "x=x", "0=0"),
    *("x=0", "x>0", "x", "y", "a", "n", "t", "k", "c", "C", "at", "v_0", "I(0)", "f(x)", "x^2", "e^x", "A", "none"),
    *("yes", "no", "(0,0)", "[0,1]", r"\emptyset", r"\{\}", r"\mathbb{R}", r"\text{undefined}", r"\boxed{}", "1=2"),
]
GOLDS = Path(__file__).with_name("golds.txt").read_text("utf-8").splitlines()
# equal, though neither the same text nor the same number
SAME = {
    "A": "a",
    "C": "c",
    r"\text{(A)}": "aA",
    r"\text{(C)}": "Cc",
    r"\text{(E)}": "e",
    r"\text{A}": "A",
    r"\text{C}": "C",
    "$N=n$": "n",
}
SAME |= {
    "$f(n)=n$": "n",
    "1:1": "1",
    "1:2": "1/2 0.5",
    r"180^\circ": r"\pi",
    r"180^{\circ}": r"\pi",
    "+\\infty": r"\infty",
}
SAME |= {r"\emptyset": r"none\{\}", r"(-\infty,\infty)": r"\mathbb{R}", r"100\%": "1"}


def golds_by_benchmark() -> list[list[str]]:
    """The golds of each benchmark at hand, none on a machine without them."""
    data = Path(os.environ.get("RLVR_SHARED", Path(__file__).resolve().parents[4] / "shared")) / "data"
    files = sorted([*(data / "benchmarks").glob("*.jsonl"), *(data / "fresh").glob("*.jsonl")])
    rows = [[json.loads(line) for line in path.read_text("utf-8").split("\n") if line] for path in files]
    return [sorted({str(row["answer"]).strip() for row in of_file}) for of_file in rows]


def benchmark_golds() -> list[str]:
    """The golds of all benchmarks at hand."""
    return sorted({gold for golds in golds_by_benchmark() for gold in golds})


def value(text: str) -> Fraction | None:
    """The value of a text that is plainly a number, whatever its unit or name."""
    for mark in (
        "$",
        "x=",
        "x = ",
        "k=",
        "b=",
        "f(x)=",
        r"\%",
        r"^\circ",
        r"\text{ square units}",
        r"\;\text{edges}",
        "\\",
    ):
        text = text.replace(mark, "")
    try:
        return Fraction(text.strip().replace("frac{1}{2}", "1/2").replace("frac12", "1/2"))
    except ValueError:
        return None


def accepted(golds: list[str]) -> list[tuple[str, str]]:
    """The trivial answers that a gold accepts, but for those that are the same text or the same value."""
    pairs = [(g, a) for g in golds for a in TRIVIAL if g.strip("$") != a and a not in SAME.get(g, "")]
    pairs = [(gold, answer) for gold, answer in pairs if value(gold) is None or value(gold) != value(answer)]
    grader = Grader()
    grades = grader.grade_answers(pairs)
    return [pair for pair, grade in zip(pairs, grades, strict=True) if grade.verdict is Verdict.CORRECT]


def test_no_gold_accepts_a_trivial_answer() -> None:
    assert accepted(GOLDS) == []


@pytest.mark.slow
@pytest.mark.parametrize("every", [25, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_no_gold_of_a_benchmark_accepts_a_trivial_answer(every: int) -> None:
    if not (golds := benchmark_golds()):
        pytest.skip("no benchmarks at hand; set RLVR_SHARED")
    assert accepted(golds[::every]) == []


@pytest.mark.parametrize("response", ["Answer: $D'", "Answer: $D", "Answer: 'D'", "Answer: $D$"])
def test_a_letter_beside_a_stray_sign_is_one(response: str) -> None:
    assert extract(response, "letter").answer == "D"


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("1,3", "O(1,3)"),
        ("(0,1]", "(0,1]^{T}"),
        (r"(1,\infty)", r"(1,\infty)^T"),
        ("x - 3z = 0", r"x - 3z = 0\text{ out of 8}"),
        ("5", r"\text{doppelt so viel wie }$\quad 5$"),
    ],
)
def test_what_changes_a_gold_is_no_ornament(gold: str, answer: str) -> None:
    assert not accepts(gold, answer)


@pytest.mark.parametrize(("gold", "answer"), [("(1,3)", "O(1,3)"), ("(0,1)", "(0,1)^{T}")])
def test_the_forms_beside_them_are_read(gold: str, answer: str) -> None:
    assert accepts(gold, answer)
