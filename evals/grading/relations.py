"""Rules on equations, inequalities and other relations."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evals.grading import Same, evaluation
from evals.grading.collection import collection, expanded, is_name, named, renamed, tuple_of_names
from evals.grading.numbers import RELATION, has_symbols, is_relation, literal, number, split

_INFINITY = r"\infty"
_VARIABLE = re.compile(r"\\?[A-Za-z]+(?:_\{?\w+\}?)?(?:\(\w\))?")
_BOUND = re.compile(r"\\(le|ge)(?![A-Za-z])|([<>])")

_REALS = r"\\mathbb\s*\{?\s*R\s*\}?"
_BUILDER = re.compile(rf"\\\{{\s*([a-zA-Z])(?:\s*\\in\s*{_REALS})?\s*[|:](.*)\\\}}", re.DOTALL)
_BARE_BUILDER = re.compile(  # plain braces are taken for a group, and are gone
    rf"([a-zA-Z])(?:\s*\\in\s*{_REALS})?\s*\|([^|]*(?:[<>]|\\[lg]e(?![A-Za-z]))[^|]*)"
)
_MEMBER = re.compile(r"\\?[A-Za-z]+(?:_\{?\w+\}?)?\s*\\in(?![A-Za-z])(.*)", re.DOTALL)
_WITHOUT = re.compile(
    rf"(?:{_REALS}|(?P<open>[(\[])(?P<low>[^()\[\],]+),(?P<high>[^()\[\],]+)(?P<close>[)\]]))"
    r"\s*\\(?:setminus|backslash)\s*\\\{(?P<points>[^{}]+(?:\{[^{}]*\}[^{}]*)*)\\\}"
    r"|\\?[A-Za-z]+\s*\\neq(?![A-Za-z])(?P<unequal>.+)"
)
_SIZE = re.compile(
    r"\|\s*[A-Za-z]\s*([-+][^|<>=]+)?\|\s*(<|>|\\le|\\ge)(?![A-Za-z])\s*([^-+<>|,\\]+|\\(?:frac|sqrt)[^-+<>|,]+)"
)
_NAMED_POINT = re.compile(r"^\s*[A-Za-z]\s*\\neq(?![A-Za-z])\s*")
_IN_THE_REALS = re.compile(rf"^([A-Za-z])\s*\\in\s*{_REALS}\s*,\s*(?=\1\s*(?:[<>]|\\(?:le|ge|neq)(?![A-Za-z])))")


def set_form(text: str) -> str | None:
    r"""An inequality in one variable as an interval or a union; `x \in S` as S; other texts unchanged.

    None where a relation has no such form.
    """
    text = _IN_THE_REALS.sub("", text.strip())
    if builder := _BUILDER.fullmatch(text) or _BARE_BUILDER.fullmatch(text):
        return set_form(builder[2].strip())
    if member := _MEMBER.fullmatch(text):
        return member[1].strip()
    if without := _WITHOUT.fullmatch(text):
        below, above = ("(", f"-{_INFINITY}"), (_INFINITY, ")")
        if without["low"]:
            below, above = (without["open"], without["low"].strip()), (without["high"].strip(), without["close"])
        points = [_NAMED_POINT.sub("", point) for point in split(without["points"] or without["unequal"], ",;")]
        return _punctured(below, above, list(expanded(points)))
    if size := _SIZE.fullmatch(text):
        return _of_size(size[2], size[3].strip(), (size[1] or "").strip())
    if not is_relation(text):
        return text
    if r"\land" in text:
        parts = text.split(r"\land")
        return _intersection([set_form(part) for part in parts]) if len(set(map(_symbol, parts))) == 1 else None
    relations = split(text, ",;")
    return _interval(text) if len(relations) == 1 else _without_points(relations) or _union(relations)


def _without_points(relations: Sequence[str]) -> str | None:
    r"""`-1<x<1, x\neq 0` as a union; None for other lists."""
    points = [sides[1] for relation in relations if len(sides := re.split(r"\\neq(?![A-Za-z])", relation)) == 2]
    others = [relation for relation in relations if r"\neq" not in relation]
    interval = _interval(others[0]) if len(others) == 1 and points and len(set(map(_symbol, relations))) == 1 else None
    if interval is None:
        return None
    low, high = split(interval[1:-1], ",")
    return _punctured((interval[0], low), (high, interval[-1]), points)


def _punctured(low: tuple[str, str], high: tuple[str, str], points: list[str]) -> str | None:
    """An interval without some points, as a union in their order; one point of the reals may have symbols."""
    if len(points) > 1 or low[1] != f"-{_INFINITY}" or high[0] != _INFINITY:
        ends = [low[1].replace(_INFINITY, "10^{90}"), *points, high[0].replace(_INFINITY, "10^{90}")]
        values = [value for end in ends if (value := evaluation.constant(end)) is not None]
        if (
            len(values) < len(ends)
            or len(set(values)) < len(values)
            or [*values[:1], *values[-1:]] != [min(values), max(values)]
        ):
            return None  # a point outside, or twice
        points = [point for _, point in sorted(zip(values[1:-1], points, strict=True))]
    bounds = [f"{low[0]}{low[1]}", *(f"{point})\\cup({point}" for point in points), f"{high[0]}{high[1]}"]
    return ",".join(bounds)


def _of_size(sign: str, bound: str, shift: str) -> str:
    r"""`|x+3|<5` as (-5-(+3),5-(+3))."""
    low, high = (f"-({bound})-({shift})", f"{bound}-({shift})") if shift else (f"-{bound}", bound)
    if sign in (">", r"\ge"):
        return rf"(-{_INFINITY},{low}{_bracket(sign, ')]')}\cup{_bracket(sign, '([')}{high},{_INFINITY})"
    return f"{_bracket(sign, '([')}{low},{high}{_bracket(sign, ')]')}"


def _bracket(sign: str, strict_or_not: str) -> str:
    """The first bracket for < and >, the second for signs that include the end."""
    return strict_or_not[sign not in "<>"]


def _intersection(sides: Sequence[str | None]) -> str | None:
    """Of a half-line upwards and one downwards."""
    above = [side for side in sides if side and side.endswith(f"{_INFINITY})")]
    below = [side for side in sides if side and side.startswith(f"(-{_INFINITY},")]
    if len(sides) != 2 or len(above) != 1 or len(below) != 1:
        return None
    return above[0].removesuffix(f"{_INFINITY})") + below[0].removeprefix(f"(-{_INFINITY},")


def _union(relations: Sequence[str]) -> str | None:
    """Of inequalities in the same variable that stand in a list: either holds."""
    intervals = [_interval(relation) for relation in relations]
    points = [re.fullmatch(rf"{_VARIABLE.pattern}\s*=([^=]+)", relation) for relation in relations]
    if not any(intervals) or len(set(map(_symbol, relations))) > 1:
        return None  # x=1 or x=2: a list
    sides = [side or (rf"\{{{point[1]}\}}" if point else None) for side, point in zip(intervals, points, strict=True)]
    return None if None in sides else r"\cup".join(side for side in sides if side)


def _interval(text: str) -> str | None:
    r"""`a<x\le b` and the like, with one variable at an end or in the middle."""
    parts = [part.strip() for part in _BOUND.sub("\0", text).split("\0")]
    signs = [match[0] for match in _BOUND.finditer(text)]
    if "=" in text or not signs or "" in parts:
        return None
    rising = {sign in ("<", r"\le") for sign in signs}
    if rising == {False}:
        parts, signs = parts[::-1], signs[::-1]
    free = [bool(_VARIABLE.fullmatch(part)) and part != _INFINITY for part in parts]
    if len(rising) == 1 and free == [False, True, False]:
        return f"{_bracket(signs[0], '([')}{parts[0]},{parts[2]}{_bracket(signs[1], ')]')}"
    if free == [True, False]:
        return f"(-{_INFINITY},{parts[1]}{_bracket(signs[0], ')]')}"
    return f"{_bracket(signs[0], '([')}{parts[0]},{_INFINITY})" if free == [False, True] else None


def _symbol(text: str) -> str:
    """The first symbol in an answer, or nothing."""
    letters = re.findall(r"(?<![\\A-Za-z])[A-Za-z](?![A-Za-z])", text)
    return letters[0] if letters else ""


def named_value(gold: str, answer: str, same: Same) -> bool | None:
    left, right = named(gold), named(answer)
    if left is None and right is None:
        return None
    if left is None or right is None:
        form, other = (left, answer) if left else (right, gold)
        assert form is not None
        several = collection(other) if "=" in other else None
        if several and several.kind == "names" and (together := tuple_of_names(form)):  # (a,b)=(3,5) and a=3, b=5
            return same(*((together, other) if left else (other, together)))
        if is_relation(other):
            return None
        return all(same(side, answer) if left else same(gold, side) for side in form.values)
    value = renamed(right, left)
    if value is None and (left.name, left.values[-1]) == (right.values[-1], right.name):
        return True  # N=n and n=N
    if value is None and all(
        form.name in set(re.findall(r"[A-Za-z]", other.values[-1])) for form, other in ((left, right), (right, left))
    ):
        return None  # x=2y and y=x/2: one equation
    return value is not None and same(left.values[-1], value)


_CALL = re.compile(r"\\[A-Za-z]+|[A-Za-z]'*\s*\([^()]*\)|_\{[^{}]*\}")
_OF_A_LINE = re.compile(r"(?:^|[-+(]\s*)\d[^-+]*[-+]|[-+]\s*\d")  # several terms, and a number before or beside them


def chain(gold: str, answer: str, same: Same) -> bool | None:
    sides = [split(text, "=") for text in (gold, answer)]
    if any(len(split(text, ",;")) > 1 or RELATION.search(text) for text in (gold, answer)):
        return None
    if any("" in row or (len(row) > 1 and r"\text" in "".join(row)) for row in sides):
        return None
    left, right = ([side for side in row if not has_symbols(side)] for row in sides)
    if len(sides[0]) > 1 and len(left) == len(sides[0]):  # a gold of numbers
        if not all(same(left[0], side) for side in left[1:]):
            return False  # a false equation as gold is met by the same text only
        if len(sides[1]) == 1:
            return same(left[0], answer)
        gold, sides[0] = left[0], left[:1]
    if len(sides[0]) > 1 and len(sides[1]) == 1:  # 1 = x = 0 as gold
        return same(sides[0][-1], answer) if len(sides[0]) > 2 and left[-1:] == sides[0][-1:] else None
    if len(sides[0]) > 1 or len(sides[1]) == 1:
        return None if len(sides[0]) == 1 or len(right) < len(sides[1]) else False
    if len(right) == len(sides[1]):  # 2+3=5; but 0=0 says nothing
        return len(set(map(literal, right))) > 1 and all(same(gold, side) for side in right)
    first, last = sides[1][0], sides[1][-1]
    symbols = set(re.findall(r"[fghFGP]\([^()]*\)|[A-Za-z]", re.sub(r"\\[A-Za-z]+", "", first)))
    if len(symbols) < 2 or (literal(last) == "0" and _OF_A_LINE.search(first)):
        return False if len(symbols) > 1 else None  # the equation of a line is not 0
    if has_symbols(last):
        several_terms = (
            re.search(r"[\w})]\s*[-+]", first) and len(set(re.findall("[A-Za-z]", _CALL.sub("", first)))) > 1
        )
        return False if several_terms or len(sides[1]) > 2 else same(gold, last)
    return all(same(gold, side) for side in right)  # m+n=13+29=42


_SOLVED_FOR = ("y", "r", "rho", "z")  # what one solves for, unless told otherwise


def same_equation(gold: str, answer: str, same: Same) -> bool | None:
    left, right = split(gold, "="), split(answer, "=")
    if len(left) != 2 or "" in left + right or RELATION.search(gold + answer) or "," in gold + answer:
        return None
    if len(right) == 1:
        return evaluation.solved((left[0], left[1]), _SOLVED_FOR, answer) or None
    if len(right) != 2:
        return None
    if literal(left[0]) == literal(right[0]) and same(left[1], right[1]):
        return True  # a-b=1.732 and a-b=\sqrt{3}
    return evaluation.same_equation((left[0], left[1]), (right[0], right[1]))


def same_inequality(gold: str, answer: str, same: Same) -> bool | None:
    sides, strict = [], set()
    for text in (gold, answer):
        parts, signs = _BOUND.split(text), _BOUND.findall(text)
        if len(signs) != 1 or len(split(text, ",;=")) > 1:
            return None
        low, high = (parts[0], parts[-1]) if "".join(signs[0]) in ("<", "le") else (parts[-1], parts[0])
        sides.append((low, high))
        strict.add("".join(signs[0]) in "<>")
    verdict = evaluation.same_equation(sides[0], sides[1], positive=True)
    return verdict and len(strict) == 1


def relation_or_value(gold: str, answer: str, same: Same) -> bool | None:
    left, right = set_form(gold), set_form(answer)
    if len(split(gold, ",;")) > 1 or len(split(answer, ",;")) > 1:
        # a list is compared item by item, but one of inequalities is the union of what they hold for
        return same(left, right) if left and right and (left, right) != (gold, answer) else None
    if left is None or right is None or (left == gold and right == answer):
        return False if is_relation(gold) != is_relation(answer) else None
    if is_relation(gold) and is_relation(answer) and _symbol(gold) != _symbol(answer):
        return False
    return same(left, right)


_CONGRUENT = re.compile(r"(?:(.+?)\\equiv(?![A-Za-z]))?(.+?),?\s*\\pmod\s*(?:\{([^{}]*)\}|(\d+))")


def congruence(gold: str, answer: str, same: Same) -> bool | None:
    left, right = (_CONGRUENT.fullmatch(text.strip()) for text in (gold, answer))
    if left is None and right is None:
        return None
    values: list[str] = []
    for match, text in ((left, gold), (right, answer)):
        if match and match[1] and not is_name(match[1]):
            return None
        remainder, modulus = (number(part) for part in (match[2], match[3] or match[4])) if match else (None, None)
        whole = remainder and modulus and modulus.value > 0 and left and right
        values.append(
            str(remainder.value % modulus.value) if whole and remainder and modulus else match[2] if match else text
        )
    if left and right and not same(left[3] or left[4], right[3] or right[4]):
        return False
    return None if any(map(is_relation, values)) else same(*(value.strip() for value in values))
