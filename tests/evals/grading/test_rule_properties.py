"""Rules on random answers: a rewrite that keeps the value passes, and a change of the value fails."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import mp, mpc, mpf

from evals.grading import Conventions
from evals.grading.equivalence import UnscorableError, equal
from evals.grading.evaluation import OPERATIONS
from evals.grading.quantity import unit

COEFFICIENT = st.integers(-9, 9).filter(bool)


@given(st.sampled_from([("m", "cm", 100), ("km", "m", 1000), ("h", "s", 3600), ("kg", "mg", 10**6), ("ft", "in", 12)]),
       st.integers(1, 500), st.integers(1, 3))  # fmt: skip
def test_a_quantity_in_another_unit_of_its_kind(units, count, power):
    large, small, times = units
    exponent = "" if power == 1 else f"^{power}"
    gold = rf"{count}\text{{ {large}}}{exponent}"
    same = count * times**power  # 1 m^2 is 100^2 cm^2
    assert equal(gold, rf"{same}\text{{ {small}}}{exponent}")
    assert not equal(gold, rf"{same + 1}\text{{ {small}}}{exponent}")
    assert not equal(gold, rf"{count}\text{{ {small}}}{exponent}")


def test_units_of_a_speed():
    # 1 km/h is 1000 m in 3600 s
    assert unit("km/h")[0] / unit("m/s")[0] == Fraction(5, 18) and unit("km/h")[1] == unit("m/s")[1]
    assert unit("kg")[1] != unit("m")[1] and unit("m^2")[1] != unit("cm")[1]


@given(st.integers(1, 400), st.integers(2, 400), st.integers(1, 3))
def test_a_percentage_may_round(above, below, places):
    value = Fraction(above, below)
    percent = round(value * 100, places)  # to `places` decimals. Exact, as Fraction
    written = f"{float(percent):.{places}f}"
    shown = written.replace(".", "").strip("0")
    # fewer digits than the convention, or trailing zeros that do not count, are no rounding. Nor is a whole number
    assume(len(shown) >= Conventions().digits and not written.endswith("0") and value.denominator > 1)
    assert equal(rf"\frac{{{above}}}{{{below}}}", written + r"\%")
    off = f"{float(percent + Fraction(2, 10**places)):.{places}f}"  # two units of the last place away
    assume(not off.endswith("0"))  # 1.410 shows three digits, and may round 1.408
    assert not equal(rf"\frac{{{above}}}{{{below}}}", off + r"\%")


@given(st.integers(1, 10**9), st.integers(1, 10**9), st.integers(0, 4))
def test_a_sum_of_a_program(first, second, places):
    # two decimals become floats, and are added: three errors of at most 2^-53, and half a digit that is not printed
    # in all at most 4 * 2^-53 = 4.5e-16, below 5e-16, which half a unit of the 15th digit is at least
    exact = Decimal(first + second).scaleb(-places)
    added = first / 10**places + second / 10**places
    assert equal(f"{exact:f}", repr(added)) and equal(repr(added), f"{exact:f}")
    assert not equal(f"{exact:f}", f"-{added!r}")


@given(COEFFICIENT, COEFFICIENT, st.integers(-9, 9))
def test_an_equation_against_what_it_says_of_y(a, b, c):
    # a y + b x + c = 0 holds for y = -(b x + c) / a
    gold = f"{a}y + ({b})x + ({c}) = 0"
    assert equal(gold, rf"\frac{{-({b})x-({c})}}{{{a}}}")
    assert not equal(gold, rf"\frac{{-({b})x-({c})}}{{{a}}}+1")
    assert not equal(gold, rf"\frac{{-({b})x-({c})}}{{{a + 10}}}")


@given(COEFFICIENT, st.integers(2, 6), st.permutations("CcKk"))
def test_the_constant_at_the_end_has_any_letter(factor, power, letters):
    gold, other = f"{factor}x^{power}+{letters[0]}", f"({factor})x^{power} + {letters[1]}"
    assert equal(gold, other)
    assert not equal(gold, f"{factor}x^{power + 1}+{letters[1]}")
    assert not equal(gold, f"{factor}x^{power}")
    assert not equal(gold, f"{factor}x^{power}+x")


@given(st.integers(-99, 99), st.sampled_from([r"\lim_{x \to 0} f(x)", r"\sum_{i=1}^{5} a_i", r"\int_0^1 g(x)\,dx"]))
def test_what_a_limit_sum_or_integral_comes_to(value, name):
    assert equal(str(value), f"{name} = {value}")
    assert equal(f"{name} = {value}", str(value))
    assert not equal(str(value), f"{name} = {value + 1}")


HUGE = [mpf(2) ** 19_999, mpf(10) ** 4999, -(mpf(10) ** 4999), mpc(0, 10**4000), mpc(10**400, 10**400)]
FUNCTIONS = ["sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "!"]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("operand", HUGE)
def test_functions_of_huge_numbers_are_refused(name, operand):
    # nothing can be killed in the calling process: at 200 digits a hyperbolic function of
    # 10^5000 takes a second of processor time, and an answer may hold dozens of them
    with mp.workdps(200), pytest.raises(ArithmeticError):
        OPERATIONS[name](operand)
    assert not equal("1", r"\sinh(10^{4000})-\sinh(10^{4000}+1)")
    with pytest.raises(UnscorableError, match="too large to be compared"):
        equal(r"\sinh(10^{4000})", r"\sinh(10^{4000}+1)")


@given(st.integers(-(10**149), 10**149), st.integers(1, 10**9))
def test_whole_numbers_are_exact_where_they_are_decided(number, off):
    # beyond 10^150 the value of a sum is not known to the last of 200 digits
    gold = f"({number})+1"
    assert equal(gold, f"({number + off + 1})+0") is not True
    assert equal(gold, f"({number + 2})-1") is not False


@given(st.integers(1, 60), st.sampled_from([3, 7, 9, 11, 13]), st.integers(2, 6))
def test_a_decimal_factor_may_round(above, below, places):
    value = Fraction(above, below)
    shown, off = (f"{float(round(value, places) + Fraction(n, 10**places)):.{places}f}" for n in (0, 2))
    # trailing zeros are not digits, and a decimal with fewer digits than the convention stands for itself alone
    assume(value.denominator > 1 and not shown.endswith("0") and not off.endswith("0"))
    enough = len(shown.replace(".", "").lstrip("0")) >= Conventions().digits
    gold = rf"\frac{{{above}}}{{{below}}}x"
    assert equal(gold, f"{shown}x") is enough
    assert not equal(gold, f"{off}x") and not equal(f"{gold}+1", f"{off}x+1")
