r"""An answer too large to be read or computed, whose gold is not, is wrong: no policy escapes by writing much."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.grading.equivalence import DEEPEST, FAR, LONGEST
from evals.grading.grader import Grader
from evals.grading.numbers import depth
from evals.grading.verdicts import Verdict


def verdict(gold: str, answer: str) -> Verdict:
    [grade] = Grader().grade_responses([(gold, rf"So it is \boxed{{{answer}}}.", "stop")])
    return grade.verdict


HOSTILE = {
    "one letter": "y" * 2100,
    "digits": "1" * 3000,
    "zeros": "0." + "0" * 2500 + "5",
    "a list": ", ".join(map(str, range(2, 900))),
    "a sum": "5" + "+0" * 1200,
    "spaces": "5" + " " * 3000 + "6",
    "a text": rf"\text{{{'a' * 2100}}}",
    "prose": "so we see that the value is such that it is " * 60,
    "a derivation without a conclusion": "Therefore, if n = 5, then it may be 6. " * 80,
    "brackets": "(" * 60 + "5" + ")" * 60,
    "braces": "{" * 60 + "5" + "}" * 60,
    "roots": r"\sqrt{" * 60 + "5" + "}" * 60,
}


@pytest.mark.parametrize("gold", ["5", r"\frac{1}{2}", "(1,2)", r"\text{even}", "x^2+1"])
@pytest.mark.parametrize("kind", HOSTILE)
def test_much_text_is_wrong(kind: str, gold: str) -> None:
    assert verdict(gold, HOSTILE[kind]) is Verdict.WRONG


def matrix(rows: list[str]) -> str:
    return r"\begin{pmatrix}" + r" \\ ".join(rows) + r"\end{pmatrix}"


def test_a_long_answer_to_a_long_gold_is_unscored_and_the_same_text_is_correct() -> None:
    rows = [rf"{i} & {i + 1} & {2 * i}" for i in range(120)]
    gold, other = (matrix(order) for order in (rows, rows[::-1]))
    other += " " * 2000
    assert len(gold) > LONGEST / FAR and len(other) > LONGEST
    assert verdict(gold, other) is Verdict.UNSCORED
    assert verdict(gold, gold) is Verdict.CORRECT
    nested = "(" * 40 + "5" + ")" * 40  # at the gold's own depth, forms may be as deep
    assert verdict(nested, "(" * 60 + "5" + ")" * 60) is Verdict.UNSCORED


def test_the_end_of_a_long_derivation_still_counts() -> None:
    derivation = "n = 1 + 4 and this is what we want. " * 80 + "Therefore, n = 5"
    assert len(derivation) > LONGEST
    assert verdict("5", derivation) is Verdict.CORRECT


def test_the_limits_are_the_same_number_of_times_the_gold() -> None:
    """Golds of up to 200 characters and 5 levels: no answer to them is unscored for its size."""
    assert (LONGEST / FAR, DEEPEST / FAR) == (200, 5)
    assert verdict("7" * 200, "1" * 2001) is Verdict.WRONG
    assert verdict("7" * 201, "1" * 2001) is Verdict.UNSCORED  # 2001 < 10 x 201
    assert verdict("7" * 201, "1" * 2011) is Verdict.WRONG


@given(
    st.sampled_from(["5", "-3", r"\frac{1}{2}", "12.5", "(1,2)", "x+1"]),
    st.text("y5({[)}]+=,. ", min_size=1, max_size=12),
    st.integers(170, 3000),
)
def test_a_repeated_text_is_never_unscored_for_its_size(gold: str, part: str, times: int) -> None:
    answer = part * times
    [grade] = Grader().grade_answers([(gold, answer)])
    assert grade.verdict is not Verdict.UNSCORED or "characters" not in str(grade.reason), (part, times)
    assert "nested" not in str(grade.reason), depth(answer)


NOT_COMPUTED = [  # short texts: the value has no digits that are known, or too many terms
    "9!!!!!!",
    "-9!!!!!!",
    r"\sin(10^{100})",
    r"\sin^2(10^{100})+\cos^2(10^{100})",
    r"\lfloor 10^{300}\pi\rfloor",
    r"\sum_{n=1}^{10^9}\sqrt{n}",
    r"\binom{10^{70}}{10^{60}}",
    r"5+10^{-10^{10}}",
    r"\sin(x\cdot 10^{100})",
    r"x=9!!!!!!",
    r"9!!!!!!\text{ cm}",
    r"\log_{10}(10^{10^{100}})",
]


@pytest.mark.parametrize("gold", ["5", r"\frac{1}{2}", r"\sqrt{2}", "x^2+1", "x=5", r"5\text{ cm}", "1:2", "100!"])
@pytest.mark.parametrize("answer", NOT_COMPUTED)
def test_a_value_that_is_not_computed_is_wrong_where_the_gold_is(answer: str, gold: str) -> None:
    assert verdict(gold, answer) is Verdict.WRONG


@pytest.mark.parametrize("gold", [r"\sin(10^{100})", "9!!!!!!", r"2^{100000000}+1"])
def test_beside_a_gold_of_that_kind_it_is_unscored_and_the_same_structure_is_correct(gold: str) -> None:
    assert verdict(gold, r"\sin(10^{99})") is Verdict.UNSCORED
    assert verdict(gold, f"{gold}+0") is Verdict.CORRECT


def test_sums_up_to_the_year_are_computed() -> None:
    """1 + ... + 2024 = 2024 * 2025 / 2 = 2049300."""
    assert verdict("2049300", r"\sum_{n=1}^{2024} n") is Verdict.CORRECT


@given(
    st.sampled_from(["5", r"\frac{1}{2}", r"\sqrt{2}", "x+1"]),
    st.recursive(
        st.sampled_from(["9!!!!", "10^{100}", "5", "x"]),
        lambda part: st.one_of(
            part.map(lambda text: rf"\sin({text})"),
            part.map(lambda text: f"({text})!"),
            st.tuples(part, part).map(lambda two: "({})+({})".format(*two)),
            st.tuples(part, part).map(lambda two: r"\frac{{{}}}{{{}}}".format(*two)),
        ),
        max_leaves=4,
    ),
)
def test_no_short_expression_escapes(gold: str, answer: str) -> None:
    [grade] = Grader().grade_answers([(gold, answer)])
    assert grade.verdict is not Verdict.UNSCORED, grade.reason
