"""Golds rewritten so that the value stays are correct. Golds changed in value are wrong."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from evals.grading.equivalence import equal

NUMBER = st.builds(Fraction, st.integers(-60, 60), st.integers(1, 12))
IRRATIONAL = st.sampled_from([r"\sqrt{13}", r"\frac{\pi}{3}", r"\ln 2", r"2^{1/3}", r"\cos 1"])
KEEP = (r"0+(%s)", r"(%s)+1-1", r"\frac{%s}{1}", r"\frac{2(%s)}{2}", r"(%s+\pi)-\pi", r"-(-(%s))", r"w=%s")
CHANGE = ("(%s)+1", "3(%s)+200", "(%s)+q", r"(%s)+\pi")


def latex(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else rf"\frac{{{value.numerator}}}{{{value.denominator}}}"


@given(NUMBER, IRRATIONAL, st.booleans(), st.sampled_from(KEEP), st.sampled_from(CHANGE))
def test_a_value(number, irrational, mixed, keep, change):
    gold = f"{latex(number)}+{irrational}" if mixed else latex(number)
    assert equal(gold, keep % gold)
    assert not equal(gold, change % gold)


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=5, unique=True), st.randoms(use_true_random=False))
def test_several_values(values, generator):
    gold = ", ".join(map(str, values))
    shuffled = generator.sample(values, len(values))
    assert equal(gold, ",".join(map(str, shuffled)))
    assert equal(gold, rf"\{{{', '.join(map(str, shuffled))}\}}")
    assert not equal(gold, ", ".join(map(str, [*values, 97])))
    assert not equal(gold, ", ".join(map(str, [*values[:-1], 97])))
