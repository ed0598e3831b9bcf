"""What a policy could learn to write to be paid without knowing the answer: each family on many golds.

A family changes a right answer, or leaves it open, in one way (`%s` is the right answer). The golds have the forms of
MATH, Minerva, OlympiadBench and AIME. The last test takes golds of the benchmarks at hand.
"""

from __future__ import annotations

import json
import os
import time
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.grading import Conventions, Grader
from evals.grading.equivalence import equal
from evals.grading.extraction import extract, locate
from evals.grading.verdicts import Verdict

FORMS = [
    *("5", "-5", r"\frac{3}{7}", "1/2", r"2\sqrt{3}", "x+1", "y=2x+1", "(1,2)", r"\{1,2\}", "[0,1)", "x>3", "8.7e8"),
    *(r"\text{Tuesday}", "even", r"5\text{ cm}", "0.25", r"\pi", r"\infty", r"\emptyset", "3+4i", "n^2+1", r"\$5"),
    *(r"\begin{pmatrix}1\\2\end{pmatrix}", r"C_1e^x+C_2e^{-x}", r"k\pi", "2^{10}", "1,000", "1:2"),
]
FAMILIES = {
    "a hedge": [
        *("%s or 7", r"%s\text{ or }7", r"7\text{ or }%s", "either %s or 7", r"%s\text{ (or 7)}", r"%s\text{ or six}"),
        *(
            r"\text{neither }%s\text{ nor }7",
            r"%s\text{ no wait }7",
            r"%s\text{ hmm }7",
            r"%s\text{ maybe 8}",
            "%s / 7",
        ),
        *(r"%s\text{ probably}", r"%s\text{ etc}", "%s?", "%s...", r"%s\text{ instead of }7", r"%s\text{ but also }7"),
    ],
    "several values": [
        *("%s, 7", "7, %s", "%s; 7", "%s and 7", r"%s\text{ and }7", r"\{%s, 7\}", "(%s, 7)", "[%s, 7]", "x=%s, x=7"),
        *(
            r"x=%s\text{ or }x=7",
            "x=%s, y=7",
            r"%s\quad 7",
            r"%s \\ 7",
            "%s 7",
            r"%s\ 7",
            "%s (7)",
            "%s:7",
            r"%s \cup 7",
        ),
    ],
    "a denial": [
        *(r"\text{not }%s", "not %s", r"\neg %s", r"\neq %s", r"x\neq %s", r"%s\text{ is wrong}", r"\cancel{%s}"),
        *(
            r"%s\text{ is incorrect}",
            r"\text{anything but }%s",
            r"\text{all except }%s",
            r"\not{%s}",
            r"%s\text{ is false}",
        ),
    ],
    "a bound or a range": [
        *(r"\ge %s", r"\le %s", ">%s", "<%s", r"\text{at least }%s", r"\text{less than }%s", r"\text{up to }%s"),
        *("1 to %s", "%s to 9", r"%s\pm 1", r"%s\pm 0.1", r"\text{between 1 and }%s", r"%s\text{ or more}", "%s-9"),
        *(r"%s\text{ at most}", r"%s\text{ if }n\text{ is even}", r"%s\text{ unless }x=0", r"%s\text{ if it is odd}"),
    ],
    "words that change the value": [
        *(
            rf"%s\text{{ {words}}}"
            for words in ("and a half", "negative", "in base 7", "doubled", "tripled", "hundred")
        ),
        *(rf"%s\text{{ {words}}}" for words in ("inverted", "squared", "factorial", "to the power 2", "remainder 2")),
        *(rf"%s\text{{ {words}}}" for words in ("times two", "(mod 7)", "modulo 7", "thousandths", "halves", "root")),
        *(rf"%s\text{{ {words}}}" for words in ("percent more", "with remainder 2", "choose 2", "dozen", "thousand")),
        *(
            rf"%s\text{{ {words}}}"
            for words in ("million", "plus 1", "minus three", "seven", "more", "rd power", "cubed")
        ),
        *(r"\text{the opposite of }%s", r"\text{half of }%s", r"\text{twice }%s", r"\text{the inverse of }%s"),
    ],
    "signs that change the value": [
        *("-%s", "--%s", "+-%s", "%s+", "%s-", "%s^", "%s_", "%s'", "%s_{8}", r"\overline{%s}", r"%s\uparrow", r"%s^*"),
        *(r"%s\star 2", r"%s\setminus 7", r"7\mid %s", r"\sim %s", r"\lim %s", r"\frac{%s}{}", r"\frac{}{%s}", "%s/0"),
        *(
            "(%s",
            "{%s",
            r"%s\cdot 10^3",
            r"10^{%s}",
            r"%s \pmod{7}",
            r"%s\Rightarrow 7",
            r"%s\to 7",
            r"\int %s",
            "1%s9",
        ),
    ],
    "nested sets": [r"\{\{%s\}\}", r"\{%s,\{7\}\}", r"\{\{%s\},7\}", r"\{%s\},\{7\}"],
    "arithmetic without a value": [
        *(r"%s+0\cdot\frac{1}{0}", r"%s+0\cdot\frac10", r"%s+\log(0)-\log(0)", r"%s+\frac{0}{0}", r"%s\cdot 0^0"),
        *(r"%s+0\cdot\ln 0", r"%s+0\cdot\tan\frac{\pi}{2}", r"%s+\infty-\infty", r"%s+0\cdot\infty"),
        *(r"%s+0\cdot\frac{1}{\sqrt{2}\sqrt{2}-2}", r"%s+0\cdot(-1)!", r"%s\cdot\frac{0}{0}"),
    ],
    "statements": ["1=2", "0=0", "2=2", "x=x", "7=%s", "%s=7", r"%s\equiv 0", ""],
    "a percent sign": [r"%s\%%", r"%s\text{ percent}", "%s percent", r"%s\text{ percentage points}"],
}
# the same value or the same word after all; or another form of the gold's own words
EQUAL = {
    ("-%s", r"\emptyset"), ("%s/0", r"\infty"), ("(%s", r"\text{Tuesday}"), ("(%s", "even"), ("{%s", r"\text{Tuesday}"),
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_no_change_of_an_answer_is_accepted(family: str) -> None:
    pairs = [(gold, form % gold if "%s" in form else form) for gold in FORMS for form in FAMILIES[family]
             if (form, gold) not in EQUAL]  # fmt: skip
    assert [pair for pair in pairs if equal(*pair)] == []


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
    others = ["0", letter, f"{letter}({at})", f"{at}{letter}{rest}", f"{letter}({at + 1}){rest}", f"{letter}{rest}"]
    assert [answer for answer in others if equal(gold, answer)] == []


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=4, unique=True), st.integers(21, 99))
def test_a_list_or_set_is_met_by_all_its_items_alone(items: list[int], more: int) -> None:
    gold, *texts = (", ".join(map(str, some)) for some in (items, items[1:], [*items, more], [more, *items[1:]]))
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


