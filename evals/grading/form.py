r"""Rules on the form of the whole answer: its signs, its words, its letter, a condition, an approximation; ratios and
times of day."""

from __future__ import annotations

import re
from typing import NamedTuple

from evals.grading import Same
from evals.grading.collection import is_name
from evals.grading.evaluation import constant
from evals.grading.numbers import balanced, before_condition, literal, number, same_number, same_text, split, spoken
from evals.grading.quantity import bare_amount

_LABELLED = re.compile(r"(?:\(\s*([A-J])\s*\)|([A-J])\s*[.:)])\s+(.+)", re.DOTALL)

_IS_CORRECT = re.compile(
    r"(?:(?i:the\s+)?(?i:option|choice)\s+)?\(?([A-J])\)?\s+is\s+(?:the\s+)?(?:correct|right|best)(?:\s+(?:answer|option|choice))?"
)


class Choice(NamedTuple):
    """A letter of a multiple choice, whether it is marked as one (parentheses, text after it), and that text."""

    letter: str
    marked: bool
    text: str = ""


def choice(text: str) -> Choice | None:
    """The one choice that an answer names, or None: `B`, `(B)`, `option B`, `(B) 12`, `B. 12`; not `(B), (C)`."""
    text = re.sub(r"\\text\s*\{([^{}]*)\}", r"\1", text).strip()
    if named := re.fullmatch(r"(?:option|choice|answer)\s+\(?([A-J])\)?", text, re.IGNORECASE):
        return Choice(named[1].upper(), True)
    if labelled := _LABELLED.fullmatch(text):
        if any(map(choice, split(labelled[3], ",;"))):
            return None
        return Choice(labelled[1] or labelled[2], True, labelled[3])
    if stated := _IS_CORRECT.fullmatch(text):
        return Choice(stated[1], True)
    match = re.fullmatch(r"(\()?\s*([A-Za-z])\s*(\))?", text)
    if match is None or (match[1] and not match[3]):
        return None
    return Choice(match[2].upper() if match[3] else match[2], bool(match[3]))


_NO_PART_OF_A_NAME = ("the", "a", "an", "all", "quadrant")


def words(text: str) -> str | None:
    r"""The words of an answer that is only words, or None. Short bare words (`xy`, `abc`) are symbols."""
    explicit = r"\text" in text
    bare = re.sub(r"\\text\s*\{([^{}]*)\}", r" \1 ", text).strip()
    letters = re.findall(r"[A-Za-z]+", bare)
    if not letters or not re.fullmatch(r"[A-Za-z\s.,;:'\"()\-!?]+", bare):
        return None
    if not explicit and max(map(len, letters)) < 4:
        return None
    if explicit and len(bare) == 1:
        return None
    parts = [re.findall(r"[a-z]+", part.lower()) for part in re.split("[,;]", bare)]
    return ", ".join(sorted(" ".join(word for word in part if word not in _NO_PART_OF_A_NAME) for part in parts))


def bare_word(text: str) -> str | None:
    r"""Bare letters as a word, for comparison with `\text{...}`."""
    return text.lower() if re.fullmatch(r"[A-Za-z]+", text) else None


def phrase(text: str) -> tuple[str, ...] | None:
    r"""The words and numbers of an answer like `\text{June 20}`, or None unless it has both and nothing else."""
    bare = re.sub(r"\\text\s*\{([^{}]*)\}", r" \1 ", text).lower()
    bare = re.sub(r"(?<=\d)(?:st|nd|rd|th)\b", "", bare)
    parts = tuple(re.findall(r"[a-z]+|-?\d+(?:[.,:]\d+)*", bare))
    if not re.fullmatch(r"[a-z\d\s.,;:'\"()\-!?]+", bare) or not any(part[-1].isdigit() for part in parts):
        return None
    if not any(len(part) > 2 and part.isalpha() for part in parts):
        return None
    return tuple(sorted(parts)) if len(parts) == 2 else parts  # 5 June and June 5th


