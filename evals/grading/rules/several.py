r"""Rules on several values: lists, sets, tuples, intervals, matrices, ratios."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from evals.grading.collection import COMPARABLE, UNORDERED, Collection, collection
from evals.grading.conventions import Same
from evals.grading.numbers import literal, number, split


def same_collection(gold: str, answer: str, same: Same) -> bool | None:
    r"""Lists, sets, tuples, intervals, matrices, unions, `a \pm b`.

    Bare lists and sets are unordered. A value that an answer repeats counts once where the gold has several different
    ones and repeats none (`5,5` is not 5, and `16,3,1` is not `16,3,1,1`). Tuples, intervals and vectors are ordered
    and keep their brackets; a tuple may be given without them, in order; a set is not a tuple.
    """
    left, right = collection(gold), collection(answer)
    if left is None and right is None:
        return None
    if left is None and right is not None and right.kind == "list" and len(right.items) > 1:
        # the same value written in different ways (`\\frac{3}{4}, 0.75`) is that value; `5, 5` is not 5
        return len(set(map(literal, right.items))) == len(right.items) and all(same(gold, x) for x in right.items)
    if any(side and side.kind == "()" and number(text) for side, text in ((left, answer), (right, gold))):
        return False  # (1,234) is not 1,234
    left, right = left or Collection("one", (gold,)), right or Collection("one", (answer,))
    if (verdict := _same_in_braces((left, gold), (right, answer), same)) is not None:
        return verdict
    if left.kind in UNORDERED and right.kind in UNORDERED and len(left.items) > 1:
        right = right if _without_repeats(left) != left else _without_repeats(right)
    if len(left.items) != len(right.items) or _other_names(left, right):
        return False
    if not (left.kind == right.kind or frozenset((left.kind, right.kind)) in COMPARABLE):
        return False
    if {left.kind, right.kind} <= UNORDERED:
        return _same_unordered(left.items, right.items, same)
    # x=-5, p=2 stands for (-5,2), in the order stated, or for (2,-5), in the alphabetical order of symbols
    orders = [(left.items, right.items)]
    if (left.kind == "names") != (right.kind == "names"):
        if any(re.fullmatch(r"[A-Za-z]{3,}", name) for name in (*left.names, *right.names)):
            orders = []  # words have no such order
        orders.append((left.stated or left.items, right.stated or right.items))
    return any(all(same(a, b) for a, b in zip(*order, strict=True)) for order in orders)


def _same_in_braces(gold: tuple[Collection, str], answer: tuple[Collection, str], same: Same) -> bool | None:
    r"""`\{5\}` is 5 and `\{(1,2)\}` is (1,2); but a set that holds a set is not that set."""
    sides = (gold, answer)
    sets = [items.kind == "set" for items, _ in sides]
    alone = [items.kind == "set" and len(items.items) == 1 for items, _ in sides]
    if not any(alone) or (all(sets) and not all(alone)):
        return None
    inside = [items.items[0] if one else text for (items, text), one in zip(sides, alone, strict=True)]
    held = [item.startswith((r"\{", r"\emptyset")) for item in inside]
    return (held[0] == held[1] if all(sets) else not any(held)) and same(*inside)


_TIME = re.compile(r"(\d{1,2})(?::([0-5]\d))?\s*(?:([ap])\.?\s*m\b\.?)?", re.IGNORECASE)


def _time(text: str) -> tuple[int, int, str] | None:
    """Hour, minute and half of the day (a, p, or nothing) of a time of day, or None."""
    match = _TIME.fullmatch(re.sub(r"\\text\s*\{([^{}]*)\}", r"\1", text).strip())
    if match is None or not (match[2] or match[3]) or int(match[1]) > 23:
        return None
    hour, half = int(match[1]), (match[3] or "").lower()
    return (hour - 12, int(match[2] or 0), "p") if hour > 12 else (hour, int(match[2] or 0), half)


def same_time_of_day(gold: str, answer: str, same: Same) -> bool | None:
    """`3:45`, `3:45 p.m.`, `15:45`: hours and minutes, and the half of the day if both state it."""
    left, right = _time(gold), _time(answer)
    if left is None or right is None or not (left[2] or right[2]):
        return None
    return left[:2] == right[:2] and (left[2] == right[2] or not (left[2] and right[2]))


_TO = re.compile(r"(?<=\d)\s*(?:\\text\s*\{\s*)?\bto\b\s*\}?\s*(?=\d)")


def same_ratio(gold: str, answer: str, same: Same) -> bool | None:
    """`1:2`, `12:00`: part by part, or all parts multiplied alike where the gold is no time of day; a ratio of two is
    also their quotient. `2 to 3` is one as well."""
    left, right = (split(_TO.sub(":", text), ":") for text in (gold, answer))
    if len(left) < 2 and len(right) < 2:
        return None
    numbers = [[number(part) for part in parts] for parts in (left, right)]
    if len(left) == len(right) and not _time(gold) and all(n and n.value for row in numbers for n in row):
        scales = {a.value / b.value for a, b in zip(*numbers, strict=True) if a and b}
        return len(scales) == 1
    if {len(left), len(right)} == {1, 2}:
        return same(
            *(parts[0] if len(parts) == 1 else rf"\frac{{{parts[0]}}}{{{parts[1]}}}" for parts in (left, right))
        )
    return len(left) == len(right) and all(a != "" and b != "" and same(a, b) for a, b in zip(left, right, strict=True))


def _without_repeats(collection: Collection) -> Collection:
    return replace(collection, items=tuple({literal(item): item for item in collection.items}.values()))


def _other_names(left: Collection, right: Collection) -> bool:
    """Whether both have names, and different ones; f(x) and y may be the same thing."""
    if not (left.names and right.names and left.kind == right.kind):
        return False
    return left.names != right.names and not any("(" in name for name in (*left.names, *right.names))


def _same_unordered(left: Sequence[str], right: Sequence[str], same: Same) -> bool:
    remaining = list(right)
    for item in left:
        match = next((index for index, other in enumerate(remaining) if same(item, other)), None)
        if match is None:
            return False
        del remaining[match]
    return not remaining
