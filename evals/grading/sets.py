"""Relations as the sets of numbers that they hold for: `-1<x\\le 2` is `(-1,2]`."""

from __future__ import annotations

import re

from evals.grading.forms import is_relation
from evals.grading.latex import split

_INFINITY = r"\infty"
_VARIABLE = re.compile(r"\\?[A-Za-z]+(?:_\{?\w+\}?)?(?:\(\w\))?")
_BOUND = re.compile(r"\\(le|ge)(?![A-Za-z])|([<>])")


def set_form(text: str) -> str | None:
    r"""An inequality in one variable as an interval; `x \in S` as S; anything that is not a relation as it is."""
    text = text.strip()
    if builder := re.fullmatch(r"\\\{\s*[a-zA-Z](?:\s*\\in\s*\\mathbb\{?R\}?)?\s*[|:](.*)\\\}", text, re.DOTALL):
        return set_form(builder[1].strip())
    if member := re.fullmatch(r"\\?[A-Za-z]+(?:_\{?\w+\}?)?\s*\\in(?![A-Za-z])(.*)", text, re.DOTALL):
        return member[1].strip()
    if not is_relation(text):
        return text
    parts = [part.strip() for part in _BOUND.sub("\0", text).split("\0")]
    signs = [match[1] or match[2] for match in _BOUND.finditer(text)]
    if "=" in text or len(split(text, ",;")) > 1 or not signs or "" in parts:
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