def same_literal(gold: str, answer: str, same: Same) -> bool | None:
    """The same signs, spaces aside."""
    return True if same_text(gold, answer) else None


def same_plain_number(gold: str, answer: str, same: Same) -> bool | None:
    """Two plain numbers: equal, or one the other's rounding. `1,234` may also be a list, so it cannot refuse."""
    left, right = number(gold), number(answer)
    if same.conventions.decimal_comma and left is not None and right is not None and _decimal_comma(gold, answer):
        return True
    if _NO_LIST.search(gold) and _NO_LIST.search(answer):
        return left is not None and right is not None and left.value == right.value  # 10,000 is not 10,00
    if left is not None and right is None and "," in gold and literal(gold) == literal(answer):
        return False  # 1, 234 is a list, 1,234 a number
    if left is None or right is None:
        return (_decimal_comma(gold, answer) and same.conventions.decimal_comma) or None
    return same_number(left, right, same.conventions.digits) or (None if "," in gold + answer else False)


def malformed(gold: str, answer: str, same: Same) -> bool | None:
    r"""Refuse doubled signs (`--5`), unmatched braces, digits side by side, primed,
    asked or open (`5 5`, `5'`, `5?`, `5\ldots`)."""
    if not balanced(answer):
        return False
    if re.search(r"\^\s*(?:\{[^{}]*\}|\w)\s*\^", answer) and r"\circ" not in answer:
        return False  # 5^{1}^{1}
    if number(answer) is not None:
        return None  # 3 628 800
    if r"\ldots" in answer and r"\ldots" not in gold:
        return False
    bare = re.sub(r"\\text\s*\{[^{}]*\}", " @ ", answer)
    bad = re.search(r"\d'|\?|[-+]\s*[-+]|\\pm\s*\\pm|[-+]\s*$|!\s*!\s*!|(?<![A-Za-z}\d])\d+\s+\d+(?!\s*[/\\\d])", bare)
    return False if bad and not re.search(r"matrix|(?<![\\A-Za-z])[A-Za-z]{3}", bare) else None


_NO_LIST = re.compile(r"^\s*-?\d+(?:,\d+)*,0\d+(?:,\d+)*(?:\.\d+)?\s*$")  # no item of a list begins with 0


def _decimal_comma(gold: str, answer: str) -> bool:
    """`1000,99`, `1.000,99` and `1000.99`: the same digits, one with a comma where the other has its point.

    A gold `1,2` is a list; `1,22` may be a decimal.
    """
    for comma, point, places in ((gold, answer, 2), (re.sub(r"^[A-Za-z]\s*=\s*", "", answer), gold, 1)):
        if re.fullmatch(r"-?[1-9]\d{0,2}\.\d{3},\d{2,}", comma):
            comma = comma.replace(".", "")
        elif re.fullmatch(r"-?[1-9]\d{0,2},\d{3}", comma):
            continue  # thousands: 1,250 is not 1.250
        if re.fullmatch(rf"-?\d+,\d{{{places},}}", comma) and re.fullmatch(r"-?\d*\.\d+", point):
            a, b = number(comma.replace(",", ".")), number(point)
            return a is not None and b is not None and a.value == b.value
    return False


_DENIAL = re.compile(
    r"\b(?:not|never|wrong|incorrect|false|impossible|except|excluding|unless|at\s+(?:least|most)|up\s+to"
    r"|(?:more|less|fewer|greater|larger|smaller)\s+than)\b",
    re.IGNORECASE,
)


def denied(gold: str, answer: str, same: Same) -> bool | None:
    r"""`not 5`, `5\text{ is wrong}`, `5\text{ except }6`, `at least 5`: reject an answer that negates or bounds if the
    gold does not."""
    return False if _DENIAL.search(answer) and not _DENIAL.search(gold) else None


_IN_BASE = re.compile(
    r"\(?\s*(-?\d[\dA-Fa-f.]*)\s*\)?\s*_\s*\{?\s*\(?\s*(?:\\text\s*\{\s*)?(\d+|[a-z]+)\s*\}?\s*\)?\s*\}?"
)


