r"""Rules on the form of the whole answer: its signs, its words, its letter, a condition, an approximation."""

from __future__ import annotations

import re

from evals.grading import forms
from evals.grading.compare import compare
from evals.grading.latex import literal, split
from evals.grading.named_values import is_name
from evals.grading.numbers import number, same_number
from evals.grading.quantity import bare_amount
from evals.grading.spoken import ordinal, spoken
from evals.grading.words import bare_word, choice, phrase, words


def same_literal(gold: str, answer: str) -> bool | None:
    """The same signs, spaces aside."""
    return True if literal(gold) == literal(answer) else None


def same_plain_number(gold: str, answer: str) -> bool | None:
    """Two plain numbers: equal, or one the other's rounding. `1,234` may also be a list, so it cannot refuse."""
    left, right = number(gold), number(answer)
    if left is None or right is None:
        return None
    return same_number(left, right) or (None if "," in gold + answer else False)


def malformed(gold: str, answer: str) -> bool | None:
    r"""Refuse doubled signs (`--5`), unmatched braces, digits side by side, primed,
    asked or open (`5 5`, `5'`, `5?`, `5\ldots`)."""
    if not forms.balanced(answer):
        return False
    if r"\ldots" in answer and r"\ldots" not in gold:
        return False
    bare = re.sub(r"\\text\s*\{[^{}]*\}", " @ ", answer)
    bad = re.search(r"\d'|\?|[-+]\s*[-+]|\\pm\s*\\pm|[-+]\s*$|(?<![A-Za-z}\d])\d+\s+\d+(?!\s*[/\\\d])", bare)
    return False if bad and not re.search(r"matrix|(?<![\\A-Za-z])[A-Za-z]{3}", bare) else None


_DENIAL = re.compile(r"\b(?:not|never|wrong|incorrect|false|impossible|except|excluding|unless)\b", re.IGNORECASE)


def denied(gold: str, answer: str) -> bool | None:
    r"""`not 5`, `5\text{ is wrong}`, `5\text{ except }6`: who denies what the gold does not has not given it."""
    return False if _DENIAL.search(answer) and not _DENIAL.search(gold) else None


_IN_BASE = re.compile(r"\(?\s*(-?\d[\dA-F]*)\s*\)?\s*_\s*\{?\s*\(?\s*(?:\\text\s*\{\s*)?(\d+|[a-z]+)\s*\}?\s*\)?\s*\}?")


def same_numeral_in_base(gold: str, answer: str) -> bool | None:
    r"""`4210_7` as gold is met by 4210, whose base the question tells; `5_8` as an answer is not 5, nor any value."""
    left, right = _IN_BASE.fullmatch(gold), _IN_BASE.fullmatch(answer)
    if right is not None:
        return (
            left is not None and left[1] == right[1] and (spoken(left[2]) or left[2]) == (spoken(right[2]) or right[2])
        )
    return literal(answer) == left[1] if left else None


def spelled_number(gold: str, answer: str) -> bool | None:
    r"""`twenty-five`, `three fourths`, `1.5 million`.

    With `million` on one side alone the question may ask in millions: then the number before it may also be meant.
    """
    left, right = spoken(gold), spoken(answer)
    if left is None and right is None:
        return None
    if compare(left or gold, right or answer):
        return True
    scale = re.compile(r"(?<=\d)\s*(?:\\text\s*\{\s*)?(?:million|billion|trillion)\s*\}?")
    short = [scale.sub("", text) for text in (gold, answer)]
    return (left is None) != (right is None) and short != [gold, answer] and compare(short[0], short[1])


def same_ordinal(gold: str, answer: str) -> bool | None:
    """`7th`, `seventh` and 7 are the same place."""
    left, right = ordinal(gold), ordinal(answer)
    if left is None and right is None:
        return None
    return compare(gold if left is None else str(left), answer if right is None else str(right))


def same_choice(gold: str, answer: str) -> bool | None:
    r"""`C`, `(C)`, `\text{(C)}` and `C. x = 42` name the same choice; `(C) 42` is also 42."""
    left, right = choice(gold), choice(answer)
    if right is not None and right.text and left is None:
        return compare(gold, right.text)
    if left is None or right is None or not (left.marked or right.marked):
        return None
    return left.letter == (right.letter.upper() if left.marked and left.letter.isupper() else right.letter)


def same_words(gold: str, answer: str) -> bool | None:
    r"""`\text{odd}`, `Odd`, `the odd`: words are compared as words, and a word is never an expression."""
    left, right = words(gold), words(answer)
    if left is None and right is None:
        return None
    if left is None or right is None:
        plain = bare_word(gold if left is None else answer)
        return plain == (left or right) if plain else False
    return left == right


def same_phrase(gold: str, answer: str) -> bool | None:
    r"""`\text{June 20}` and `June 20`: the same words and numbers in the same order."""
    left = phrase(gold)
    return True if left is not None and left == phrase(answer) else None


def without_condition(gold: str, answer: str) -> bool | None:
    r"""`f(x)=x \text{ for all } x`: what follows "for", "where", "if" is dropped when only one of them says it.

    `5 \\text{ if } x>0, 6 \\text{ otherwise}` is two answers, and not 5.
    """
    left, right = forms.without_condition(gold), forms.without_condition(answer)
    if not left or not right or (left == gold) == (right == answer):
        return None
    return compare(left, right)


def _approximated(text: str) -> list[str]:
    r"""What `a \approx b` may mean: a, and b where it is a rounding of a that is no integer; else nothing.

    A name before it (`x \approx 11`) says nothing of its own.
    """
    sides = [side for side in map(str.strip, text.split(r"\approx")) if side and not is_name(side)]
    if len(sides) < 2 or r"\approx" not in text:
        return sides
    from evals.grading.symbolic import value

    exact, rounded = (value(bare_amount(split(side, "=")[-1])) for side in (sides[0], sides[-1]))
    if len(sides) > 2 or exact is None or rounded is None or exact.denominator == 1:
        return []
    return sides if abs(exact - rounded) <= abs(exact) / 100 else []


def approximation(gold: str, answer: str) -> bool | None:
    r"""`\sqrt{2} \approx 1.41`: either side may be meant where the second rounds the first; `x \approx 11` is 11."""
    if r"\approx" not in gold + answer:
        return None
    return any(compare(left, right) for left in _approximated(gold) for right in _approximated(answer))
