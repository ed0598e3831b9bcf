"""Forms that models write for the same value, by family: look, names, constants, other notations, units, sentences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evals.grading.equivalence import equal
from evals.grading.rule_counts import count
from evals.grading.rules import RULES

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
        ("5", r"\lfloor x\rfloor=5"),
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


def test_the_count_of_what_each_rule_decides(tmp_path: Path) -> None:
    rows = [("5", "5.0", True), ("5", "6", True), ("5 m", "500 cm", True)]  # the second label is against the verdict
    path = tmp_path / "pairs.jsonl"
    keys = ("gold", "prediction", "expected")
    path.write_text("\n".join(json.dumps(dict(zip(keys, row, strict=True))) for row in rows))
    counts = count([path])
    assert (counts["plain_number"], counts["quantity"], counts["ratio"]) == ((2, 1), (1, 0), (0, 0))
    assert {rule.name for rule in RULES} <= set(counts)
