"""Forms that models write for the same value, by family: look, names, constants, other notations, units, sentences."""

from __future__ import annotations

import pytest

from evals.grading.equivalence import equal

FAMILIES = {
    "look": [
        *(("72", form % "72") for form in (r"\Large %s", r"{\large %s}", r"\boldsymbol{%s}", r"\mathbf{%s}", "{}%s")),
        *(("72", form % "72") for form in ("%s{.}", r"\huge{%s}", r"\hspace{1cm}%s", r"%s\ \checkmark", r"\quad %s")),
        (r"\frac{x}{2}", r"\displaystyle\boldsymbol{\frac{x}{2}}"),
    ],
    "free constants": [
        ("y=Ce^{x}", "y=ce^x"),
        (r"\frac{e^t}{3}+ce^{-2t}", r"x=\frac13 e^t+Ke^{-2t}"),
        (r"C_1\cos x+C_2\sin x", r"A\cos x+B\sin x"),
        (r"C_1e^x+C_2", r"c_2e^x+c_1"),
    ],
    "chains after a name": [
        ("42", "m+n=13+29=42"),
        ("116", "|S|=116"),
        ("0.3", r"\Pr[X>2]=0.3"),
        ("7", "p+q=3+4=7"),
        ("6", r"|A\cap B|=6"),
    ],
    "differential equations divided through": [
        (r"I\frac{d\omega}{dt}+2B\omega=T", r"\frac{d\omega}{dt}=\frac{T}{I}-\frac{2B}{I}\omega"),
        (r"m\ddot{x}+kx=0", r"\ddot{x}+\frac{k}{m}x=0"),
        ("4y''+8y=0", "y''+2y=0"),
    ],
    "other notations": [
        (r"\varepsilon^2", r"\epsilon^2"),
        ("10", "C_5^3"),
        (r"\binom{n}{3}", "C_n^3"),
        (r"\frac{M_{\odot}}{2}", r"0.5M_{\odot}"),
        (r"\begin{cases}1&x>0\\2&x\le 0\end{cases}", r"\begin{cases}2&\text{if }x\le 0\\1,&x>0\end{cases}"),
    ],
    "units": [
        (r"9.8\text{ m s}^{-2}", "9.8 m s⁻²"),
        (r"9.8\text{ m/s}^2", "9.8 m·s⁻²"),
        ("60 km/h", "60千米/时"),
        ("12 cm", "12厘米"),
        ("12", r"12\text{元}"),
        ("2,3", "x=2 或 x=3"),
    ],
    "as stated": [
        *(("373", "f(2)=373"), ("f(2)=373", "373"), ("0", r"\log 8-3\log 2"), ("5", "|z|=5")),
        *((r"\frac{1}{2}", r"\cos A=\frac12"), ("5", r"S_{\max}=5"), ("5", "V_1:V_2=5"), ("V_1:V_2=5", "5")),
        (r"\frac{1+a}{c}", r"\frac{1+a}c"),
        *((r"a\le-2 \text{ or } a=1", r"(-\infty,-2]\cup\{1\}"), ("560000", "560000 K"), ("1000.99", "1000,99")),
    ],
    "sentences": [("no", "No, it is not possible."), ("Yes", "Yes, such a set exists."), ("even", "It is even")],
}
OTHERS = [
    ("y=Ce^{x}", "y=ce^{-x}"),
    ("42", "m+n=13+29=43"),
    ("no", "No, but yes."),
    ("C_5^3", "5"),
    ("72", r"\Large 7 2"),
]
OTHERS += [(r"m\ddot{x}+kx=0", r"\ddot{x}+\frac{m}{k}x=0"), (r"\frac{c}{a}", r"\frac{b}{a}"), ("60 km/h", "60千克/时")]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family(family: str) -> None:
    assert [pair for pair in FAMILIES[family] if not equal(*pair)] == []


@pytest.mark.parametrize(("gold", "answer"), OTHERS)
def test_what_only_looks_like_one(gold: str, answer: str) -> None:
    assert not equal(gold, answer)
