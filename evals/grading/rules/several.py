r"""Rules on several values: lists, sets, tuples, intervals, matrices, ratios."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evals.grading import forms
from evals.grading.compare import compare
from evals.grading.latex import literal, split
from evals.grading.numbers import number


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
    if {left.kind, right.kind} == {"set", "one"} and r"\emptyset" in (*left.items, *right.items):
        return False  # a set that holds the empty set
    if left.kind in forms.UNORDERED and right.kind in forms.UNORDERED and len(left.items) > 1:
        right = forms.Collection(right.kind, tuple({literal(item): item for item in right.items}.values()))
        left = forms.Collection(left.kind, tuple({literal(item): item for item in left.items}.values()))
    if len(left.items) != len(right.items) or (left.names and right.names and left.names != right.names):
        return False
    if not (left.kind == right.kind or frozenset((left.kind, right.kind)) in forms.COMPARABLE):
        return False
    if {left.kind, right.kind} <= forms.UNORDERED:
        return _same_unordered(left.items, right.items)
    return all(compare(a, b) for a, b in zip(left.items, right.items, strict=True))


_TIME = re.compile(r"(\d{1,2}):(\d{2})\s*(?:\\text\s*\{\s*)?(?:([ap])\.?\s*m\.?)?\s*\}?", re.IGNORECASE)


def same_time_of_day(gold: str, answer: str) -> bool | None:
    """`3:45` and `3:45 p.m.`: hours and minutes, and the half of the day where both say it."""
    left, right = _TIME.fullmatch(gold), _TIME.fullmatch(answer)
    if left is None or right is None or not (left[3] or right[3]):
        return None
    halves = {(time[3] or "").lower() for time in (left, right)} - {""}
    return (int(left[1]), left[2]) == (int(right[1]), right[2]) and len(halves) == 1


def same_ratio(gold: str, answer: str) -> bool | None:
    """`1:2`, `12:00`: part by part, or all parts multiplied alike where the gold is no time of day; a ratio of two is
    also their quotient. `2 to 3` is one as well, beside a ratio."""
    if ":" in gold and (spoken := re.fullmatch(r"(\d+)\s*(?:\\text\s*\{\s*)?to\s*\}?\s*(\d+)", answer)):
        answer = f"{spoken[1]}:{spoken[2]}"
    left, right = split(gold, ":"), split(answer, ":")
    if len(left) < 2 and len(right) < 2:
        return None
    numbers = [[number(part) for part in parts] for parts in (left, right)]
    if len(left) == len(right) and not _TIME.fullmatch(gold) and all(n and n.value for row in numbers for n in row):
        scales = {a.value / b.value for a, b in zip(*numbers, strict=True) if a and b}
        return len(scales) == 1
    if {len(left), len(right)} == {1, 2}:
        return compare(
            *(parts[0] if len(parts) == 1 else rf"\frac{{{parts[0]}}}{{{parts[1]}}}" for parts in (left, right))
        )
    return len(left) == len(right) and all(
        a != "" and b != "" and compare(a, b) for a, b in zip(left, right, strict=True)
    )


def _same_unordered(left: Sequence[str], right: Sequence[str]) -> bool:
    remaining = list(right)
    for item in left:
        match = next((index for index, other in enumerate(remaining) if compare(item, other)), None)
        if match is None:
            return False
        del remaining[match]
    return not remaining
