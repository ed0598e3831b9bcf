r"""Functions by cases: `\begin{cases}x-3&x\ge 3\\3-x&x<3\end{cases}` against its like, and against `|x-3|`."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from evals.grading import Same
from evals.grading.evaluation import same_at
from evals.grading.numbers import plain, split
from evals.grading.reals import ALL, FAR, PLACES, Spans, joined, reals

_STEPS = [Fraction(n, 7) for n in (1, 5, 11, 24, 90, 300)]  # from an end of a case to points in it


class Case(NamedTuple):
    """A value, and when it holds: as it is written, and as a set of reals if it is one."""

    value: str
    when: str
    spans: Spans | None
    variable: str


def same_cases(gold: str, answer: str, same: Same) -> bool | None:
    left, right = cases(gold), cases(answer)
    if left is None and right is None:
        return None
    if left is not None and right is not None and _same_rows(left, right, same):
        return True
    return _same_function(left or _always(gold, right or []), right or _always(answer, left or []))


def cases(side: str) -> list[Case] | None:
    """The values of a function by cases, each with its condition."""
    environment = re.fullmatch(r"(?:[^=]*=)?\s*\\begin\s*\{cases\}(.*)\\end\s*\{cases\}", side, re.DOTALL)
    rows = [plain(row).split("&") for row in environment[1].split("\\\\") if row.strip()] if environment else []
    if not rows or any(len(row) != 2 for row in rows):
        return None
    return [_case(*row) for row in rows]


def _case(value: str, written: str) -> Case:
    when = re.sub(r"^\s*(?:if|for|when|where)\b|\bis\b|[,;.]\s*$", "", written).strip()
    held = reals(when)
    return Case(value.strip(" ,;"), when, held and held.spans, held.variable if held else "")


def _always(side: str, cases_of_function: list[Case]) -> list[Case]:
    """A function without cases, of the same variable, as one case."""
    value = split(side, "=")[-1]
    return [Case(value, "", ALL, case.variable) for case in cases_of_function[:1]]


def _same_rows(left: list[Case], right: list[Case], same: Same) -> bool:
    """The same values under the same conditions, in any order."""
    remaining = list(right)
    for case in left:
        matches = [row for row in remaining if same(case.value, row.value) and same(case.when, row.when)]
        if not matches:
            return False
        remaining.remove(matches[0])
    return not remaining


def _same_function(left: list[Case], right: list[Case]) -> bool:
    """Whether both are defined on the same reals, and equal at points of each part of them."""
    known = [case.spans for case in (*left, *right) if case.spans is not None]
    variables = {case.variable for case in (*left, *right)}
    if len(known) < len(left) + len(right) or len(variables) != 1 or "" in variables:
        return False
    domains = [joined([span for case in side for span in case.spans or ()]) for side in (left, right)]
    if domains[0] != domains[1]:
        return False
    variable = variables.pop()
    pairs = [(_value(left, point), _value(right, point), {variable: point}) for point in _points(known)]
    within = [(a, b, point) for a, b, point in pairs if a is not None and b is not None]
    return bool(within) and all(same_at(a, b, point) for a, b, point in within)


def _points(sets: list[Spans]) -> list[Fraction]:
    """Points in each part of these sets: at the ends of parts, near them and between them."""
    ends = sorted({cut.at for spans in sets for span in spans for cut in span if abs(cut.at) != FAR})
    points = {place + sign * step for place in ends for step in _STEPS for sign in (1, -1)}
    points |= {place for place in ends if place.denominator < PLACES}  # others are not exact
    return sorted(points | {(a + b) / 2 for a, b in pairwise(ends)})


def _value(side: list[Case], point: Fraction) -> str | None:
    """The expression that holds at a point; of several the first."""
    for case in side:
        for low, high in case.spans or ():
            if (low.at < point or (low.at == point and not low.above)) and (
                point < high.at or (point == high.at and high.above)
            ):
                return case.value
    return None
