"""Relations as the sets of numbers that they hold for: `-1<x\\le 2` is `(-1,2]`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evals.grading.forms import is_relation
from evals.grading.latex import split

_INFINITY = r"\infty"
_VARIABLE = re.compile(r"\\?[A-Za-z]+(?:_\{?\w+\}?)?(?:\(\w\))?")
_BOUND = re.compile(r"\\(le|ge)(?![A-Za-z])|([<>])")


_REALS = r"\\mathbb\s*\{?\s*R\s*\}?"
_BUILDER = re.compile(rf"\\\{{\s*([a-zA-Z])(?:\s*\\in\s*{_REALS})?\s*[|:](.*)\\\}}", re.DOTALL)
_MEMBER = re.compile(r"\\?[A-Za-z]+(?:_\{?\w+\}?)?\s*\\in(?![A-Za-z])(.*)", re.DOTALL)
_WITHOUT = re.compile(
    rf"{_REALS}\s*\\(?:setminus|backslash)\s*\\\{{([^,{{}}]+)\\\}}|\\?[A-Za-z]+\s*\\neq(?![A-Za-z])(.+)"
)
_SIZE = re.compile(r"\|\s*[A-Za-z]\s*\|\s*(<|>|\\le|\\ge)(?![A-Za-z])\s*([^-+<>|,\\]+|\\(?:frac|sqrt)[^-+<>|,]+)")


def set_form(text: str) -> str | None:
    r"""An inequality in one variable as an interval or a union; `x \in S` as S; what is no relation as it is.

    None where a relation has no such form.
    """
    text = text.strip()
    if builder := _BUILDER.fullmatch(text):
        return set_form(builder[2].strip())
    if member := _MEMBER.fullmatch(text):
        return member[1].strip()
    if without := _WITHOUT.fullmatch(text):
        point = (without[1] or without[2]).strip()
        return rf"(-{_INFINITY},{point})\cup({point},{_INFINITY})"
    if size := _SIZE.fullmatch(text):
        return _of_size(size[1], size[2].strip())
    if not is_relation(text):
        return text
    if r"\land" in text:
        parts = text.split(r"\land")
        return _intersection([set_form(part) for part in parts]) if len(set(map(variable, parts))) == 1 else None
    if len(split(text, ",;")) > 1:
        return _union(split(text, ",;"))
    return _interval(text)


def _of_size(sign: str, bound: str) -> str:
    if sign in (">", r"\ge"):
        left, right = "])" if sign == r"\ge" else "))", "[("[sign == ">"]
        return rf"(-{_INFINITY},-{bound}{left[0]}\cup{right}{bound},{_INFINITY})"
    return f"[-{bound},{bound}]" if sign == r"\le" else f"(-{bound},{bound})"


def _intersection(sides: Sequence[str | None]) -> str | None:
    """Of a half-line upwards and one downwards."""
    above = [side for side in sides if side and side.endswith(f"{_INFINITY})")]
    below = [side for side in sides if side and side.startswith(f"(-{_INFINITY},")]
    if len(sides) != 2 or len(above) != 1 or len(below) != 1:
        return None
    return above[0].removesuffix(f"{_INFINITY})") + below[0].removeprefix(f"(-{_INFINITY},")


def _union(relations: Sequence[str]) -> str | None:
    """Of inequalities in the same variable that stand in a list: either holds."""
    sides = [_interval(relation) for relation in relations]
    if None in sides or len({variable(relation) for relation in relations}) > 1:
        return None
    return r"\cup".join(side for side in sides if side)


def _interval(text: str) -> str | None:
    """`a<x\le b` and the like, with one variable at an end or in the middle."""
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
    found = re.findall(r"(?<![\\A-Za-z])[A-Za-z](?![A-Za-z])", text)
    return found[0] if found else ""
