"""Rules on equations, inequalities and other relations, on sums of indexed terms and on vectors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from evals.grading import Same, evaluation
from evals.grading.collection import collection, expanded, has_names, is_name, named, one_by_one, renamed
from evals.grading.numbers import RELATION, has_symbols, is_relation, literal, same_text, split

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
_BETWEEN = re.compile(r"([^<>=|]+?)(<|\\le(?![A-Za-z]))\s*\|\s*[A-Za-z]\s*\|\s*(<|\\le(?![A-Za-z]))([^<>=|]+)")
_SIZE = re.compile(
    r"\|\s*[A-Za-z]\s*([-+][^|<>=]+)?\|\s*(<|>|\\le|\\ge)(?![A-Za-z])\s*([^-+<>|,\\]+|\\(?:frac|sqrt)[^-+<>|,]+)"
)

_NAMED_POINT = re.compile(r"^\s*[A-Za-z]\s*\\neq(?![A-Za-z])\s*")
_OUTSIDE = re.compile(rf"{_REALS}\s*\\(?:setminus|backslash)\s*([(\[])([^()\[\],]+),([^()\[\],]+)([)\]])")
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
    if outside := _OUTSIDE.fullmatch(text):
        left, right = "])"[outside[1] == "["], "[("[outside[4] == "]"]
        return rf"(-{_INFINITY},{outside[2]}{left}\cup{right}{outside[3]},{_INFINITY})"
    if size := _SIZE.fullmatch(text):
        return _of_size(size[2], size[3].strip(), (size[1] or "").strip())
    if between := _BETWEEN.fullmatch(text):
        low, high = between[1].strip(), between[4].strip()
        inner, outer = ("()" if "<" in between[index] else "[]" for index in (2, 3))
        return rf"{outer[0]}-{high},-{low}{inner[1]}\cup{inner[0]}{low},{high}{outer[1]}"
    if not is_relation(text):
        return text
    if r"\land" in text:
        parts = text.split(r"\land")
        return _intersection([set_form(part) for part in parts]) if len(set(map(variable, parts))) == 1 else None
    if len(split(text, ",;")) > 1:
        return _without_points(split(text, ",;")) or _union(split(text, ",;"))
    return _interval(text)


def _without_points(relations: Sequence[str]) -> str | None:
    r"""`-1<x<1, x\neq 0` as a union; None for other lists."""
    points = [sides[1] for relation in relations if len(sides := re.split(r"\\neq(?![A-Za-z])", relation)) == 2]
    others = [relation for relation in relations if r"\neq" not in relation]
    if len(others) != 1 or not points or len(set(map(variable, relations))) > 1:
        return None
    interval = _interval(others[0])
    if interval is None:
        return None
    low, high = split(interval[1:-1], ",")
    return _punctured((interval[0], low), (high, interval[-1]), points)


def _punctured(low: tuple[str, str], high: tuple[str, str], points: list[str]) -> str | None:
    """An interval without some points, as a union; one point may have symbols, several are put in order."""
    ends = [low[1].replace(_INFINITY, "10^{90}"), *points, high[0].replace(_INFINITY, "10^{90}")]
    values = [evaluation.constant(end) for end in ends]
    if len(points) > 1 or low[1] != f"-{_INFINITY}" or high[0] != _INFINITY:
        if None in values:
            return None
        points = [point for _, point in sorted(zip(values[1:-1], points, strict=True), key=lambda pair: pair[0] or 0)]
        ordered = sorted(value for value in values if value is not None)
        if [values[0], values[-1]] != [ordered[0], ordered[-1]] or len(set(ordered)) < len(ordered):
            return None  # a point outside, or twice
    bounds = [low[1], *points, high[0]]
    inner = [f"{a},{b}" for a, b in pairwise(bounds)]
    return r"\cup".join(
        f"{low[0] if i == 0 else '('}{part}{high[1] if i == len(points) else ')'}" for i, part in enumerate(inner)
    )


def _of_size(sign: str, bound: str, shift: str) -> str:
    r"""`|x+3|<5` as (-5-(+3),5-(+3))."""
    low, high = (f"-({bound})-({shift})", f"{bound}-({shift})") if shift else (f"-{bound}", bound)
    if sign in (">", r"\ge"):
        left, right = "])" if sign == r"\ge" else "))", "[("[sign == ">"]
        return rf"(-{_INFINITY},{low}{left[0]}\cup{right}{high},{_INFINITY})"
    return f"[{low},{high}]" if sign == r"\le" else f"({low},{high})"


def _intersection(sides: Sequence[str | None]) -> str | None:
    """Of a half-line upwards and one downwards."""
    above = [side for side in sides if side and side.endswith(f"{_INFINITY})")]
    below = [side for side in sides if side and side.startswith(f"(-{_INFINITY},")]
    if len(sides) != 2 or len(above) != 1 or len(below) != 1:
        return None
    return above[0].removesuffix(f"{_INFINITY})") + below[0].removeprefix(f"(-{_INFINITY},")


def _union(relations: Sequence[str]) -> str | None:
    """Of inequalities in the same variable that stand in a list: either holds."""
    sides = [_interval(relation) or _point(relation) for relation in relations]
    if None in sides or len({variable(relation) for relation in relations}) > 1:
        return None
    if not any(_interval(relation) for relation in relations):
        return None  # x=1 or x=2: a list
    return r"\cup".join(side for side in sides if side)


def _point(text: str) -> str | None:
    r"""`x=1` as `\{1\}`."""
    sides = split(text, "=")
    return rf"\{{{sides[1]}\}}" if len(sides) == 2 and sides[1] and _VARIABLE.fullmatch(sides[0]) else None


def _interval(text: str) -> str | None:
    r"""`a<x\le b` and the like, with one variable at an end or in the middle."""
    parts = [part.strip() for part in _BOUND.sub("\0", text).split("\0")]
    signs = [match[1] or match[2] for match in _BOUND.finditer(text)]
    if "=" in text or not signs or "" in parts:
        return None
    rising = [sign in ("<", "le") for sign in signs]
    if not all(rising):
        if any(rising):
            return None
        parts, signs = parts[::-1], signs[::-1]
    strict = [sign in "<>" for sign in signs]
    free = [bool(_VARIABLE.fullmatch(part)) and part != _INFINITY for part in parts]
    if free == [False, True, False]:
        return f"{'[('[strict[0]]}{parts[0]},{parts[2]}{'])'[strict[1]]}"
    if free == [True, False]:
        return f"(-{_INFINITY},{parts[1]}{'])'[strict[0]]}"
    if free == [False, True]:
        return f"{'[('[strict[0]]}{parts[0]},{_INFINITY})"
    return None


def variable(text: str) -> str:
    """The first symbol in an answer, or nothing."""
    letters = re.findall(r"(?<![\\A-Za-z])[A-Za-z](?![A-Za-z])", text)
    return letters[0] if letters else ""


def named_value(gold: str, answer: str, same: Same) -> bool | None:
    r"""`x=5`, `f(x)=2x`, `(p,q)=(3,2)`, `|AB|=1` against the value alone, or the same name.

    Every number in a chain must be the gold (`x=2+3=5`, but neither `4=5` nor `1=2=5`). Two different names are two
    different answers, except that `y` may be called `f(x)` and `f(x)` `f(t)`.
    """
    left, right = named(gold), named(answer)
    sides = split(gold, "=")
    chain = len(sides) > 2 and len(split(gold, ",;")) == 1 and left is None and any(map(is_name, sides))
    if chain and not is_relation(answer):
        return None if has_symbols(sides[-1]) else same(sides[-1], answer)  # 1 = x = 0
    if left is None and right is None:
        return None
    if left is None or right is None:
        form, other = (left, answer) if left else (right, gold)
        assert form is not None
        if (together := one_by_one(form)) and has_names(other):  # (a,b)=(3,5) and a=3, b=5
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


def numeric_chain(gold: str, answer: str, same: Same) -> bool | None:
    """`2+3=5` is 5 when every side is; `4=5` and `0=0` answer nothing."""
    left, right = _chain(gold), _chain(answer)
    if left is None and right is None:
        return None
    if right is not None and len(set(map(literal, right))) == 1:
        return False  # 0=0 says nothing
    if left is not None:
        if is_relation(answer) and right is None and named(answer) is None:
            return False
        if not all(same(left[0], side) for side in left[1:]):
            return False  # a false equation as gold is met by the same text only
        gold = left[0]
    elif is_relation(gold):
        return False
    sides = right or [form.values[-1] if (form := named(answer)) else answer]
    return all(not has_symbols(side) and same(gold, side) for side in sides)


def _chain(text: str) -> list[str] | None:
    """The sides of an equation of numbers, or None."""
    sides = split(text, "=")
    if len(sides) < 2 or len(split(text, ",;")) > 1 or RELATION.search(text) or not all(sides):
        return None
    return None if any(has_symbols(side) or r"\text" in side for side in sides) else sides


_SOLVED_FOR = ("y", "r", "rho", "z")  # what one solves for, unless told otherwise


def explicit_form(gold: str, answer: str, same: Same) -> bool | None:
    r"""`y+1=-(2x-1)^2` as gold against `-4x^2+4x-2`: what y is, when the equation is solved for it."""
    sides = split(gold, "=")
    if len(sides) != 2 or "" in sides or RELATION.search(gold + answer) or "=" in answer or "," in gold + answer:
        return None
    return evaluation.solved(sides[0], sides[1], _SOLVED_FOR, answer) or None


def same_equation(gold: str, answer: str, same: Same) -> bool | None:
    r"""`2x+4y-3=0` and `y=-\frac{x}{2}+\frac{3}{4}`: equal up to a constant factor."""
    sides = [split(text, "=") for text in (gold, answer)]
    if any(len(pair) != 2 or "" in pair for pair in sides):
        return None
    (a, b), (c, d) = sides
    if literal(a) == literal(c) and same(b, d):
        return True  # a-b=1.732 and a-b=\sqrt{3}
    return evaluation.same_equation((a, b), (c, d))


def same_inequality(gold: str, answer: str, same: Same) -> bool | None:
    r"""`2x+3\ge 0` and `x\ge-\frac32`: equal up to a positive factor, and both strict or both not."""
    both = [_BOUND.split(text) for text in (gold, answer)]
    if any(len(parts) != 4 or len(split(text, ",;=")) > 1 for parts, text in zip(both, (gold, answer), strict=True)):
        return None
    signs = [parts[1] or parts[2] for parts in both]
    sides = [(p[0], p[3]) if sign in ("<", "le") else (p[3], p[0]) for p, sign in zip(both, signs, strict=True)]
    strict = [sign in "<>" for sign in signs]
    return (strict[0] == strict[1] and evaluation.same_equation(sides[0], sides[1], positive=True)) or None


_CONGRUENT = re.compile(r"(?:(.+?)\\equiv(?![A-Za-z]))?(.+?),?\s*\\(?:pmod|bmod)\s*(?:\{([^{}]*)\}|(\d+))")


def congruence(gold: str, answer: str, same: Same) -> bool | None:
    r"""`x \equiv 3 \pmod{10}` against the remainder alone, or the same modulus; between numbers it must be true."""
    both = [_CONGRUENT.fullmatch(text.strip()) for text in (gold, answer)]
    both = [match if match and (match[1] or r"\pmod" in match[0]) else None for match in both]  # 17 \bmod 5 is a number
    if not any(both):
        return None
    values = []
    for match, text in zip(both, (gold, answer), strict=True):
        if match is None:
            values.append(text)
            continue
        sides = [evaluation.constant(side) for side in (match[1] or "x", match[2], match[3] or match[4])]
        if sides[1] is None or sides[2] is None or (sides[0] is None and not is_name(match[1] or "x")):
            return None
        if sides[2] <= 0 or (sides[0] is not None and (sides[0] - sides[1]) % sides[2]):
            return False
        values.append(str(sides[1] % sides[2]) if all(both) else match[2].strip())
    if both[0] and both[1] and not same(both[0][3] or both[0][4], both[1][3] or both[1][4]):
        return False
    return None if is_relation(values[0]) or is_relation(values[1]) else same(*values)


_INDEXED = re.compile(
    r"\\(?:sum|prod)\s*_\s*\{\s*([A-Za-z])\s*[=}\\](?:.*?)_\s*\{?[^{}=]*?(?<![\\A-Za-z])\1(?![A-Za-z])", re.DOTALL
)

_OF_TERMS = re.compile(r"(.*?)\\(sum|prod)\s*_\s*(\{[^{}]*\})\s*(?:\^\s*(\{[^{}]*\}))?(.+)", re.DOTALL)


def same_indexed_sum(gold: str, answer: str, same: Same) -> bool | None:
    r"""`\sum_{i=1}^n x_i` and `\sum_{j=1}^n x_j`: terms with the index have no value. So what stands before the sum
    and its bounds must be the same text, and the terms equal; the index may have another name."""
    indexes = [_INDEXED.search(text) for text in (gold, answer)]
    if not any(indexes) or len(split(gold, ",;=")) > 1 or len(split(answer, ",;=")) > 1:
        return None
    if indexes[0] is None or indexes[1] is None:
        return False  # math-verify takes x_i for one symbol, and the sum for n x_i
    letters = [rf"(?<![\\A-Za-z]){index[1]}(?![A-Za-z])" for index in indexes if index]
    if letters[0] != letters[1] and re.search(letters[0], answer):
        return False
    answer = re.sub(letters[1], indexes[0][1], answer)
    left, right = _OF_TERMS.fullmatch(gold), _OF_TERMS.fullmatch(answer)
    if left is None or right is None or _INDEXED.search(left[5]) or _INDEXED.search(right[5]):
        return same_text(gold, answer)
    alike = all(literal(left[part] or "") == literal(right[part] or "") for part in range(1, 5))
    return alike and same(left[5], right[5])


_VECTOR_PRODUCT = re.compile(r"\\(?:vec|overrightarrow)\s*(?:\{[^{}]*\}|[A-Za-z])\s*\\times(?![A-Za-z])")


def vector_product(gold: str, answer: str, same: Same) -> bool | None:
    r"""`\vec{a}\times\vec{b}` is not `\vec{b}\times\vec{a}`: such products are compared as text."""
    return same_text(gold, answer) if _VECTOR_PRODUCT.search(gold) or _VECTOR_PRODUCT.search(answer) else None


def same_vector(gold: str, answer: str, same: Same) -> bool | None:
    """`3i+4j` as the vector (3,4): each component is what remains when one unit vector is 1 and the others are 0."""
    sides = [collection(text) for text in (gold, answer)]
    if sum(side is None for side in sides) != 1:
        return None
    text, vector = (gold, sides[1]) if sides[0] is None else (answer, sides[0])
    units = set(re.findall(r"(?<![\\A-Za-z])[ijk](?![A-Za-z])", text))
    size = 0 if vector is None else len(vector.items)
    if (
        vector is None
        or vector.kind not in ("()", "column", "row")
        or not {"j"} <= units <= set("ijk"[:size])
        or size > 3
    ):
        return None

    def at(unit: str) -> str:
        return re.sub(r"(?<![\\A-Za-z])([ijk])(?![A-Za-z])", lambda match: f"({int(match[1] == unit)})", text)

    return same("0", at("")) and all(same(item, at(unit)) for item, unit in zip(vector.items, "ijk", strict=False))


_COMPLEX = re.compile(r"-?\s*\d+(?:\.\d+)?\s*[-+]\s*(?:\d+(?:\.\d+)?)?\s*([ij])")


def imaginary_j(gold: str, answer: str, same: Same) -> bool | None:
    """`3+4j`, as engineers and Python write it, beside `3+4i`; `4j` may be a vector."""
    sides = [_COMPLEX.fullmatch(text) for text in (gold, answer)]
    if sides[0] is None or sides[1] is None or sides[0][1] == sides[1][1]:
        return None
    return same(gold.replace("j", "i"), answer.replace("j", "i"))


_CALL = re.compile(r"\\[A-Za-z]+|[A-Za-z]'*\s*\([^()]*\)|_\{[^{}]*\}")
_LETTER = re.compile("[A-Za-z]")
_SUM = re.compile(r"[\w})]\s*[-+]")
_OF_A_LINE = re.compile(r"(?:^|[-+(]\s*)\d[^-+]*[-+]|[-+]\s*\d")  # several terms, and a number before or beside them


def value_of_expression(gold: str, answer: str, same: Same) -> bool | None:
    r"""`a+b=5`, `x^2+y^2=5` against 5: the value of an expression in several symbols. One symbol (`x^2=5`) is not
    solved for; `2x-3y+1=0` is the equation of a line, and not 0, nor `x^2+y^2=z^2` what z^2 is."""
    sides = split(answer, "=")
    if len(sides) != 2 or is_relation(gold) or RELATION.search(answer) or len(split(answer, ",;")) > 1:
        return None
    symbols = set(re.findall(r"[fghFGP]\([^()]*\)|[A-Za-z]", re.sub(r"\\[A-Za-z]+", "", sides[0])))
    if len(symbols) > 1 and literal(sides[1]) == "0" and _OF_A_LINE.search(sides[0]):
        return False
    if has_symbols(sides[1]) and len(set(_LETTER.findall(_CALL.sub("", sides[0])))) > 1 and _SUM.search(sides[0]):
        return False
    return same(gold, sides[1]) if len(symbols) > 1 else None


def relation_or_value(gold: str, answer: str, same: Same) -> bool | None:
    r"""`\neq 5` and `x>5` are not 5; an inequality is an interval (`-1<x\le 2`, `x \in (-1, 2]`, `\{x|...\}`)."""
    left, right = set_form(gold), set_form(answer)
    if len(split(gold, ",;")) > 1 or len(split(answer, ",;")) > 1:
        # a list is compared item by item, but one of inequalities is the union of what they hold for
        return same(left, right) if left and right and (left, right) != (gold, answer) else None
    if left is None or right is None or (left == gold and right == answer):
        return False if bool(is_relation(gold)) != bool(is_relation(answer)) else None
    if is_relation(gold) and is_relation(answer) and variable(gold) != variable(answer):
        return False
    return same(left, right)


_PARAMETER = re.compile(r"(?<![\\A-Za-z])[kmn](?![A-Za-z])")
_WHOLE = re.compile(
    r"[,\s]*\(?\s*[kmn]\s*(?:\\in\s*(?:\\(?:mathbb|text)\s*)?\{?\s*(?P<set>[ZN])\s*\}?|(?P<from>\\ge\s*[01]|>\s*0))\s*\)?\s*$"
)


def for_every_whole_number(gold: str, answer: str, same: Same) -> bool | None:
    r"""`\frac{\pi}{4}+k\pi, k \in \mathbb{Z}`: the range of k may be missing, and k may be called n or m.

    Another name is accepted if both state the range, or in multiples of pi; 2k alone is not 2n.
    """
    ranges = [_WHOLE.search(text) for text in (gold, answer)]
    left, right = (text[: r.start()] if r else text for text, r in zip((gold, answer), ranges, strict=True))
    names = [set(_PARAMETER.findall(text)) for text in (left, right)]
    if all(len(name) == 1 for name in names) and (all(ranges) or (r"\pi" in left and r"\pi" in right)):
        right = _PARAMETER.sub(names[0].pop(), right)
    if len({r["set"] or r["from"].replace(" ", "") for r in ranges if r}) > 1:
        return False  # all integers, and the positive ones
    return same(left, right) if left and right and (left, right) != (gold, answer) else None
