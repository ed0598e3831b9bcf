r"""Is an answer equal to the gold? `equal` says so, by rules tried in order; the last word is math-verify's.

Each rule is a function of two cleaned answers that answers True or False, or None when it does not apply. The rules
exist where math-verify alone is wrong (it reads `8.7e8` as 8.7e*8, accepts `4=5` for 5, and `5 m` for `5 cm`); each is
about a form of answer. Where a form is in doubt they refuse: a wrong acceptance can be exploited as a reward.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from evals.grading import forms
from evals.grading.latex import clean, literal, split
from evals.grading.numbers import number, rounds_to, same_number
from evals.grading.units import DEGREE, PERCENT, quantity

LONGEST, DEEPEST = 10_000, 100


class UnscorableError(Exception):
    """The answer is too large to be read safely; the text says in which way."""


def equal(gold: str, answer: str) -> bool:
    """Whether an answer equals the gold.

    May hang or exhaust memory on a hostile answer: call it through `evals.grading.Grader`, which runs it in a process
    that can be killed, unless `quick` already knows.

    Raises:
        UnscorableError: one of them is too long or too deeply nested.
    """
    known = quick(gold, answer)
    return compare(clean(gold), clean(answer)) if known is None else known


def quick(gold: str, answer: str) -> bool | None:
    """The verdict on literally equal answers and on two plain numbers, in microseconds; None when that is not enough.

    Raises:
        UnscorableError: as `equal`.
    """
    if gold.strip() and gold == answer:
        return True
    for text in (gold, answer):
        if len(text) > LONGEST:
            raise UnscorableError(f"size: {len(text)} characters, more than {LONGEST}")
        if forms.depth(text) > DEEPEST:
            raise UnscorableError(f"size: nested deeper than {DEEPEST}")
    left, right = clean(gold), clean(answer)
    if not left or not right:
        return False
    verdict = same_literal(left, right)
    return verdict if verdict is not None else same_plain_number(left, right)


def compare(gold: str, answer: str) -> bool:
    """The verdict on two cleaned answers by the first rule that applies, else math-verify's."""
    for rule in RULES:
        verdict = rule(gold, answer)
        if verdict is not None:
            return verdict
    from evals.grading.symbolic import same_expression

    return same_expression(gold, answer)


# ---- rules on the form of the whole --------------------------------------------------------------------------------


def same_literal(gold: str, answer: str) -> bool | None:
    """The same signs, spaces aside."""
    return True if literal(gold) == literal(answer) else None


def same_plain_number(gold: str, answer: str) -> bool | None:
    """Two plain numbers: equal, or one the other's rounding. `1,234` may also be a list, so it cannot refuse."""
    left, right = number(gold), number(answer)
    if left is None or right is None:
        return None
    return same_number(left, right) or (None if "," in gold + answer else False)


def malformed(gold: str, answer: str) -> bool | None:
    r"""Refuse doubled signs (`--5`), unmatched braces, digits side by side, primed or open (`5 5`, `5'`, `5\ldots`)."""
    if not forms.balanced(answer):
        return False
    if r"\ldots" in answer and r"\ldots" not in gold:
        return False
    bad = re.search(r"\d'|[-+]\s*[-+]|\\pm\s*\\pm|[-+]\s*$|(?<![A-Za-z}\d])\d+\s+\d+(?!\s*[/\\\d])", answer)
    return False if bad and not re.search(r"matrix|\\text|[A-Za-z]{3}", answer) else None


def same_numeral_in_base(gold: str, answer: str) -> bool | None:
    r"""`4210_7` as gold is met by 4210, whose base the question tells; `5_8` as an answer is not 5, nor any value."""
    form = re.compile(r"(\d[\dA-F]*)\s*_\s*\{(?:[^{}]|\{[^{}]*\})*\}")
    if form.fullmatch(answer):
        return False  # the same digits in the same base are literally equal
    match = form.fullmatch(gold)
    return literal(answer) == match[1] if match else None


def same_choice(gold: str, answer: str) -> bool | None:
    r"""`C`, `(C)`, `\text{(C)}` and `C. x = 42` name the same choice."""
    left, right = forms.choice(gold), forms.choice(answer)
    if left is None or right is None or not (left[1] or right[1]):
        return None
    return left[0] == right[0]


