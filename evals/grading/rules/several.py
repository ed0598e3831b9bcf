r"""Rules on several values: lists, sets, tuples, intervals, matrices, ratios."""

from __future__ import annotations

from collections.abc import Sequence

from evals.grading import forms
from evals.grading.compare import compare
from evals.grading.latex import literal, split


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


def _same_unordered(left: Sequence[str], right: Sequence[str]) -> bool:
    remaining = list(right)
    for item in left:
        match = next((index for index, other in enumerate(remaining) if compare(item, other)), None)
        if match is None:
            return False
        del remaining[match]
    return not remaining
