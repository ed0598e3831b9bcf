r"""A parenthesis behind an answer: `5\text{ (exactly)}`, `12\text{ (cm)}`, `\frac34\text{ (or }0.75\text{)}`.

It is dropped only if it has one of the forms below: one of FORMS, a unit, or the same value in another form. Any other
one makes another answer of what stands before it: `5\text{ (the other root is 6)}`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from evals.grading import Same
from evals.grading.counted import doubted
from evals.grading.numbers import plain, spoken
from evals.grading.quantity import unit


class Form(NamedTuple):
    """Words that may stand in a parenthesis. `example` and `counter` are answers for 5: the first is accepted."""

    name: str
    pattern: str
    example: str
    counter: str


_NO_REASON = r".*(?:(?-i:\bI\b)|\b(?:answer|solution|root|value|result|correct|actually|if|only|we|my|guess\w*)\b)"
FORMS = (
    Form("exact", r"exactly|precisely|exact\s+value", r"5\text{ (exactly)}", r"5\text{ (not exactly)}"),
    Form(
        "as asked",
        r"as\s+(?:required|desired|requested|claimed|needed|stated|wanted|expected)|verified|checked|q\.?\s?e\.?\s?d\.?",
        r"5\text{ (as required)}",
        r"5\text{ (as required for }x>0\text{)}",
    ),
    Form(
        "the answer",
        r"(?:the\s+|our\s+)?final\s+answer|(?:in\s+)?(?:simplest|lowest|reduced)\s+(?:form|terms)|simplified",
        r"5\text{ (final answer)}",
        r"5\text{ (wrong answer)}",
    ),
    Form(
        "nothing else",
        r"the\s+(?:only|unique)\s+(?:\w+\s+)?(?:solution|answer|value|root|possibility|one)|(?:in\s+)?total|altogether",
        r"5\text{ (the only root)}",
        r"5\text{ (the other root is }6)",
    ),
    Form(
        "a reason in numbers",
        rf"(?:since|because)\s(?!{_NO_REASON})[^?]*\d[^?]*",
        r"5\text{ (since }2+3=5\text{)}",
        r"5\text{ (since }6\text{ is not the answer)}",
    ),
    Form(
        "a reason with a name",
        r"by\s+(?:symmetry|induction|am-gm|pythagoras|definition|construction"
        r"|(?:the\s+)?(?:[\w'-]+\s+){1,3}(?:theorem|formula|law|rule|inequality|identity|test|criterion))",
        r"5\text{ (by the binomial theorem)}",
        r"5\text{ (by mistake)}",
    ),
)
_LEAD = re.compile(
    r"(?:or|i\.\s?e\.|that\s+is|which\s+(?:is|equals)|equivalently|also\s+written|in\s+words)(?![A-Za-z])[\s,:]*|=\s*",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"(?:\\approx(?![A-Za-z])|about|approximately|approx\.?|roughly)\s*", re.IGNORECASE)
_ANY_WORD = re.compile(r"(?<![\\A-Za-z])(?:[A-Za-z]{2,}|i\.\s?e)|^\s*(?:=|\\approx)|^[mgsLJNWVAK]$")
_WORD = re.compile(  # and no product, as in 2(abc+1)
    r"(?<![\\A-Za-z])(?:[A-Za-z]{4,}|or|if|is|as|by|no|so|[kcm]m|kg)(?![A-Za-z])|^\s*(?:=|\\approx)"
)
_CHOICE = re.compile(r"\s*(?:\(\s*[A-J]\s*\)|[A-J]\s*[.:)])")
_NOT_HERE = re.compile(r"(?<![A-Za-z])(?:base|p?mod(?:ulo)?)(?![A-Za-z])|\\p?mod|\\text\s*\{\s*$")


def parted(text: str) -> tuple[str, str] | None:
    """(an answer, the words in the parenthesis behind it), or None."""
    end = re.search(r"\)[\s}.$]*$", text)
    if end is None:
        return None
    depth = 0
    for start in range(end.start(), -1, -1):
        depth += (text[start] == ")") - (text[start] == "(")
        if not depth:
            break
    before, inside = text[:start], text[start + 1 : end.start()]
    opened = len(re.findall(r"\\text\s*\{[^{}]*$", before)) > 0
    words = rf"\text{{{inside}" if opened else inside
    words = plain(plain(words + "}" * (words.count("{") - words.count("}")))).strip()
    word = _ANY_WORD if opened else _WORD
    if depth or not before.strip() or not word.search(words) or _NOT_HERE.search(words) or _CHOICE.match(plain(before)):
        return None
    if not opened and not re.search(r"[\s\d})]$", before):
        return None  # f(abc)
    before = re.sub(r"\\text\s*\{\s*$", "", before) if re.search(r"\\text\s*\{\s*$", before) else before + "}" * opened
    return (before.strip(), words) if before.strip() else None


def is_dropped(words: str) -> bool:
    """Whether words in a parenthesis say nothing that changes what stands before them."""
    return any(re.fullmatch(form.pattern, words, re.IGNORECASE | re.DOTALL) for form in FORMS) and not doubted(words)


def aside(gold: str, answer: str, same: Same) -> bool | None:
    parts = parted(answer)
    if parts is None or (parted(gold) and not re.search(r"\d", parts[0])):
        return None
    value, words = parts
    if is_dropped(words):
        return same(gold, value)
    if unit(words) is not None:
        return same(gold, rf"{value}\text{{ {words}}}")
    if rounded := _ABOUT.match(words):
        return same(value, rf"{value} \approx {words[rounded.end() :]}") and same(gold, value)
    lead = _LEAD.match(words)
    again = words[lead.end() :].strip() if lead else words
    alone = lead or not re.search(r"(?<![\\A-Za-z])[A-Za-z]{2,}", again)
    if spoken(again) or (alone and re.search(r"\d|\\[a-z]", again)):
        return same(value, again) and same(gold, value)
    return False
