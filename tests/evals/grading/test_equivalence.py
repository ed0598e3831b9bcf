"""Limits of what is compared, numbers and quantities by themselves, random points against math-verify on real answers.

Pairs of answers, rule by rule, are in test_rules.py.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from fractions import Fraction
from math import log10
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.grading import equivalence, exact, expression
from evals.grading.equivalence import DEEPEST, LONGEST, UnscorableError, equal
from evals.grading.evaluation import same_value
from evals.grading.extraction import extract, locate
from evals.grading.numbers import number, same_number
from evals.grading.quantity import quantity
from evals.grading.rules import Rule
from evals.grading.spelling import clean


def test_nothing_equals_no_answer():
    assert not equal("5", "")
    assert not equal("", "5")


def test_what_is_too_large_is_unscorable():
    with pytest.raises(UnscorableError, match=f"size: {LONGEST + 1} characters"):
        equal("7" * (LONGEST // 2), "1" * (LONGEST + 1))  # far larger than the gold: test_far_larger.py
    with pytest.raises(UnscorableError, match="nested deeper"):
        equal("{" * 9 + "5" + "}" * 9, "{" * (DEEPEST + 1) + "5" + "}" * (DEEPEST + 1))
    assert equal("x" * 20_000, "x" * 20_000)  # the same text needs no reading


@given(st.fractions(max_denominator=10**6), st.integers(0, 12), st.booleans())
def test_numbers_are_read_exactly(value, places, latex):
    written = (
        rf"\frac{{{value.numerator}}}{{{value.denominator}}}" if latex else f"{value.numerator}/{value.denominator}"
    )
    assert number(written).value == value
    decimal = round(value, places)
    assert number(f"{float(decimal):.{places}f}" if abs(decimal) < 1000 else str(int(decimal))) is not None


@given(st.integers(-(10**12), 10**12))
def test_an_integer_is_only_itself(n):
    assert same_number(number(str(n)), number(f"{n:,}"), 3)
    assert not same_number(number(str(n)), number(str(n + 1)), 3)
    assert not same_number(number(str(n)), number(f"{n}.25"), 3)


def test_rounding_needs_digits():
    third = number("1/3")
    # |1/3 - 0.333| = 1/3000 <= 1/2000, correctly rounded, but three digits are too few. 0.3334 is wrongly rounded
    assert not same_number(third, number("0.333"), 4)
    assert same_number(third, number("0.3333"), 4)
    assert not same_number(third, number("0.3334"), 4)
    # a trailing zero is no digit, but it states the precision: |3.14160 - 3.14159| = 1/100000 > 1/200000
    assert (number("2.50").digits, number("2.50").last) == (2, Fraction(1, 100))
    assert not same_number(number("3.14160"), number("3.14159"), 4)


@pytest.mark.parametrize(
    ("text", "body", "unit"),
    [
        (r"5\text{ km/s}", "5", (1000, (("m", 1), ("s", -1)))),
        (
            r"15000 \text{ kcal m}^{-2} \text{yr}^{-1}",
            "15000",
            (Fraction(1000, 12), (("cal", 1), ("m", -2), ("mo", -1))),
        ),
        ("6 square meters", "6", (1, (("m", 2),))),
        (r"28\%", "28", (1, (("%", 1),))),
        (r"17\text{ any text}", "17", None),
    ],
)
def test_quantities(text, body, unit):
    amount = quantity(clean(text))
    assert amount is not None
    assert (amount.body, amount.unit) == (body, unit)


@pytest.mark.parametrize("text", ["3s", "odd", r"\text{odd}", "x+1", "5x"])
def test_what_is_no_quantity(text):
    assert quantity(clean(text)) is None


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"\boxed{1} and \boxed{-2}", "1, -2"),
        (r"\boxed{1} no no no no no \boxed{2}", "2"),
        (r"so \boxed{840}. Again: \boxed{840}", "840"),
        ("The answer is $$42$$", "$$42$$"),
        (r"Therefore $x \ge 5$ is the solution.", r"$x \ge 5$"),
        ("It is not $5$.", "It is not $5$."),
        ("The final answer is $10,455$. I hope it is correct.", "$10,455$"),
        ("$21,16$ or $11$", "$21,16$ or $11$"),
        (r"$\frac{1}{3} \text{meters}$", r"$\frac{1}{3} \text{meters}$"),
        ("x+1", "x+1"),
    ],
)
def test_the_answer_in_a_bare_answer(text, answer):
    assert locate(text) == answer


def shared_rows():
    """Real (gold, answer) pairs, or a skip."""
    root = Path(os.environ.get("RLVR_SHARED", Path(__file__).resolve().parents[4] / "shared"))
    files = sorted((root / "data" / "grader").glob("*.jsonl"))
    if not files:
        pytest.skip(f"no real answers at {root / 'data' / 'grader'}; set RLVR_SHARED")
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            answer = extract(row["prediction"]).answer if row["kind"] == "response" else locate(row["prediction"])
            if answer:
                yield locate(row["gold"]), answer


def test_random_points_agree_with_math_verify_on_real_answers():
    # Where both sides can be evaluated, math-verify must not accept what is refuted. It compares constants to six
    # decimal places, and does not come back from some sets up to infinity, which are not for this rule.
    from math_verify import parse, verify

    checked = 0
    for gold, answer in sorted(set(shared_rows()))[::4]:
        left, right = clean(gold), clean(answer)
        if (number(left) is not None and number(right) is not None) or r"\infty" in gold + answer:
            continue
        try:
            expression.parse(left), expression.parse(right)
        except expression.UnsupportedError:
            continue
        sides = [parse(f"${side}$", parsing_timeout=None) for side in (left, right)]
        assert same_value(left, right) or not verify(*sides, timeout_seconds=None), (gold, answer)
        checked += 1
    assert checked >= 40


def test_parts_without_end_are_unscored(monkeypatch):
    def inside(gold, answer, same):
        return same(gold + "1", answer)

    def many(gold, answer, same):
        return gold == "1" and answer != "1" and any(same("2", str(n)) for n in range(10**9))

    for rule in (inside, many):
        monkeypatch.setattr(equivalence, "RULES", (Rule("endless", rule, "", None, ("1", "2")),))
        with pytest.raises(UnscorableError, match="size: more than 2000 parts, or 20 inside each other"):
            equal("1", "2")


@pytest.mark.parametrize(
    "large", ["9^{9^{9^9}}", "(10^9)!", "((9!)!)!", "2^{2^{100}}", r"\sqrt{9^{9^{9^9}}}", "x^{9^{9^9}}"]
)
@pytest.mark.parametrize("small", ["x+1", "x^2-3x", "5", r"\sqrt{2}", "-x", r"\frac{1}{x}", "0"])
def test_a_tower_is_no_small_value(small, large):
    assert not equal(small, large) and not equal(large, small)


TREES = st.recursive(
    st.integers(1, 12).map(lambda n: ("number", Fraction(n))),
    lambda part: (
        st.tuples(st.sampled_from("+*/"), part, part)
        | st.tuples(st.just("^"), part, st.integers(1, 3).map(lambda n: ("number", Fraction(n))))
    ),
    max_leaves=6,
)


@given(TREES)
def test_a_value_lies_between_its_bounds(tree):
    value = exact.exact(tree, {})
    low, high = of_parts(tree)
    size = log10(value.numerator) - log10(value.denominator)
    assert low - 1e-9 <= size <= high + 1e-9


def of_parts(tree):
    """The bounds of a tree from those of its parts, as where its value is too large to be computed."""
    with pytest.MonkeyPatch.context() as patched:
        known = exact.exact
        patched.setattr(exact, "exact", lambda part, point: known(part, point) if part[0] == "number" else None)
        return exact.bounds(tree, {})


@pytest.mark.parametrize(
    "large",
    [r"\sum_{k=1}^{1000} k!", "2^{300000}+3^{200000}", r"(1+\sqrt{2})^{100000}", r"\sum_{k=1}^{200}\sin k", "25000!"],
)
def test_large_values_have_a_verdict_or_none_and_never_an_error(large):
    assert equal(large, large + "+0")
    for other in ("5", f"{large}+1"):
        with suppress(UnscorableError):
            assert not equal(other, large)


def test_60_minutes_are_no_part_of_an_hour_and_minutes() -> None:
    """A smaller unit counts what the larger one leaves, so it stays below one of the larger."""
    whole = quantity("1 hour 59 minutes")
    assert whole is not None and Fraction(whole.body) == Fraction(119, 60)
    assert quantity("1 hour 60 minutes") != quantity("2 hours 0 minutes")
    assert not equal("2 hours 0 minutes", "1 hour 60 minutes")
