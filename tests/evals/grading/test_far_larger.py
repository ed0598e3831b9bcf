r"""An answer too large to be read, and far larger than its gold, is wrong: no policy escapes by writing much."""

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
    nested = "(" * 40 + "5" + ")" * 40  # of its own depth, the gold's forms may be as deep
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
