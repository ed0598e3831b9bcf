r"""Sets of reals as intervals: `(0,2)\setminus\{1\}`, `|x|>3`, `x\neq 1`, `[2,5[`, unions that meet."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from evals.grading import Same
from evals.grading.evaluation import constant
from evals.grading.exact import exact
from evals.grading.expression import Node, UnsupportedError, parse, symbols
from evals.grading.numbers import split

FAR = Fraction(10) ** 5000  # stands for infinity
PLACES = Fraction(10) ** 140  # ends that are not rational are compared to so many digits


class Cut(NamedTuple):
    """A place between the numbers: just below one, or just above it."""

    at: Fraction
    above: bool


Span = tuple[Cut, Cut]  # from one cut to another
Spans = tuple[Span, ...]  # in order, apart from each other

ALL: Spans = ((Cut(-FAR, True), Cut(FAR, False)),)
_OPERATORS = re.compile(r"(\\cup|\\cap|\\setminus|\\backslash)(?![A-Za-z])")
_WITHOUT = re.compile(r"(?<=[)\]}])\s*(?:-|\\\\)\s*(?=\\\{)")
_SIGN = re.compile(r"(\\(?:le|ge|neq)(?![A-Za-z])|[<>])")
_REALS = r"\\mathbb\s*\{?\s*R\s*\}?"
_BUILDER = re.compile(rf"\\\{{\s*([a-zA-Z])(?:\s*\\in\s*{_REALS})?\s*[|:](.*)\\\}}", re.DOTALL)
_EXCEPT = re.compile(
    r"(?:\\text\s*\{)?\s*(?:the\s+)?(?:set\s+of\s+)?(?:all\s+)?real(?:s|\s+numbers?)(?:\s*[a-z])?\s*,?\s*"
    r"(?:except(?:\s+for)?|excluding|but|other\s+than)\s*\}?\s*(?:[a-z]\s*=)?\s*([^A-Za-z\s][^A-Za-z]*)\}?"
)


class Reals(NamedTuple):
    """The set; the variable it was said of, if any; whether it is more than intervals and their union; whether it has
    several parts."""

    spans: Spans
    variable: str
    computed: bool
    several: bool = False


def reals(text: str) -> Reals | None:
    """The set of reals that a cleaned answer is, or None."""
    text = text.strip()
    if left_out := _EXCEPT.fullmatch(text):
        points = _points(split(left_out[1], ",;"))
        return None if points is None else Reals(_without(ALL, points), "", True)
    if builder := _BUILDER.fullmatch(text):
        inside = reals(builder[2].strip())
        return inside if inside and inside.variable == builder[1] else None
    if member := re.fullmatch(r"([A-Za-z])\s*\\in(?![A-Za-z])(.*)", text, re.DOTALL):
        inside = reals(member[2])
        return inside._replace(variable=member[1]) if inside and not inside.variable else None
    if _SIGN.search(text):
        return _of_relations(split(text.replace(r"\land", "\0"), ",;\0"), r"\land" in text)
    first, *rest = _OPERATORS.split(_WITHOUT.sub(r"\\setminus ", text))
    total = _atom(first)
    computed = bool(re.match(r"\s*\]|.*\[\s*$", first, re.DOTALL))
    for operator, part in zip(rest[::2], rest[1::2], strict=True):
        spans = _atom(part)
        if total is None or spans is None:
            return None
        if operator == r"\cup":
            total = joined([*total, *spans])
        else:
            total = _without(total, spans if operator != r"\cap" else _without(ALL, spans))
            computed = True
        computed |= bool(re.match(r"\s*\]|.*\[\s*$", part, re.DOTALL))
    return (
        None
        if total is None or (not rest and first.lstrip().startswith("\\{"))
        else Reals(total, "", computed, bool(rest))
    )


def same_reals(gold: str, answer: str, same: Same) -> bool | None:
    if not re.search(r"[\[\](<>|]|\\(?:neq|le|ge|mathbb)|real", answer) or (
        "," in answer + gold and "\\begin" in answer
    ):
        return None
    left, right = reals(gold), reals(answer)
    if left is None or right is None or (left.variable and right.variable and left.variable != right.variable):
        return None
    computed = left.computed or right.computed
    if left.spans == right.spans:
        return True if computed or left.several or right.several else None
    return False if computed else None


def _end(text: str) -> Fraction | None:
    text = text.strip()
    if infinite := re.fullmatch(r"([-+]?)\s*\\infty", text):
        return -FAR if infinite[1] == "-" else FAR
    value = constant(text)
    if value is None or value.denominator < PLACES:
        return value
    return Fraction(round(value * PLACES), PLACES)


def _atom(text: str) -> Spans | None:
    """An interval, with brackets either way, points in braces, or all reals."""
    text = text.strip()
    if re.fullmatch(_REALS, text):
        return ALL
    if text == r"\emptyset":
        return ()
    if points := re.fullmatch(r"\\\{(.*)\\\}", text):
        return _points(split(points[1], ",;"))
    interval = re.fullmatch(r"([\[\](])(.*)([\[\])])", text, re.DOTALL)
    ends = split(interval[2], ",;") if interval else []
    if interval is None or len(ends) != 2:
        return None
    low, high = map(_end, ends)
    if low is None or high is None or low >= high:
        return None
    return ((Cut(low, interval[1] != "[" or low == -FAR), Cut(high, interval[3] == "]" and high != FAR)),)


def _points(texts: list[str]) -> Spans | None:
    ends = [_end(text) for text in texts]
    return None if None in ends else joined([(Cut(end, False), Cut(end, True)) for end in ends if end is not None])


def joined(spans: list[Span]) -> Spans:
    """The union, in order."""
    out: list[Span] = []
    for low, high in sorted(spans):
        if out and low <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], high))
        else:
            out.append((low, high))
    return tuple(out)


def _without(spans: Spans, removed: Spans) -> Spans:
    for low, high in removed:
        parts = [part for a, b in spans for part in ((a, min(b, low)), (max(a, high), b))]
        spans = tuple((a, b) for a, b in parts if a < b)
    return spans


def _of_relations(parts: list[str], both: bool) -> Reals | None:
    """Inequalities of one variable: either holds, or both; what it is unequal to is always left out."""
    read = [_relation(part) for part in parts]
    known = [relation for relation in read if relation is not None]
    if len(known) < len(read) or len({variable for variable, *_ in known}) != 1:
        return None
    kept = [spans for _, sign, spans in known if sign != r"\neq"]
    total = ALL if both or not kept else ()
    for spans in kept:
        total = _without(total, _without(ALL, spans)) if both else joined([*total, *spans])
    for _, sign, spans in known:
        total = _without(total, spans) if sign == r"\neq" else total
    computed = any("|" in part or r"\neq" in part for part in parts)
    return Reals(total, known[0][0], computed, len(parts) > 1)


def _relation(text: str) -> tuple[str, str, Spans] | None:
    """The variable of an inequality, its sign, and where it holds; of `x\\neq 1` the point."""
    sides = [part.strip() for part in _SIGN.split(text)]
    signs, sides = sides[1::2], sides[::2]
    if not signs or "=" in text or "" in sides:
        return None
    spans = ALL
    variable = ""
    for left, sign, right in zip(sides, signs, sides[1:], strict=False):
        half = _half(left, sign, right)
        if half is None or (variable and half[0] != variable):
            return None
        variable = half[0]
        if sign == r"\neq":
            return (variable, sign, half[1]) if len(signs) == 1 else None
        spans = _without(spans, _without(ALL, half[1]))
    return variable, signs[0], spans


_MIRRORED = {"<": ">", ">": "<", r"\le": r"\ge", r"\ge": r"\le", r"\neq": r"\neq"}


def _beside(bound: Fraction, sign: str, inclusive: bool) -> Spans:
    """Where a bare symbol is less or greater than a bound; of an unequal value the point."""
    if sign == r"\neq":
        return ((Cut(bound, False), Cut(bound, True)),)
    if sign in ("<", r"\le"):
        return ((ALL[0][0], Cut(bound, inclusive)),)
    return ((Cut(bound, not inclusive), ALL[0][1]),)


def _between(low: Fraction, high: Fraction, inclusive: bool) -> Spans:
    return ((Cut(low, not inclusive), Cut(high, inclusive)),) if low != high or inclusive else ()


def _line(tree: Node, name: str) -> tuple[Fraction, Fraction] | None:
    """(value at 0, slope) of a tree that is linear in its one name and no constant."""
    at = [exact(tree, {name: Fraction(n)}) for n in (0, 1, 2, 5)]
    if None in at or at[1] == at[0]:
        return None
    start, slope = at[0] or Fraction(0), (at[1] or Fraction(0)) - (at[0] or Fraction(0))
    straight = all(value == start + n * slope for value, n in zip(at, (0, 1, 2, 5), strict=True))
    return (start, slope) if straight else None


def _half(left: str, sign: str, right: str) -> tuple[str, Spans] | None:
    """Where `x < a` or `|bx+c| < a` holds, mirrored or not; of an unequal value the point."""
    bound = _end(right)
    if bound is None:
        if _end(left) is None or re.search(r"\\infty", right):
            return None
        return _half(right, _MIRRORED[sign], left)
    absolute = re.fullmatch(r"\|(.+)\|", left)
    try:
        tree = parse(absolute[1] if absolute else left)
    except UnsupportedError:
        return None
    names = symbols(tree)
    if len(names) != 1 or (absolute and "|" in absolute[1]) or (not absolute and tree[0] != "symbol"):
        return None
    name = next(iter(names))
    if (line := _line(tree, name)) is None:
        return None
    start, slope = line
    inclusive = sign in (r"\le", r"\ge")
    if not absolute:
        return name, _beside(bound, sign, inclusive)
    if bound < 0 or sign == r"\neq" or bound == FAR:
        return None
    low, high = sorted([(bound - start) / slope, (-bound - start) / slope])
    if sign in ("<", r"\le"):
        return name, _between(low, high, inclusive)
    return name, _without(ALL, _between(low, high, not inclusive))
