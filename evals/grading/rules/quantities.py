r"""Rules on quantities: units, degrees, mixed numbers, decimals that round."""

from __future__ import annotations

import re
from decimal import Decimal

from evals.grading.conventions import Same
from evals.grading.evaluation import constant
from evals.grading.numbers import has_symbols, number, rounds_to
from evals.grading.quantity import ARITHMETIC, DEGREE, PERCENT, Quantity, converted, quantity, with_symbol


def arithmetic_in_words(_: str, answer: str, same: Same) -> bool | None:
    r"""`5\text{ squared}`, `4 plus one`, `5 tenths` are neither 5 nor 4: unevaluated arithmetic equals nothing."""
    return False if ARITHMETIC.search(answer) else None


def same_quantity(gold: str, answer: str, same: Same) -> bool | None:
    r"""The number decides when a unit is missing (a convention) or unknown; two known units must be the same
    (`5 cm` is not `5 m`, but `500 cm` is), and two things that are counted as well (`3 boys` is not `3 girls`, but
    `90 red balls` is `90 balls`).

    `28\%` is 28 and 0.28; `135^\circ` is 135 and 3\pi/4.
    """
    left, right = quantity(gold), quantity(answer)
    if left is None and right is None:
        return None
    if left and left.unit and right is None and (body := with_symbol(answer, left.unit)):
        right = Quantity(body, left.unit, left.things)
    if right and right.unit and left is None and (body := with_symbol(gold, right.unit)):
        left = Quantity(body, right.unit, right.things)
    bodies = (left.body if left else gold, right.body if right else answer)
    units = [q.unit for q in (left, right) if q and q.unit]
    if len(units) == 2 and units[0] != units[1]:
        ratio = converted(units[1], units[0])
        return ratio is not None and same(
            bodies[0], rf"({bodies[1]}) \cdot \frac{{{ratio.numerator}}}{{{ratio.denominator}}}"
        )
    if len(units) == 2:
        return same(*bodies)
    if left and right and left.things and right.things and not left.things & right.things:
        return False
    strict = not same.conventions.missing_unit and (left is None or right is None)
    if not strict and same(*bodies):
        return True
    for unit, factor in ((PERCENT, r"\frac{{{}}}{{100}}"), (DEGREE, r"\frac{{({})\pi}}{{180}}")):
        if units == [((unit, 1),)]:
            scaled = [
                (_hundredth(q.body, unit) or factor.format(_digits(q.body))) if q and q.unit else body
                for q, body in zip((left, right), bodies, strict=True)
            ]
            return same(*scaled)
    return False


def _hundredth(body: str, unit: str) -> str | None:
    """`66.7` percent as the decimal 0.667, which may be a rounding; None for other units and for what is no decimal."""
    value = number(body)
    if unit != PERCENT or value is None or value.last is None or value.digits > _MOST_DIGITS:
        return None
    return f"{Decimal(value.value.numerator) / Decimal(value.value.denominator) / 100:f}"


_MOST_DIGITS = 20  # fewer than Decimal's 28, so that the quotient is exact


def _digits(body: str) -> str:
    """A number without a period (`66.\\overline{6}`), which cannot stand inside a fraction."""
    value = number(body)
    return body if value is None or "\\" not in body else f"({value.value})"


_IN_DEGREES = re.compile(r"(?<![\w.^_{])(\d+(?:\.\d+)?|[A-Za-z])\s*\^\{\\circ\}")


def degrees_inside(gold: str, answer: str, same: Same) -> bool | None:
    r"""`\sin(90^\circ-x)`: a degree inside an expression is \pi/180."""
    if r"^{\circ}" not in gold + answer:
        return None
    left, right = (_IN_DEGREES.sub(r"(\\frac{\1\\pi}{180})", text) for text in (gold, answer))
    return same(*(text.replace(r"^{\circ}", r"\cdot\frac{\pi}{180}") for text in (left, right)))


_MIXED = re.compile(r"(?<![\w}^_.{])(\d+)\s*\\frac\{(\d+)\}\{(\d+)\}(?![\d{^!])")


def mixed_number(gold: str, answer: str, same: Same) -> bool | None:
    r"""`1\frac{1}{2}` is one and a half, and `1\frac{1}{2}x` that many x; math-verify multiplies."""
    left, right = (_MIXED.sub(r"(\1+\\frac{\2}{\3})", text) for text in (gold, answer))
    return same(left, right) if (left, right) != (gold, answer) else None


def rounded_value(gold: str, answer: str, same: Same) -> bool | None:
    r"""`2\sqrt{13}` against `7.2111`: a decimal that rounds the exact value, with enough digits."""
    for short, exact in ((number(answer), gold), (number(gold), answer)):
        if short is not None and short.last is not None and number(exact) is None and not has_symbols(exact):
            long = constant(exact)
            if long is None:
                return None
            close = abs(long - short.value) <= abs(long) / 10**12
            return close or rounds_to(long, short, same.conventions.digits)
    return None