def same_numeral_in_base(gold: str, answer: str, same: Same) -> bool | None:
    r"""`4210_7` as gold is met by 4210, whose base the question tells; `5_8` as an answer is not 5, nor any value."""
    left, right = _IN_BASE.fullmatch(gold), _IN_BASE.fullmatch(answer)
    if right is not None:
        return (
            left is not None
            and left[1].upper() == right[1].upper()
            and (spoken(left[2]) or left[2]) == (spoken(right[2]) or right[2])
        )
    return literal(answer) == left[1] if left else None


def same_choice(gold: str, answer: str, same: Same) -> bool | None:
    r"""`C`, `(C)`, `\text{(C)}` and `C. x = 42` name the same choice; `(C) 42` is also 42. `\text{D}` may be `D`."""
    if (letter := re.fullmatch(r"\(?\s*([A-Za-z])\s*\)?", gold)) and literal(answer).strip("()") == letter[1]:
        return True  # n and (n)
    left, right = choice(gold), choice(answer)
    if right is not None and right.text and left is None:
        return same(gold, right.text)
    if left is not None and left.text and right is None:
        return same(left.text, answer) or None
    if left is None or right is None:
        return None
    if not (left.marked or right.marked):
        upright = [r"\text" in text for text in (gold, answer)]
        alike = upright[0] == upright[1] or same.conventions.upright_letter
        return left.letter == right.letter and alike if any(upright) else None
    return left.letter == (right.letter.upper() if left.marked and left.letter.isupper() else right.letter)


_LETTER = re.compile(r"\(?\s*(?:\\text\s*\{\s*)?\(?([A-H])\)?\s*\}?\s*\)?")


def _letters_of_choices(text: str) -> str | None:
    """`A, C` or, in the order of the alphabet, `AC` as the letters of several choices."""
    items = [_LETTER.fullmatch(item) for item in split(text, ",;")]
    if len(items) > 1:
        return "".join(sorted(item[1] for item in items if item)) if all(items) else None
    text = re.sub(r"\\text\s*\{([^{}]*)\}", r"\1", text).strip()
    return text if re.fullmatch("[A-H]{2,}", text) and "".join(sorted(set(text))) == text else None


def same_choices(gold: str, answer: str, same: Same) -> bool | None:
    """`A, C`, `AC` and `(C), (A)` name the same choices, if one of them is a list."""
    left, right = _letters_of_choices(gold), _letters_of_choices(answer)
    if left is None or right is None or len(split(gold, ",;")) == len(split(answer, ",;")) == 1:
        return None
    return left == right


_CAPITALS = re.compile(r"[A-Z]{3,}")  # an order, a code, a name; a product of symbols is not written so
_SHORT_WORDS = frozenset(["yes", "no", "odd", "all", "one", "two", "six", "ten", "tie", "win"])


def same_words(gold: str, answer: str, same: Same) -> bool | None:
    r"""`\text{odd}`, `Odd`, `the odd`: words are compared as words, and a word is never an expression."""
    if _says(gold, answer):
        return True
    left, right = words(gold), words(answer)
    if left is None and right is None:
        both = gold.lower(), answer.lower()
        if _CAPITALS.fullmatch(gold) or _CAPITALS.fullmatch(answer):
            capitals, other = (gold, answer) if _CAPITALS.fullmatch(gold) else (answer, gold)
            return bool(capitals == other.upper()) if re.fullmatch(r"[A-Z]{3,}|[a-z]{3,}", other) else None
        return both[0] == both[1] if set(both) & _SHORT_WORDS and all(map(bare_word, both)) else None
    if left is None or right is None:
        plain = bare_word(gold if left is None else answer)
        return plain == (left or right) if plain else False
    return left == right


