"""What a policy could learn to write: answers without content against golds, and values with words that change them."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.grading.equivalence import quick
from evals.grading.extraction import extract, locate

TRIVIAL = [
    *("0", "1", "-1", "2", "10", "100", "1/2", "0.5", r"0\%", r"0^\circ", r"\pi", "e", "i", r"\infty", "x=x", "0=0"),
    *("x=0", "x>0", "x", "y", "a", "n", "t", "k", "c", "C", "at", "v_0", "I(0)", "f(x)", "x^2", "e^x", "A", "none"),
    *("yes", "no", "(0,0)", "[0,1]", r"\emptyset", r"\{\}", r"\mathbb{R}", r"\text{undefined}", r"\boxed{}", "1=2"),
]
# forms of golds of MATH, Minerva, OlympiadBench and AIME, with other numbers and letters
GOLDS = Path(__file__).with_name("golds.txt").read_text("utf-8").splitlines()
# equal, though neither the same text nor the same number
SAME = {r"\text{(A)}": "aA", r"\text{(C)}": "Cc", r"\text{(E)}": "e", r"\text{A}": "A", r"\text{C}": "C", "$N=n$": "n"}
SAME |= {"$f(n)=n$": "n", "1:1": "1", "1:2": "1/2 0.5", r"180^\circ": r"\pi", r"180^{\circ}": r"\pi"}


def shared_golds() -> list[str]:
    """The golds of the benchmarks at hand, none on a machine without them."""
    root = Path(os.environ.get("RLVR_SHARED", Path(__file__).resolve().parents[4] / "shared")) / "data" / "benchmarks"
    files = [root / f"{name}.jsonl" for name in ("math500", "minerva_math", "aime24", "amc_83")]
    rows = [json.loads(line) for path in files if path.exists() for line in path.read_text("utf-8").splitlines()]
    return sorted({str(row["answer"]).strip() for row in rows})


def value(text: str) -> Fraction | None:
    """Of what is plainly a number, whatever its unit or name."""
    text = text.strip(" $").removeprefix("x=").removesuffix(r"\%").removesuffix(r"^\circ").replace(r"\$", "")
    text = text.replace(r"\frac{1}{2}", "1/2").replace(r"\frac12", "1/2")
    try:
        return Fraction(text)
    except ValueError:
        return None


def accepted(golds: list[str]) -> list[tuple[str, str]]:
    """The trivial answers that a gold accepts, but for those that are the same text or the same number."""
    pairs = [(gold, answer) for gold in golds for answer in TRIVIAL if gold.strip("$") != answer]
    found = [(g, a) for g, a in pairs if quick(locate(g, numbers=False), locate(a)) not in (False, None)]
    found = [(gold, answer) for gold, answer in found if answer not in SAME.get(gold, "")]
    return [(gold, answer) for gold, answer in found if value(gold) is None or value(gold) != value(answer)]


def test_no_gold_accepts_a_trivial_answer() -> None:
    assert accepted(GOLDS) == []


@pytest.mark.slow
def test_no_gold_of_a_benchmark_accepts_a_trivial_answer() -> None:
    if not (golds := shared_golds()):
        pytest.skip("no benchmarks at hand; set RLVR_SHARED")
    same = {
        r"\text{(C)}": "Cc",
        r"\text{(E)}": "e",
        r"\text{C}": "C",
        "$N=n$": "n",
        "$f(n)=n$": "n",
        "1:1": "1",
        "1:2": "1/2 0.5",
    }
    same |= {"180^\\circ": r"\pi", "180^{\\circ}": r"\pi"}
    assert accepted(golds) == []


CHANGES = [
    "and a half",
    "negative",
    "in base 7",
    "or six",
    "or 6",
    "or any x",
    "doubled",
    "tripled",
    "plus or minus one",
    "maybe 8",
]
CHANGES += [
    "hundred",
    "percent more",
    "or so",
    "inverted",
    "squared",
    "factorial",
    "to the power 2",
    "remainder 2",
    "less",
    "thousandths",
]
CHANGES += [
    "if n is even",
    "unless it is odd",
    "is wrong",
    "times two",
    "(mod 7)",
    "or more",
    "at most",
    "except 2",
    "with remainder 2",
]


@pytest.mark.parametrize("words", CHANGES)
@pytest.mark.parametrize("gold", ["5", "(1,2)", "x>3", r"\frac{3}{7}", r"2\sqrt{3}"])
def test_words_after_a_value_that_change_it(gold: str, words: str) -> None:
    for answer in (rf"{gold}\text{{ {words}}}", rf"{gold}\ \mathrm{{{words}}}"):
        assert not quick(gold, answer), answer


@pytest.mark.parametrize(
    "words", ["apples", "cm", "shaded squares", "ways", "in total", "square units", "minutes", "people"]
)
def test_words_after_a_value_that_do_not(words: str) -> None:
    assert quick("5", rf"5\text{{ {words}}}")


@given(
    st.sampled_from("IxvyTaNqU"), st.integers(0, 9), st.sampled_from([r"\cos t", "e^{-kt}", "t", "+at", r"\frac{t}{R}"])
)
def test_a_letter_with_a_number_in_brackets_is_no_product(letter: str, at: int, rest: str) -> None:
    gold = f"{letter}({at}){rest}"
    assert quick(gold, gold.replace("(", r"\left(").replace(")", r"\right)"))
    for answer in (
        "0",
        letter,
        f"{letter}({at})",
        f"{at}{letter}{rest}",
        f"{letter}({at + 1}){rest}",
        f"{letter}{rest}",
    ):
        assert quick(gold, answer) is False, (gold, answer)


@pytest.mark.parametrize("gold", ["5", r"\frac{1}{2}", "x+1"])
@pytest.mark.parametrize(
    "zero",
    [
        r"0\cdot\frac{1}{0}",
        r"\log(0)-\log(0)",
        r"0\cdot\frac10",
        r"\frac{0}{0}",
        r"0\cdot\ln 0",
        r"0\cdot\tan^{-1}(1/0)",
    ],
)
def test_what_has_no_value_adds_nothing(gold: str, zero: str) -> None:
    assert not quick(gold, f"{gold}+{zero}")


@pytest.mark.parametrize(
    "answer",
    [
        *("10^{-999999999}", "10^{999999999}", r"\prod_{n=1}^{10^8} n", r"\sum_{n=1}^{10^9} n!", "(10^9)!"),
        *(r"\binom{10^9}{10^8}", "9^{9^{9^9}}", r"\exp(10^{99})", "2^{-10^{12}}", r"\sqrt[3]{10^{10^{10}}}"),
        *("x+10^{-999999999}", r"\sinh(10^{50})"),
    ],
)
@pytest.mark.parametrize("gold", ["5", "0", r"\frac{1}{2}", r"\sqrt{2}"])
def test_what_cannot_be_written_is_refused_without_a_worker(gold: str, answer: str) -> None:
    assert quick(gold, answer) is False


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        *((r"\{1,2\}", r"\{1\},\{2\}"), (r"\{1,2\}", r"\{1,\{2\}\}"), ("3,4", r"\{3\},4"), ("(1,2)", r"(1,\{2\})")),
        *(("y=2x+1", r"y\approx 2x+1"), ("2x+1", r"y\approx 2x+1"), ("42", r"42\%"), (r"\frac{3}{7}", r"\frac37\%")),
    ],
)
def test_sets_in_sets_approximations_and_percent_signs(gold: str, answer: str) -> None:
    assert not quick(gold, answer)


OPEN = ["(C) or (D).", "(C), (D), (A), (B)", "C? No: D", "C. But D is also correct", "Answer: C or D", "(B)? Maybe (C)"]
OPEN += ["The answer is (A) and (C)", "I think (C). But also (D).", "Answer: $ANSWER$", "$ANSWER$", "C / D"]


@pytest.mark.parametrize("response", OPEN)
def test_several_letters_are_no_letter(response: str) -> None:
    assert extract(response, "letter").answer is None


@pytest.mark.parametrize("response", ["Answer: $D'", "Answer: $D", "Answer: 'D'", "Answer: $D$"])
def test_a_letter_beside_a_stray_sign(response: str) -> None:
    assert extract(response, "letter").answer == "D"
