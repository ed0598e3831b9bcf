r"""The rules, in the order in which they are tried: the first that applies decides.

A rule takes two cleaned answers (gold, answer) and `same`, which compares parts of them. It returns True or False, or
None when it does not apply. When in doubt, a rule rejects: training could exploit a wrong acceptance as a reward. A
pair that no rule decides is evaluated at random points (`evals.grading.evaluation`). A pair that cannot be evaluated is
not equal.

results/grader.md has this table with the number of labelled pairs that each rule decides (`nox -s grader`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from evals.grading import Same, asides, collection, form, piecewise, quantity, reals, relations


class Rule(NamedTuple):
    """`accepts` says for which answers the rule decides, and when it accepts. `example` and `counter` are (gold,
    answer), of which it accepts the first. The second is refused, and without the rule one of them would change."""

    name: str
    decide: Callable[[str, str, Same], bool | None]
    accepts: str
    example: tuple[str, str] | None
    counter: tuple[str, str]


RULES = (
    Rule("text", form.text, "the same signs, spaces aside",
         (r"x^2+1", r"x^2 + 1"), ("1 1/2", "11/2")),
    Rule("plain_number", form.plain_number, "two plain numbers: equal, or one the other's rounding or float",
         ("1/3", "0.333"), ("1/3", "0.33")),
    Rule("number_range", form.number_range, "a range from a smaller to a larger number, end by end; no number is one",
         ("0.5-1", "0.50-1.0"), ("2-5", "3-6")),
    Rule("cases", piecewise.same_cases, "functions by cases: the same values under the same conditions, or everywhere",
         (r"\begin{cases}1&x>0\\2&x<0\end{cases}", r"\begin{cases}2&x<0\\1&x>0\end{cases}"),
         (r"\begin{cases}1&x>0\\2&x<0\end{cases}", r"\begin{cases}1&x<0\\2&x>0\end{cases}")),
    Rule("aside", asides.aside, "what stands before a parenthesis of a known form (`asides`); before another: nothing",
         ("40", r"40\text{ (forty)}"), ("5", r"5\text{ (the other root is 6)}")),
    Rule("numeral_in_base", form.numeral_in_base, "a numeral with its base, whose base may be missing in the answer",
         ("4210_7", "4210"), ("5", "5_8")),
    Rule("number_in_words", form.number_in_words, "a number in words, an ordinal with or without its noun, a million",
         ("25", "twenty-five"), ("7", "8th")),
    Rule("choice", form.same_choice, "the letter of a multiple choice, marked or with its text; several, in any order",
         ("(C)", "C. x = 42"), ("(C)", "D")),
    Rule("reals", reals.same_reals, "sets of reals: intervals, what is left out of one, absolute values, inequalities",
         (r"(0,1)\cup(1,2)", r"(0,2)\setminus\{1\}"), (r"(0,1)\cup(1,2)", r"(0,2)\setminus\{0\}")),
    Rule("congruence", relations.congruence, "residues by one modulus",
         (r"n\equiv 3\pmod 7", r"n\equiv 10\pmod{7}"), (r"n\equiv 3\pmod 7", r"n\equiv 4\pmod 7")),
    Rule("clock", form.same_clock, "times of day, in twelve or twenty-four hours; dates in any order",
         (r"3:45\text{ p.m.}", "15:45"), (r"3:45\text{ p.m.}", r"3:45\text{ a.m.}")),
    Rule("no_answer", form.no_answer, "nothing: words that deny, bound or change a value; a date",
         None, ("5", r"5\text{ more points}")),
    Rule("formula", form.formula, "a chemical formula, in any font",
         (r"\text{H_2O}", r"\text{H}_2\text{O}"), (r"\text{CO}_2", r"\text{Co}_2")),
    Rule("words", form.same_words, "words, names and dates as words; a word is never an expression",
         (r"\text{Even}", "even"), ("even", "odd")),
    Rule("conclusion", form.conclusion, "the end of a derivation",
         ("17", r"n-3=14 \Rightarrow n=17"), ("17", r"n=17 \Rightarrow n=18")),
    Rule("parameter", form.parameter, "a parameter from a set, by another letter",
         (r"x=1+2k, k\in\mathbb Z", r"x=1+2n, n\in\mathbb Z"), (r"k\pi, k\in\mathbb Z", r"n\pi, n\in\mathbb N")),
    Rule("condition", form.condition, 'text after "for all" or "where" may be missing; "if" says more',
         (r"f(x)=2x\text{ for all }x", "2x"), ("5", r"5\text{ if }n>2")),
    Rule("free_constants", form.free_constants, "an answer with free constants, by other letters",
         (r"C_1e^x+C_2e^{-x}", r"Ae^x+Be^{-x}"), (r"\frac{c}{a}", r"\frac{b}{a}")),
    Rule("approximation", form.approximation, "either side of an approximation, where the second rounds the first",
         (r"\sqrt{2}", r"\sqrt{2} \approx 1.41"), (r"y=2x+1", r"y\approx 2x+1")),
    Rule("named_value", relations.named_value, "a value with a name, alone or by the same name",
         ("5", "x=2+3=5"), ("x=5", "y=5")),
    Rule("chain", relations.chain, "a chain of equal values, or the value of an expression in several symbols",
         ("42", "m+n=13+29=42"), ("5", "4=5")),
    Rule("equation", relations.same_equation, "equations equal up to a factor, or solved for y, r or z",
         ("y+1=-(2x-1)^2", "-4x^2+4x-2"), ("2x+4y=6", "2x+4y=7")),
    Rule("inequality", relations.same_inequality, "the same inequalities, mirrored, or multiplied by a positive factor",
         ("x<y", "2y>2x"), ("x<y", "x>y")),
    Rule("relation_or_value", relations.relation_or_value,
         "an inequality as what it holds for, x in S as S; no relation as a value",
         (r"\{1,2\}", r"x\in\{1,2\}"), ("5", "x>5")),
    Rule("quantity", quantity.same_quantity, "a number with a unit, in the same unit or converted; a missing unit",
         (r"5\text{ m}", r"500\text{ cm}"), (r"5\text{ m}", r"5\text{ cm}")),
    Rule("ratio", form.ratio, "ratios part by part or multiplied, a ratio of two as a quotient",
         ("1:2", "2:4"), ("1:2", "2:1")),
    Rule("collection", collection.same_collection, "lists and sets in any order; tuples, intervals, matrices in theirs",
         ("1,2", r"\{2,1\}"), ("(1,2)", "(2,1)")),
    Rule("degrees_inside", quantity.degrees_inside, "degrees inside an expression",
         (r"\sin(90^\circ-x)", r"\sin(\frac{\pi}{2}-x)"), (r"180^\circ-2x", r"180^\circ-x")),
    Rule("rounded_value", quantity.rounded_value, "a decimal that rounds an exact value; decimals inside an expression",
         (r"2\sqrt{13}", "7.2111"), (r"2\sqrt{13}", "7.2112")),
)  # fmt: skip