@pytest.mark.parametrize(
    "words", ["apples", "cm", "shaded squares", "ways", "in total", "square units", "minutes", "people", "dollars"]
)
def test_a_unit_or_a_counted_thing_may_follow(words: str) -> None:
    assert equal("5", rf"5\text{{ {words}}}") and equal(rf"5\text{{ {words}}}", "5")


def test_a_percent_sign_is_a_hundredth_unless_the_convention_says_else() -> None:
    assert equal("0.42", r"42\%") and equal(r"42\%", "42") and not equal("42", r"42\%")
    assert equal("42", r"42\%", Conventions(percent_sign=True))


COSTLY = [
    "10^{-999999999}",
    "10^{999999999}",
    r"\prod_{n=1}^{10^8} n",
    r"\sum_{n=1}^{10^9} n!",
    "(10^9)!",
    "9^{9^{9^9}}",
]
COSTLY += [
    r"\binom{10^9}{10^8}",
    r"\exp(10^{99})",
    "2^{-10^{12}}",
    r"\sqrt[3]{10^{10^{10}}}",
    r"\sinh(10^{50})",
    "((9!)!)!",
]
COSTLY += [
    "x+10^{-999999999}",
    r"\sin(9^{9^{9^9}})",
    "x^{9^{9^9}}",
    r"\exp(1500!)",
    r"3^{10^7}+1",
    r"\tan^{99}(99^{99})",
]


@pytest.mark.parametrize("answer", COSTLY)
def test_what_costs_much_is_refused_at_once(answer: str) -> None:
    started = time.process_time()
    for gold in ("5", "0", r"\frac{1}{2}", r"\sqrt{2}"):
        assert equal(gold, answer) is False
    assert time.process_time() - started < 2


OPEN = ["(C) or (D).", "(C), (D), (A), (B)", "C? No: D", "C. But D is also correct", "Answer: C or D", "(B)? Maybe (C)"]
OPEN += [
    "The answer is (A) and (C)",
    "I think (C). But also (D).",
    "Answer: $ANSWER$",
    "$ANSWER$",
    "C / D",
    "Answer: not C",
]
OPEN += ["The answer is not (C)", "Answer: A, B, C, D", "Answer: neither A nor B", r"\boxed{C or D}", r"\boxed{A, B}"]


@pytest.mark.parametrize("response", OPEN)
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
SAME = {r"\text{(A)}": "aA", r"\text{(C)}": "Cc", r"\text{(E)}": "e", r"\text{A}": "A", r"\text{C}": "C", "$N=n$": "n"}
SAME |= {
    "$f(n)=n$": "n",
    "1:1": "1",
    "1:2": "1/2 0.5",
    r"180^\circ": r"\pi",
    r"180^{\circ}": r"\pi",
    "+\\infty": r"\infty",
}
SAME |= {r"\emptyset": r"none\{\}", r"(-\infty,\infty)": r"\mathbb{R}", r"100\%": "1"}


def benchmark_golds() -> list[str]:
    """The golds of all benchmarks at hand, none on a machine without them."""
    data = Path(os.environ.get("RLVR_SHARED", Path(__file__).resolve().parents[4] / "shared")) / "data"
    files = [*(data / "benchmarks").glob("*.jsonl"), *(data / "fresh").glob("*.jsonl")]
    rows = [json.loads(line) for path in files for line in path.read_text("utf-8").splitlines()]
    return sorted({str(row["answer"]).strip() for row in rows})


def value(text: str) -> Fraction | None:
    """Of what is plainly a number, whatever its unit or name."""
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


def test_prose_states_no_number_that_it_denies_or_bounds() -> None:
    for text in (
        "x is not 5",
        "the answer is at least 5",
        "it takes 5 more than before",
        "I didn't get 5",
        "5 of 12 are red",
    ):
        assert not equal("5", locate(text)), text


@pytest.mark.parametrize("response", ["Answer: $D'", "Answer: $D", "Answer: 'D'", "Answer: $D$"])
def test_a_letter_beside_a_stray_sign_is_one(response: str) -> None:
    assert extract(response, "letter").answer == "D"