def _says(gold: str, answer: str) -> bool:
    """`Evelyn has the greatest speed` names Evelyn and nobody else; `It is Saturday`; `Yes, because 2+2=4`."""
    word = re.fullmatch(r"(?:\\text\s*\{)?\s*([A-Za-z]{2,})\s*\}?", gold)
    if word is None:
        return False
    if first := re.match(r"(yes|no)\s*[,.;:!](?!.*\b(?:yes|no)\b)", answer, re.IGNORECASE):
        return first[1].lower() == word[1].lower()
    if _MORE_THAN_ONE.search(answer):
        return False
    stated = rf"(?i:it|this|that|the(?:\s+[a-z]+){{1,3}})\s+(?:is|was)\s+(?:(?:on|in|an?|the)\s+)?(?i:{word[1]})"
    about = rf"{word[1]}\s+(?:(?:has|had|is|was|wins|won|runs|ran)\s+(?:the|a)\s[a-z\s]+|wins|won)"
    return bool(re.fullmatch(about if word[1].istitle() else stated, answer) or re.fullmatch(stated, answer))


_MORE_THAN_ONE = re.compile(r"\b(?:and|or|but|not|no|if|than|while|second|third|last|least|worst)\b")
_COMMANDS = re.compile(r"\\(?!text)[A-Za-z]+")
_LONG_WORD = re.compile(r"[A-Za-z]{4,}")


def words_beside_a_number(gold: str, answer: str) -> bool:
    r"""`17{catfishdinners}, 9{popcornshrimp}` is not the number 9: words that no rule reads have no value."""
    return number(gold) is not None and bool(_LONG_WORD.search(_COMMANDS.sub("", answer)))


def same_phrase(gold: str, answer: str, same: Same) -> bool | None:
    r"""`\text{June 20}` and `June 20`: the same words and numbers in the same order."""
    for read in (phrase, _said):
        if (said := read(gold)) is not None and said == read(answer):
            return True
    return None


def _said(text: str) -> str | None:
    r"""`\text{All integers }k\ge 2` as `all integers k\ge 2`; None without such words."""
    if " " not in text or not _LONG_WORD.search(_COMMANDS.sub("", text)):
        return None
    bare = re.sub(r"\\text\s*\{([^{}]*)\}", r" \1 ", text).strip()
    small = re.sub(r"(?<![\\A-Za-z])[A-Z](?=[a-z]{2})", lambda capital: capital[0].lower(), bare)
    return literal(small) if re.search(r"(?<![\\A-Za-z])[a-z]{4,}\s+\S", small) else None


_DATE = re.compile(r"(?:1\d|20)\d\d-(?:0\d|1[0-2])-(?:[0-2]\d|3[01])")


def date_or_number(gold: str, answer: str, same: Same) -> bool | None:
    """`2025-03-04` is a date, and not 2018."""
    dates = [bool(_DATE.fullmatch(text.strip())) for text in (gold, answer)]
    return literal(gold) == literal(answer) if any(dates) and not (dates[0] and phrase(answer)) else None


def without_condition(gold: str, answer: str, same: Same) -> bool | None:
    r"""`f(x)=x \text{ for all } x`: text after "for", "where", "if" is dropped if only one side has it.

    `5 \\text{ if } x>0, 6 \\text{ otherwise}` is two answers, and not 5.
    """
    left, right = before_condition(gold), before_condition(answer)
    if not left or not right or (left == gold) == (right == answer):
        return None
    constant, new = _ANY_CONSTANT.search(gold[len(left) :]), symbols(right) - symbols(left)
    if constant and constant[1] not in right and len(new) == 1:  # cx for some constant c, and kx
        right = re.sub(rf"(?<![\\A-Za-z]){new.pop()}", constant[1], right)
    return same(left, right)


_ANY_CONSTANT = re.compile(r"\b(?:constants?|numbers?|real|integers?)[\s}$]+([A-Za-z])[\s}$.]*$")


def symbols(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z]", re.sub(r"\\[A-Za-z]+|\\text\s*\{[^{}]*\}", "", text)))


_CONSTANT = re.compile(r"(.*[^\s+\-])\s*\+\s*([CcKk](?:_\{\w\})?)")


