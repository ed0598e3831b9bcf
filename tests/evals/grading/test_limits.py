"""Limits, integrals and infinite sums against values that are known, products without a sign, functions by cases."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.grading.equivalence import equal


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1", r"\lim_{x\to 0}\frac{\sin x}{x}"),
        (r"\frac{1}{2}", r"\lim_{x\to 0}\frac{1-\cos x}{x^2}"),  # 1 - cos x = x^2/2 - ...
        ("-1", r"\lim_{x\to 0^-}\frac{|x|}{x}"),
        ("e^2", r"\lim_{x\to\infty}\left(1+\frac{2}{x}\right)^x"),
        (r"\frac{1}{2}", r"\lim_{n\to\infty}(\sqrt{n^2+n}-n)"),  # n/(sqrt(n^2+n)+n)
        ("0", r"\lim_{n\to\infty}\frac{5}{n}"),
        ("0", r"\int_{-1}^{1} x^3\,dx"),
        ("10^{-40}", r"\int_0^1 10^{-40}\,dx"),  # small, and not 0
        ("2x", r"\lim_{h\to 0}\frac{(x+h)^2-x^2}{h}"),
        (r"\frac{\pi}{4}", r"\int_0^1\frac{dx}{1+x^2}"),
        ("-1", r"\int_0^1 \ln x\,dx"),  # x ln x - x
        (r"\frac{1}{6}", r"\int_0^1\int_0^x (x-y)\,dy\,dx"),  # the integral of x^2/2
        (r"\sqrt{\pi}", r"\int_{-\infty}^{\infty} e^{-x^2}\,dx"),
        (r"\frac{x^3}{3}", r"\int_0^x t^2\,dt"),
        (r"\frac{\pi^2}{6}", r"\sum_{n=1}^{\infty}\frac{1}{n^2}"),
        (r"\frac{\pi}{4}", r"\sum_{n=0}^{\infty}\frac{(-1)^n}{2n+1}"),
        ("2", r"\sum_{n=1}^{\infty}\frac{n}{2^n}"),
        (r"\frac{1}{2}", r"\prod_{n=2}^{\infty}\left(1-\frac{1}{n^2}\right)"),
        ("7", r"\max\{2,7,4\}"),
        ("12", r"\operatorname{lcm}(4,6)"),
        ("2", r"17 \bmod 5"),
        (r"\max(a,b)", r"\frac{a+b+|a-b|}{2}"),
        (r"\gcd(m,n)", r"\gcd(n,m)"),
    ],
)
def test_an_expression_is_worked_out(value: str, text: str) -> None:
    assert equal(value, text)
    assert not equal(rf"{value}+10^{{-9}}", text) and (value == "0" or not equal("0", text))


@pytest.mark.parametrize(
    ("claimed", "text"),
    [
        (r"\frac{1}{2}", r"\sum_{n=0}^{\infty}(-1)^n"),  # Euler would say so, but it has no sum
        ("1", r"\sum_{n=1}^{\infty}\frac{1}{n}"),
        ("1", r"\int_1^\infty\frac{1}{x}\,dx"),
        ("0", r"\int_{-1}^{1}\frac{1}{x}\,dx"),
        ("1", r"\lim_{x\to 0}\frac{|x|}{x}"),  # 1 from above and -1 from below
        ("0", r"\lim_{x\to\infty}\sin x"),
        (r"\infty", r"\lim_{x\to 0^+}\frac{1}{x}"),
    ],
)
def test_what_has_no_value_equals_nothing(claimed: str, text: str) -> None:
    assert not equal(claimed, text)


@given(st.fractions(-4, 4, max_denominator=9), st.fractions(-4, 4, max_denominator=9), st.integers(0, 5))
def test_the_integral_of_a_power(low: Fraction, high: Fraction, n: int) -> None:
    value = (high ** (n + 1) - low ** (n + 1)) / (n + 1)
    text = rf"\int_{{{low.numerator}/{low.denominator}}}^{{{high.numerator}/{high.denominator}}} x^{{{n}}}\,dx"
    assert equal(f"{value.numerator}/{value.denominator}", text)


@given(st.fractions(Fraction(-3, 5), Fraction(3, 5), max_denominator=9), st.integers(-3, 3))
def test_a_geometric_series(ratio: Fraction, first: int) -> None:
    if not ratio:
        return
    r = rf"\frac{{{ratio.numerator}}}{{{ratio.denominator}}}"
    value = ratio**first / (1 - ratio)  # the sum of r^n from n = first on
    assert equal(rf"\frac{{{value.numerator}}}{{{value.denominator}}}", rf"\sum_{{n={first}}}^{{\infty}} ({r})^n")


@given(st.integers(1, 9), st.integers(2, 9), st.integers(2, 6))
def test_a_number_behind_a_closed_factor_is_a_factor(a: int, b: int, n: int) -> None:
    for factor, value in ((f"({a}+x)", f"({a}+x)"), (rf"\sqrt{{{a}+x}}", rf"\sqrt{{{a}+x}}"), (f"{n}!", f"{n}!")):
        assert equal(rf"{b}^{n}\cdot {value}", f"{factor}{b}^{n}")
        assert equal(rf"{b}\cdot {value}", f"{factor}{b}")
    assert equal(rf"n\cdot {b}^{{n-1}}", f"n{b}^{{n-1}}")
    assert not equal(f"{a * b}", f"{a} {b}") and not equal(rf"{b}x", f"x{b}") and not equal(rf"{b}x", f"(x){b}")


@given(st.integers(-5, 5), st.integers(1, 5))
def test_an_absolute_value_by_cases(a: int, b: int) -> None:
    x = rf"{b}x-({a})"  # changes its sign at a/b
    at = rf"\frac{{{a}}}{{{b}}}"
    for above, below in ((">", r"\le "), (r"\ge ", "<")):
        rows = rf"{x} & x{above}{at}\\ -({x}) & x{below}{at}"
        assert equal(rf"|{x}|", rf"\begin{{cases}}{rows}\end{{cases}}")
        assert not equal(rf"|{x}|+1", rf"\begin{{cases}}{rows}\end{{cases}}")
    assert not equal(rf"|{x}|", rf"\begin{{cases}}{x} & x>{at}\\ -({x}) & x<{at}-1\end{{cases}}")  # a gap
    assert not equal(rf"|{x}|", rf"\begin{{cases}}{x} & x>{at}+1\\ -({x}) & x\le {at}+1\end{{cases}}")