def same_words(gold: str, answer: str) -> bool | None:
    r"""`\text{odd}`, `Odd`, `the odd`: words are compared as words, and a word is never an expression."""
    left, right = forms.words(gold), forms.words(answer)
    if left is None and right is None:
        return None
    if left is None or right is None:
        spelled = (forms.NUMBER_WORDS.get(left or ""), forms.NUMBER_WORDS.get(right or ""))
        if left in forms.NUMBER_WORDS or right in forms.NUMBER_WORDS:
            return compare(spelled[0] or gold, spelled[1] or answer)
        plain = forms.bare_word(gold if left is None else answer)
        return plain == (left or right) if plain else False
    return left == right


def without_condition(gold: str, answer: str) -> bool | None:
    r"""`f(x)=x \text{ for all } x`: what follows "for", "where", "if" is dropped when only one of them says it."""
    left, right = forms.CONDITION.sub("", gold), forms.CONDITION.sub("", answer)
    return compare(left, right) if left and right and (left == gold) != (right == answer) else None


def approximation(gold: str, answer: str) -> bool | None:
    r"""`\sqrt{2} \approx 1.41`: either side may be meant when the two agree to one per cent; `x \approx 11` is 11."""
    if r"\approx" not in gold + answer:
        return None
    return any(compare(left, right) for left in forms.approximated(gold) for right in forms.approximated(answer))


# ---- rules on equations and relations ------------------------------------------------------------------------------


def named_value(gold: str, answer: str) -> bool | None:
    r"""`x=5`, `f(x)=2x`, `(p,q)=(3,2)`, `|AB|=1` against the value alone, or the same name.

    Every number in a chain must be the gold (`x=2+3=5`, but neither `4=5` nor `1=2=5`). Two different names are two
    different answers, except that `y` may be called `f(x)` and `f(x)` `f(t)`.
    """
    left, right = forms.named(gold), forms.named(answer)
    if left is None and right is None:
        return None
    if left is None or right is None:
        named, other = (left, answer) if left else (right, gold)
        assert named is not None
        if forms.is_relation(other):
            return None
        return all(compare(side, answer) if left else compare(gold, side) for side in named.values)
    value = forms.renamed(right, left)
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
    letters = set(re.findall(r"[A-Za-z]", re.sub(r"\\[A-Za-z]+", "", sides[0])))
    return compare(gold, sides[1]) if len(letters) > 1 else None


def relation_or_value(gold: str, answer: str) -> bool | None:
    r"""`\neq 5` and `x>5` are not 5; an inequality is an interval (`-1<x\le 2`, `x \in (-1, 2]`, `\{x|...\}`)."""
    if len(split(gold, ",;")) > 1 or len(split(answer, ",;")) > 1:
        return None  # lists are compared item by item
    left, right = forms.set_form(gold), forms.set_form(answer)
    if left is None or right is None or (left == gold and right == answer):
        return False if bool(forms.is_relation(gold)) != bool(forms.is_relation(answer)) else None
    if forms.is_relation(gold) and forms.is_relation(answer) and forms.variable(gold) != forms.variable(answer):
        return False
    return compare(left, right)


# ---- rules on several values ---------------------------------------------------------------------------------------


def same_collection(gold: str, answer: str) -> bool | None:
    r"""Lists, sets, tuples, intervals, matrices, unions, `a \pm b`.

    Bare lists and sets are unordered; a value that is written twice counts once where the gold has several different
    ones (`5,5` is not 5). Tuples, intervals and vectors are ordered and keep their brackets; a tuple may be given
    without them, in order; a set is not a tuple.
    """
    left, right = forms.collection(gold), forms.collection(answer)
    if left is None and right is None:
        return None
    left, right = left or forms.Collection("one", (gold,)), right or forms.Collection("one", (answer,))
    if left.kind in forms.UNORDERED and right.kind in forms.UNORDERED and len(left.items) > 1:
        right = forms.Collection(right.kind, tuple({literal(item): item for item in right.items}.values()))
        left = forms.Collection(left.kind, tuple({literal(item): item for item in left.items}.values()))
    if len(left.items) != len(right.items):
        return False
    if not (left.kind == right.kind or frozenset((left.kind, right.kind)) in forms.COMPARABLE):
        return False
    if {left.kind, right.kind} <= forms.UNORDERED:
        return _same_unordered(left.items, right.items)
    return all(compare(a, b) for a, b in zip(left.items, right.items, strict=True))