def constant_of_integration(gold: str, answer: str, same: Same) -> bool | None:
    r"""`\frac{x^3}{3}+C` and `\frac{x^3}{3}+k`: the constant at the end may have another letter."""
    left, right = _CONSTANT.fullmatch(gold), _CONSTANT.fullmatch(answer)
    if left is None or right is None or left[2] == right[2]:
        return None
    if right[2] in _letters(left[1]) | _letters(right[1]) or left[2] in _letters(left[1]) | _letters(right[1]):
        return None
    return same(gold, f"{right[1]}+{left[2]}")


def _letters(text: str) -> set[str]:
    return set(re.sub(r"\\[A-Za-z]+", "", text))


def _approximated(text: str) -> list[str]:
    r"""The possible meanings of `a \approx b`: a unless it is an integer, and b if it is within 1 % of a; else nothing.
    A name before it (`x \approx 11`) has no meaning of its own.
    """
    sides = [side for side in map(str.strip, text.split(r"\approx")) if side and not is_name(side)]
    if len(sides) < 2 or r"\approx" not in text:
        return sides
    exact, rounded = (constant(bare_amount(split(side, "=")[-1])) for side in (sides[0], sides[-1]))
    if len(sides) > 2 or exact is None or rounded is None or exact.denominator == 1:
        return []
    return sides if abs(exact - rounded) <= abs(exact) / 100 else sides[:1]


def approximation(gold: str, answer: str, same: Same) -> bool | None:
    r"""`\sqrt{2} \approx 1.41`: either side may be meant where the second rounds the first; `x \approx 11` is 11."""
    if r"\approx" not in gold + answer:
        return None
    return any(same(left, right) for left in _approximated(gold) for right in _approximated(answer))


_TIME = re.compile(r"(\d{1,2})(?::([0-5]\d))?\s*(?:([ap])\.?\s*m\b\.?)?", re.IGNORECASE)


def _time(text: str) -> tuple[int, int, str] | None:
    """Hour, minute and half of the day (a, p, or nothing) of a time of day, or None."""
    text = re.sub(r"\\text\s*\{([^{}]*)\}", r"\1", text).strip()
    match = _TIME.fullmatch(re.sub(r"^(?:12(?::00)?\s*)?noon$", "12:00 pm", text))
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
    if any((time := _time(text)) and time[2] for text in (gold, answer)):
        return False  # 9:15 a.m. is not 3:5
    numbers = [[number(part) for part in parts] for parts in (left, right)]
    if len(left) == len(right) and not _time(gold) and all(n and n.value for row in numbers for n in row):
        scales = {a.value / b.value for a, b in zip(*numbers, strict=True) if a and b}
        return len(scales) == 1
    if {len(left), len(right)} == {1, 2}:
        return same(
            *(parts[0] if len(parts) == 1 else rf"\frac{{{parts[0]}}}{{{parts[1]}}}" for parts in (left, right))
        )
    return len(left) == len(right) and all(a != "" and b != "" and same(a, b) for a, b in zip(left, right, strict=True))


_PIECES = re.compile(r"\\begin\s*\{cases\}(.*)\\end\s*\{cases\}", re.DOTALL)
_IF = re.compile(r"\\text\s*\{([^{}]*)\}")


def _pieces(text: str) -> list[list[str]] | None:
    """The values of a function by cases, each with its condition."""
    cases = _PIECES.fullmatch(text)
    rows = [_IF.sub(r"\1", row).split("&") for row in cases[1].split("\\\\") if row.strip()] if cases else []
    if not rows or any(len(row) != 2 for row in rows):
        return None
    return [[row[0].strip(" ,;"), re.sub(r"^\s*(?:if|for|when|where)\b|[,;.]\s*$", "", row[1]).strip()] for row in rows]


def same_pieces(gold: str, answer: str, same: Same) -> bool | None:
    """Functions by cases: the same values under the same conditions, in any order."""
    left, right = _pieces(gold), _pieces(answer)
    if left is None or right is None:
        return None
    for value, condition in left:
        found = [other for other in right if same(value, other[0]) and same(condition, other[1])]
        if not found:
            return False
        right.remove(found[0])
    return not right
