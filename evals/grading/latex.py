r"""Brackets, parts and the form of a cleaned answer: is it a relation, has it a condition or symbols?"""

from __future__ import annotations

import re


def literal(text: str) -> str:
    """A cleaned answer without spaces, except between digits (`1 1/2` is not `11/2`)."""
    return re.sub(r"(?<!\d)\s+|\s+(?![\d.])", "", text)


def same_text(gold: str, answer: str) -> bool:
    """The same signs, spaces aside; but `1, 234` is a list and `1,234` a number."""
    return literal(gold) == literal(answer) and not _spaced_thousands(gold, answer)


def _spaced_thousands(gold: str, answer: str) -> bool:
    spaced = [bool(re.search(r"\d,\s+\d{3}(?!\d)", text)) for text in (gold, answer)]
    return spaced[0] != spaced[1]


def matching(text: str, start: int) -> int:
    """The index of the bracket that closes the one at `start`, or -1. Any closes any: `(0, 1]` is an interval."""
    depth = 0
    for index in range(start, len(text)):
        if text[index] in "([{":
            depth += 1
        elif text[index] in ")]}":
            depth -= 1
            if depth == 0:
                return index
    return -1


def split(text: str, separators: str) -> list[str]:
    """The parts of a cleaned answer between separators (single characters) that are outside all brackets, stripped."""
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char in separators and depth <= 0:
            parts.append(text[start:index].strip())
            start = index + 1
    return [*parts, text[start:].strip()]


_CONDITION = re.compile(
    r"[\s,]*\\?(?:\\text\s*\{\s*)?[\s,(]*\b(?:for (?:some|all|any|every|each)|where|if|when|with|since|because)\b(.*)$",
    re.DOTALL,
)
_HEDGE = re.compile(r"\b(?:otherwise|else|not|if|when)\b")
RELATION = re.compile(r"[<>]|\\(?:le|ge|neq|in|subset|equiv|to|rightarrow|Rightarrow|implies|mapsto)(?![A-Za-z])")
FUNCTION_NAMES = (
    r"\\(?:frac|sqrt|pi|cdot|times|div|bmod|pm|mp|infty|circ|binom|log|ln|exp"
    r"|sin|cos|tan|cot|sec|csc|arcsin|arccos|arctan)(?![A-Za-z])"
)
_GREEK = r"\\(?:alpha|beta|gamma|delta|epsilon|theta|lambda|mu|nu|rho|sigma|tau|phi|psi|omega)"


def before_condition(text: str) -> str | None:
    """What is said before "for all", "where", "if"; None where another answer is said after it."""
    condition = _CONDITION.search(text)
    if condition is None:
        return text
    return None if _HEDGE.search(condition[1]) else text[: condition.start()]


def is_relation(text: str) -> bool:
    """Whether an answer is an equation or another relation."""
    return bool(RELATION.search(text)) or len(split(text, "=")) > 1


def has_symbols(text: str) -> bool:
    """Whether letters other than LaTeX commands (and e, i) are in an expression."""
    rest = re.sub(r"\\(?:text|begin|end)\s*\{[^{}]*\}", "", text)
    return bool(re.search(rf"[A-DF-Za-df-hj-z]|{_GREEK}", re.sub(FUNCTION_NAMES, "", rest)))


def balanced(text: str) -> bool:
    """Whether every brace has its partner."""
    level = 0
    for brace in re.findall(r"\\.|[{}]", text):
        level += (brace == "{") - (brace == "}")
        if level < 0:
            return False
    return level == 0


def depth(text: str) -> int:
    """How deep brackets of any kind are nested."""
    level = deepest = 0
    for char in text:
        if char in "({[":
            level += 1
            deepest = max(deepest, level)
        elif char in ")}]":
            level = max(0, level - 1)
    return deepest
