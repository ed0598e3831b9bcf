r"""Rules on equations and other relations."""

from __future__ import annotations

import re

from evals.grading import forms
from evals.grading import named_values as naming
from evals.grading.collection import has_names, one_by_one
from evals.grading.compare import compare
from evals.grading.latex import split
from evals.grading.sets import set_form, variable


def named_value(gold: str, answer: str) -> bool | None:
    r"""`x=5`, `f(x)=2x`, `(p,q)=(3,2)`, `|AB|=1` against the value alone, or the same name.

    Every number in a chain must be the gold (`x=2+3=5`, but neither `4=5` nor `1=2=5`). Two different names are two
    different answers, except that `y` may be called `f(x)` and `f(x)` `f(t)`.
    """
    left, right = naming.named(gold), naming.named(answer)
    if left is None and right is None:
        return None
    if left is None or right is None:
        named, other = (left, answer) if left else (right, gold)
        assert named is not None
        if (together := one_by_one(named)) and has_names(other):  # (a,b)=(3,5) and a=3, b=5
            return compare(*((together, other) if left else (other, together)))
        if forms.is_relation(other):
            return None
        return all(compare(side, answer) if left else compare(gold, side) for side in named.values)
    value = naming.renamed(right, left)
    return value is not None and compare(left.values[-1], value)


def numeric_chain(gold: str, answer: str) -> bool | None:
    """`2+3=5` is 5 when every side is; `4=5` is nothing."""
    sides = split(answer, "=")
    if (
        len(sides) < 2
        or len(split(answer, ",;")) > 1
        or forms.is_relation(gold)
        or any(re.search(r"[<>]|\\(?:le|ge|neq|in)(?![A-Za-z])", s) for s in sides)
    ):
        return None
    return all(not forms.has_symbols(side) and compare(gold, side) for side in sides)


def value_of_expression(gold: str, answer: str) -> bool | None:
    r"""`a+b=5`, `x^2+y^2=5` against 5: what several symbols come to. One symbol (`x^2=5`) is not solved for."""
    sides = split(answer, "=")
    if len(sides) != 2 or forms.is_relation(gold) or forms.RELATION.search(answer) or len(split(answer, ",;")) > 1:
        return None
    symbols = set(re.findall(r"[fghFGP]\([^()]*\)|[A-Za-z]", re.sub(r"\\[A-Za-z]+", "", sides[0])))
    return compare(gold, sides[1]) if len(symbols) > 1 else None


def relation_or_value(gold: str, answer: str) -> bool | None:
    r"""`\neq 5` and `x>5` are not 5; an inequality is an interval (`-1<x\le 2`, `x \in (-1, 2]`, `\{x|...\}`)."""
    left, right = set_form(gold), set_form(answer)
    if len(split(gold, ",;")) > 1 or len(split(answer, ",;")) > 1:
        # a list is compared item by item, but one of inequalities is the union of what they hold for
        return compare(left, right) if left and right and (left, right) != (gold, answer) else None
    if left is None or right is None or (left == gold and right == answer):
        return False if bool(forms.is_relation(gold)) != bool(forms.is_relation(answer)) else None
    if forms.is_relation(gold) and forms.is_relation(answer) and variable(gold) != variable(answer):
        return False
    return compare(left, right)


_PARAMETER = re.compile(r"(?<![\\A-Za-z])[kmn](?![A-Za-z])")
_WHOLE = re.compile(r"[,\s]*\(?\s*[kmn]\s*\\in\s*\\(?:mathbb|text)\s*\{?\s*([ZN])\s*\}?\s*\)?\s*$")


def for_every_whole_number(gold: str, answer: str) -> bool | None:
    r"""`\frac{\pi}{4}+k\pi, k \in \mathbb{Z}`: what k runs over may be left out, and k may be called n or m.

    It may be called so where both say what it runs over, or in multiples of pi; 2k alone is not 2n.
    """
    ranges = [_WHOLE.search(text) for text in (gold, answer)]
    left, right = (text[: r.start()] if r else text for text, r in zip((gold, answer), ranges, strict=True))
    names = [set(_PARAMETER.findall(text)) for text in (left, right)]
    if all(len(name) == 1 for name in names) and (all(ranges) or (r"\pi" in left and r"\pi" in right)):
        right = _PARAMETER.sub(names[0].pop(), right)
    if len({r[1] for r in ranges if r}) > 1:
        return False  # all integers, and the positive ones
    return compare(left, right) if left and right and (left, right) != (gold, answer) else None
