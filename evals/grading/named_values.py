r"""Values that have a name: `x=5`, `f(x)=2x`, `(p,q)=(3,2)`, `A(2,-5)`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from evals.grading.forms import FUNCTION_NAMES, RELATION, has_symbols
from evals.grading.latex import matching, split
from evals.grading.numbers import number

_NAME = re.compile(
    r"(?:\\(?:angle|triangle|overline|overrightarrow|vec|hat|bar|dot|mathbb|mathcal|max|min|text)\s*)*"
    r"(?:[A-Za-z]|\\[A-Za-z]+|[A-Z][A-Za-z]+|[A-Za-z]{4,}|\{[A-Za-z' ]+\}|\|[A-Z]{2}\|)'*"
    r"(?:\s*_\s*\{?[\w, ]+\}?|\s*\^\s*\{(?:\*\}|-1\}(?=\s*\()))*'*(?:\s*\([\w\s,\\+\-^{}=<>|]*\))?(?:\s*[A-Z])*"
)
_WORD = re.compile(r"(?:\\text\s*\{)?\s*[A-Z]?[a-z]{2,}\s*\}?")  # one, of small letters
_POINT = re.compile(r"([A-Z]'?)\s*(\([^=<>]*,[^=<>]*\))")


@dataclass(frozen=True)
class Named:
    """`name = value = value`: the sides after the name that are values (in a chain, those without symbols)."""

    name: str
    values: tuple[str, ...]


def named(text: str) -> Named | None:
    """`name = value` or a chain, or the point `A(2,-5)`; else None."""
    if point := _POINT.fullmatch(text):
        return Named(point[1], (point[2],)) if matching(text, point.start(2)) == len(text) - 1 else None
    sides = split(text, "=")
    if len(sides) < 2 or "" in sides or len(split(text, ",;")) > 1:
        return None
    if RELATION.search(re.sub(r"\([^()]*\)", "", text)):  # but P(X<1)=0.2 is one
        return None
    if len(sides) == 2 and number(sides[0]) is not None and is_name(sides[1]):
        sides.reverse()  # 2 = x
    if not is_name(sides[0]):
        return None
    plain = [side for side in sides[1:] if not has_symbols(side)]
    return Named(sides[0], tuple(plain) if len(sides) > 2 and plain else (sides[-1],))


def is_name(text: str) -> bool:
    """One thing that can have a value: a symbol, a function of something, a segment, a word, or a tuple of these."""
    text = text.strip()
    if text.startswith("(") and matching(text, 0) == len(text) - 1 and len(parts := split(text[1:-1], ",")) > 1:
        return all(is_name(part) for part in parts)
    if ratio := re.fullmatch(r"\\frac\{\s*([^{}]+)\s*\}\{\s*([^{}]+)\s*\}", text):
        return is_name(ratio[1]) and is_name(ratio[2])
    text = re.sub(r"\\text\s*\{([^{}]*)\}", lambda match: re.sub(r"\W", "", match[1]) or "t", text)
    return bool(_NAME.fullmatch(text)) and not re.match(FUNCTION_NAMES, text)


def renamed(one: Named, other: Named) -> str | None:
    """The value of `one` in terms of the other's name, or None when their names are of different things."""
    names = [re.sub(r"\\text|[{}\s]", "", form.name) for form in (one, other)]
    if names[0] == names[1]:
        return one.values[-1]
    words = [_WORD.fullmatch(form.name.strip()) for form in (one, other)]
    if bool(words[0]) != bool(words[1]) and "(" not in "".join(names):
        return one.values[-1]  # Area = 5 and S = 5
    functions = [re.fullmatch(r"([A-Za-z](?:\^-1)?)\(([a-z])\)", name) for name in names]
    if any(functions) and "y" in names:
        return one.values[-1]
    if functions[0] and functions[1] and functions[0][1] == functions[1][1]:
        old, new = (rf"(?<![\\A-Za-z]){function[2]}(?![A-Za-z])" for function in functions if function)
        if re.search(new, one.values[-1]):
            return None  # f(y)=x is not f(x)=x
        return re.sub(old, functions[1][2], one.values[-1])
    return None