def same_ratio(gold: str, answer: str) -> bool | None:
    """`1:2`, `12:00`: part by part; a ratio of two is also their quotient."""
    left, right = split(gold, ":"), split(answer, ":")
    if len(left) < 2 and len(right) < 2:
        return None
    if {len(left), len(right)} == {1, 2}:
        return compare(
            *(parts[0] if len(parts) == 1 else rf"\frac{{{parts[0]}}}{{{parts[1]}}}" for parts in (left, right))
        )
    return len(left) == len(right) and all(
        a != "" and b != "" and compare(a, b) for a, b in zip(left, right, strict=True)
    )


# ---- rules on quantities -------------------------------------------------------------------------------------------


def same_quantity(gold: str, answer: str) -> bool | None:
    r"""The number decides when a unit is missing or unknown; two known units must be the same (`5 cm` is not `5 m`).

    `28\%` is 28 and 0.28; `135^\circ` is 135 and 3\pi/4.
    """
    left, right = quantity(gold), quantity(answer)
    if left is None and right is None:
        return None
    bodies = (left.body if left else gold, right.body if right else answer)
    units = [q.unit for q in (left, right) if q and q.unit]
    if len(units) == 2:
        return units[0] == units[1] and compare(*bodies)
    if compare(*bodies):
        return True
    for unit, factor in ((PERCENT, r"\frac{{{}}}{{100}}"), (DEGREE, r"\frac{{({})\pi}}{{180}}")):
        if units == [((unit, 1),)]:
            scaled = [
                factor.format(q.body) if q and q.unit else body for q, body in zip((left, right), bodies, strict=True)
            ]
            return compare(*scaled)
    return False


def degrees_inside(gold: str, answer: str) -> bool | None:
    r"""`\sin(90^\circ-x)`: a degree inside an expression is \pi/180."""
    if r"^{\circ}" not in gold + answer:
        return None
    return compare(*(text.replace(r"^{\circ}", r"\cdot\frac{\pi}{180}") for text in (gold, answer)))


def mixed_number(gold: str, answer: str) -> bool | None:
    r"""`1\frac{1}{2}` is one and a half; math-verify multiplies."""
    form = re.compile(r"(?<![\w}^_.{])(\d+)\s*\\frac\{(\d+)\}\{(\d+)\}(?![\w{^!])")
    left, right = (form.sub(r"(\1+\\frac{\2}{\3})", text) for text in (gold, answer))
    return compare(left, right) if (left, right) != (gold, answer) else None


def rounded_value(gold: str, answer: str) -> bool | None:
    r"""`2\sqrt{13}` against `7.2111`: a decimal that rounds the exact value, with enough digits."""
    for short, exact in ((number(answer), gold), (number(gold), answer)):
        if short is not None and short.last is not None and number(exact) is None and not forms.has_symbols(exact):
            from evals.grading.symbolic import value

            found = value(exact)
            return found is not None and (
                found == short.value or rounds_to(found, short) or abs(found - short.value) <= abs(found) / 10**12
            )
    return None


RULES: tuple[Callable[[str, str], bool | None], ...] = (
    same_literal,
    same_plain_number,
    malformed,
    same_numeral_in_base,
    same_choice,
    same_words,
    without_condition,
    approximation,
    named_value,
    value_of_expression,
    numeric_chain,
    relation_or_value,
    same_quantity,
    same_collection,
    same_ratio,
    degrees_inside,
    mixed_number,
    rounded_value,
)


def _same_unordered(left: Sequence[str], right: Sequence[str]) -> bool:
    remaining = list(right)
    for item in left:
        match = next((index for index, other in enumerate(remaining) if compare(item, other)), None)
        if match is None:
            return False
        del remaining[match]
    return not remaining
