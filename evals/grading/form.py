r"""Rules on the form of the whole answer: its signs, its words, its letter, a condition, an approximation, a ratio."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import permutations
from typing import NamedTuple

from evals.grading import Same
from evals.grading.counted import doubted, hedged
from evals.grading.evaluation import constant
from evals.grading.numbers import (
    has_symbols,
    literal,
    number,
    plain,
    same_number,
    same_text,
    split,
    spoken,
)


def text(gold: str, answer: str, same: Same) -> bool | None:
    return True if same_text(gold, answer) else None


def plain_number(gold: str, answer: str, same: Same) -> bool | None:
    left, right = number(gold), number(answer)
    if same.conventions.decimal_comma and (_decimal_comma(gold, answer, 2) or _decimal_comma(answer, gold, 1)):
        return True
    if left is None or right is None:
        return None
    return same_number(left, right, same.conventions.digits) or (None if "," in gold + answer else False)


_RANGE = re.compile(r"(\d+(?:\.\d+)?)\s*-\s*(\d+(?:\.\d+)?)")


def number_range(gold: str, answer: str, same: Same) -> bool | None:
    bounds, other_bounds = _bounds(gold), _bounds(answer)
    if bounds and number(answer):
        return False  # 2010-2012 is no -2
    return all(map(same, bounds, other_bounds)) if bounds and other_bounds else None


def _bounds(side: str) -> tuple[str, ...]:
    """The ends of a range of numbers. 5-3 is a difference, and has none."""
    ends = _RANGE.fullmatch(side.strip())
    return ends.groups() if ends and float(ends[1]) < float(ends[2]) else ()


def _decimal_comma(comma: str, point: str, places: int) -> bool:
    """`1000,99` and 1000.99: a gold `1,2` is a list, `1,22` may be a decimal. `1,250` has thousands."""
    if re.fullmatch(r"-?[1-9]\d{0,2},\d{3}", comma) or not re.fullmatch(r"-?\d*\.\d+", point):
        return False
    decimal = re.fullmatch(rf"-?\d+,\d{{{places},}}", comma)
    a, b = number(comma.replace(",", ".")), number(point)
    return bool(decimal and a and b and a.value == b.value)


def number_in_words(gold: str, answer: str, same: Same) -> bool | None:
    sides = []
    for side in (gold, answer):
        place = re.fullmatch(r"(\S+(?:st|nd|rd|th|first|second|third))\s+([A-Za-z]{3,})", plain(side))
        sides.append((spoken(place[1]), place[2].lower()) if place and spoken(place[1]) else (spoken(side), None))
    if not any(value for value, _ in sides):
        return None
    (left, left_noun), (right, right_noun) = sides
    if left_noun and right_noun and left_noun != right_noun:
        return False  # 7th day and 7th week
    return same(left or gold, right or answer)


_IN_BASE = re.compile(r"\(?\s*(-?\d[\dA-Fa-f.]*)\s*\)?\s*_\s*\{?\s*\(?\s*(?:\\text\s*\{\s*)?(\d+|[a-z]+)[\s})]*")


_BASE_IN_WORDS = re.compile(r"\s*[,(]?\s*(?:in\s+)?base\s*[-$]?\s*(\d+|[a-z]+)\s*\)?\s*$")


def _numeral(text: str) -> str:
    """`N=314\\text{ (base 7)}` as `314_{7}`."""
    text = re.sub(r"^[A-Za-z]\s*=\s*(?=\(?-?\d)", "", text)
    words = plain(text)
    base_match = _BASE_IN_WORDS.search(words)
    return (
        f"{words[: base_match.start()].strip()}_{{{base_match[1]}}}"
        if base_match and re.match(r"-?\d[\dA-F]*$", words[: base_match.start()].strip())
        else text
    )


def numeral_in_base(gold: str, answer: str, same: Same) -> bool | None:
    gold, answer = _numeral(gold), _numeral(answer)
    left, right = _IN_BASE.fullmatch(gold), _IN_BASE.fullmatch(answer)
    if left is None or right is None:
        return literal(answer) == left[1] if left else False if right else None
    return left[1].upper() == right[1].upper() and (spoken(left[2]) or left[2]) == (spoken(right[2]) or right[2])


def no_answer(gold: str, answer: str, same: Same) -> bool | None:
    if re.search(r"\d-0\d", gold + answer):
        return False  # a date is no difference
    if answer.rstrip().endswith("'") and "'" not in gold and r"^{\circ}" not in answer:
        return False  # another word, or a derivative
    if spoken(answer) is not None or number(answer) is not None:
        return None
    return False if hedged(_unconditional(answer) or answer) and not hedged(gold) else None


_CLOCK = re.compile(r"(\d{1,2})(?:\s*\{?:\}?\s*([0-5]\d))?\s*(?:([ap])\.?\s*m\b\.?)?", re.IGNORECASE)
_MONTHS = """january february march april may june july august september october november december"""
_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in _MONTHS.split())
_DAY, _YEAR = r"(?P<day>\d{1,2})(?:\s*(?:st|nd|rd|th))?", r"(?P<year>\d{4})"
_DATES = [
    re.compile(form.format(month=rf"(?P<month>{_MONTH})\.?", day=_DAY, year=_YEAR), re.IGNORECASE)
    for form in (
        r"{month}\s+(?:the\s+)?{day}(?:\s*,?\s+{year})?",
        r"(?:the\s+)?{day}\s+(?:of\s+)?{month}(?:\s*,?\s+{year})?",
        r"{year}\s*,?\s+{month}\s+{day}",
        r"{year}[-/](?P<number>[01]?\d)[-/]{day}",
    )
]


def _date(text: str) -> tuple[str, int, int] | None:
    """(year or nothing, month, day)."""
    match = next(filter(None, (form.fullmatch(plain(text)) for form in _DATES)), None)
    if match is None:
        return None
    parts = match.groupdict("")
    months = [month[:3] for month in _MONTHS.split()]
    month = int(parts["number"]) if "number" in parts else 1 + months.index(parts["month"].lower()[:3])
    return parts.get("year", ""), month, int(parts["day"])


def same_clock(gold: str, answer: str, same: Same) -> bool | None:
    times = [_CLOCK.fullmatch(plain(side)) for side in (gold, answer)]
    if (
        times[0]
        and times[1]
        and any(time[3] for time in times if time)
        and all(time[2] or time[3] for time in times if time)
    ):
        minutes, known = zip(*(_minutes(time) for time in times if time), strict=True)
        if None in minutes:
            return False
        return minutes[0] == minutes[1] or (not all(known) and abs(minutes[0] - minutes[1]) == 720)
    dates = [_date(side) for side in (gold, answer)]
    return None if None in dates else dates[0] == dates[1]


def _minutes(time: re.Match[str]) -> tuple[int | None, bool]:
    """Since midnight, and whether the half of the day is known."""
    hour, half = int(time[1]), (time[3] or "").lower()
    if hour > 23 or (half and not 1 <= hour <= 12):
        return None, True
    hour = hour % 12 + 12 * (half == "p") if half else hour
    return 60 * hour + int(time[2] or 0), bool(half) or hour > 12 or hour == 0


class Choice(NamedTuple):
    """The letters of a multiple choice, whether one is marked (parentheses, text after it), and that text."""

    letters: str
    marked: bool
    text: str = ""


_LABELLED = re.compile(
    r"(?:\(\s*([A-J])\s*\)(?![\s(]*(?:[ouey]\s+(?!is\b|are\b))?[^\W\d_A-Z]{2})|([A-J])\s*[.:)])\s+(?!(?:is|was|or|and|but|not)\b)(.+)",
    re.DOTALL,
)
_ANNOUNCED = re.compile(r"^(?:the\s+)?(?:correct\s+)?(?:option|choice|answer)(?:\s+is)?\s*:?\s+(?=\(?[A-J]\b)", re.I)
_NO_CHOICE = re.compile(
    r"[\s(\[{]*(?:[,;.*^~?=&/]|-[a-z]{2}|\|(?!.*\|)|[ouey]\s+\d|i\.e|e\.g"
    r"|\\(?:&|(?:sim|lesssim|ldots|approx|neq|to|Rightarrow|parallel|oplus)(?![A-Za-z])))"
    r"|(?:\\[A-Za-z]+|\\.|[^A-Za-z\d\\])*$"
)
_OTHER = re.compile(r"\([A-J]\)|\b(?:and|then|also)\b.*\b[A-J]\s*$|^\W*(?:\w{1,6}\W+)?[A-J]\W*$", re.DOTALL)


def choice(written: str) -> Choice | None:
    """The choices that an answer names, or None: `B`, `(B)`, `option B`, `(B) 12`, `B. 12`. `A, C`. Words behind the
    letter are the choice's own, unless they begin as words about it do (in small letters, behind parentheses), leave it
    open or name another one."""
    written = _ANNOUNCED.sub("", plain(written))
    items = [re.fullmatch(r"\(?\s*([A-J])\s*\)?", item) for item in split(written, ",;")]
    if len(items) > 1:
        return Choice("".join(sorted(item[1] for item in items if item)), True) if all(items) else None
    if labelled := _LABELLED.fullmatch(written):
        rest = labelled[3]
        unclear = doubted(rest) or _OTHER.search(rest) or _NO_CHOICE.match(rest) or any(map(choice, split(rest, ",;")))
        return None if unclear else Choice(labelled[1] or labelled[2], True, rest)
    match = re.fullmatch(r"(\()?\s*([A-Za-z])\s*(\))?", written)
    if match is None or (match[1] and not match[3]):
        return None
    return Choice(match[2].upper() if match[3] else match[2], bool(match[3]))


def same_choice(gold: str, answer: str, same: Same) -> bool | None:
    if re.fullmatch(r"\(?\s*[A-Za-z]\s*\)?", gold) and literal(answer).strip("()") == literal(gold).strip("()"):
        return True  # n and (n)
    left, right = choice(gold), choice(answer)
    if left is not None and right is None and re.match(r"\([A-J]\)|[A-J][.,:;?|)\s]+.*\b[A-J]\b", plain(answer), re.S):
        return False  # a second letter, or a doubt
    if right is not None and right.text and left is None:
        return same(gold, right.text)
    if left is None or right is None:
        return None
    if not (left.marked or right.marked):
        if re.fullmatch("[A-J]", gold) and re.fullmatch("[a-j]", answer):
            return gold == answer.upper()
        return left.letters == right.letters if r"\text" in gold + answer else None
    return left.letters == (right.letters.upper() if left.marked and left.letters.isupper() else right.letters)


_ARTICLES = ("the", "a", "an", "quadrant")
_SHORT_WORDS = frozenset(["yes", "no", "odd", "all", "one", "two", "six", "ten", "tie", "win"])
_MORE_THAN_ONE = re.compile(r"\b(?:and|or|but|not|no|if|than|while|second|third|last|least|worst)\b")


def _words(side: str) -> str | None:
    r"""The words of an answer that is only words, or None. Short bare words (`xy`, `abc`) are symbols."""
    explicit, bare = r"\text" in side, plain(side)
    letters = re.findall(r"[A-Za-z]+", bare)
    if (
        not letters
        or not re.fullmatch(r"(?:[A-Za-z\s.,;:'\"()!]|(?<=[A-Za-z])-(?=[A-Za-z]))+", bare)
        or (explicit and len(bare) == 1)
    ):
        return None
    if not explicit and max(map(len, letters)) < 4:
        return None
    parts = [re.findall(r"[a-z]+", part.lower()) for part in re.split("[,;]", bare)]
    return ", ".join(sorted(" ".join(word for word in part if word not in _ARTICLES) for part in parts)) or None


def _in_small_letters(side: str) -> str:
    r"""`\text{All integers }k\ge 2` as `all integers k\ge 2`."""
    return literal(re.sub(r"(?<!\\)[A-Za-z]{3,}", lambda word: word[0].lower(), plain(side)))


def same_words(gold: str, answer: str, same: Same) -> bool | None:
    spelled = re.search(r"(?<![\\A-Za-z])[A-Za-z]{3,}", plain(gold))
    if _says(gold, answer) or (spelled and _in_small_letters(gold) == _in_small_letters(answer)):
        return True
    left, right = _words(gold), _words(answer)
    if left is not None and right is not None:
        return left == right
    if left is None and right is None:
        return _same_letters(gold, answer)
    bare = answer if right is None else gold
    return bare.isascii() and bare.isalpha() and bare.lower() == (left or right)


def _same_letters(gold: str, answer: str) -> bool | None:
    """Whether two bare words are one: a short word in any case, or an order, a code, a name in capitals."""
    if not all(side.isascii() and side.isalpha() for side in (gold, answer)):
        return None
    equal = gold.lower() == answer.lower()
    capitals = any(re.fullmatch("[A-Z]{3,}", side) for side in (gold, answer))
    if capitals and min(len(gold), len(answer)) > 2:
        return equal and all(side.isupper() or side.islower() for side in (gold, answer))
    return equal if {gold.lower(), answer.lower()} & _SHORT_WORDS else None


_BECAUSE = re.compile(
    r"(yes|no|true|false)\s*[,.;:!](?=\W*(?:since|because|as|it|this|that|there|we|the|for|by|all|both|such|an?|every)\b)"
    r"(?!.*\b(?:yes|no|but|however|true|false|maybe|perhaps|if|unless|or|hope|guess|think|believe|probably|possibly)\b)",
    re.IGNORECASE | re.DOTALL,
)
_POSSIBLE = re.compile(r"(?:it|this|that)\s+is\s+(?:(not)\s+|(im))?possible\s*[.!]?", re.IGNORECASE)


def _says(gold: str, answer: str) -> bool:
    """`Evelyn has the greatest speed` names Evelyn and nobody else; `It is Saturday`; `Yes, because 2+2=4`; `It is not
    possible` for no."""
    word = re.fullmatch(r"[A-Za-z]{2,}", plain(gold))
    if word is None:
        return False
    answer = plain(answer)
    if first := _BECAUSE.match(answer):
        return first[1].lower() == word[0].lower()
    if (possible := _POSSIBLE.fullmatch(answer)) and word[0].lower() in ("yes", "no"):
        return (word[0].lower() == "no") == bool(possible[1] or possible[2])
    stated = rf"(?i:it|this|that|the(?:\s+[a-z]+){{1,3}})\s+(?:is|was)\s+(?:(?:on|in|an?|the)\s+)?(?i:{word[0]})"
    most = r"the\s+(?:[a-z]+est|most|only|first|winner|correct|right)\b[a-z\s]*"
    about = rf"{word[0]}\s+(?:(?:has|had|is|was|wins|won|runs|ran)\s+{most}|wins|won)"
    forms = rf"{stated}|{about}" if word[0].istitle() else stated
    return not _MORE_THAN_ONE.search(answer) and bool(re.fullmatch(forms, answer))


_CONDITION = re.compile(
    r"\b(?:for (?:some|all|any|every|each)|for(?=\W+[a-z]\s*\\in)|where|since|because|which|if|when)\b(.*)$"
    r"|,\s*\(?[a-z]\s*\\in\s*\\(?:mathbb|text)\s*\{?\s*[RZN]\s*\}?\s*\)?\s*()$",
    re.DOTALL,
)
_MORE = re.compile(r"\b(?:otherwise|else|not|if|when)\b")


def _unconditional(side: str) -> str | None:
    """The part before "for all", "where", "if", or None where another answer is said after it."""
    condition = _CONDITION.search(side)
    if condition is None:
        return side
    before = side[: condition.start()].rstrip(" ,(")
    if before.endswith("{"):
        before = before[:-1].rstrip().removesuffix("text").rstrip("\\ ,(")
    return None if _MORE.search(condition[1] or "") else before


_PARAMETER = re.compile(
    r"[\s,(]*(?:\\text\s*\{\s*,?\s*)?(?:(?:for|where)\s+)?(?:(?:some|any|all|every|an)\s+)?(?:\}\s*)?"
    r"(?:(?P<a>[a-z])\s*(?:\\in(?![A-Za-z])|\\text\s*\{\s*in\s*\})\s*\\mathbb\s*\{?\s*(?P<set>[ZNR])\s*\}?"
    r"|(?:(?P<whole>integers?)|real\s+(?:numbers?|constants?))\s*(?:\}\s*)?(?P<b>[a-z]))[\s).}]*$"
)


def parameter(gold: str, answer: str, same: Same) -> bool | None:
    """Values with a parameter from a set, which may have another letter."""
    left, right = _PARAMETER.search(gold), _PARAMETER.search(answer)
    if left is None or right is None or not left.start() or not right.start():
        return None
    sets = [side["set"] or ("Z" if side["whole"] else "R") for side in (left, right)]
    letters = [side["a"] or side["b"] for side in (left, right)]
    if sets[0] != sets[1]:
        return False
    bodies = gold[: left.start()], answer[: right.start()]
    if letters[0] == letters[1]:
        return same(*bodies)
    if letters[0] in _NAME.findall(bodies[1]) or r"\text" in bodies[1]:
        return None
    return same(bodies[0], _renamed(bodies[1], {letters[1]: letters[0]}))


def conclusion(gold: str, answer: str, same: Same) -> bool | None:
    r"""The end of a derivation: the part after its last arrow."""
    steps = re.split(r"\\(?:Rightarrow|therefore)(?![A-Za-z])", answer)
    if len(steps) < 2 or not steps[-1].strip() or re.search(r"\\(?:Rightarrow|therefore)(?![A-Za-z])", gold):
        return None
    return same(gold, steps[-1].strip(" ,;"))


def condition(gold: str, answer: str, same: Same) -> bool | None:
    if (
        re.search(r"\bfor some\b", answer)
        and "for some" not in gold
        and not re.search(r"for some[\s}]*(?:\\text\{)?\s*(?:integer|constant|real)", answer)
    ):
        return False
    left, right = _unconditional(gold), _unconditional(answer)
    if not left or not right or (left == gold) == (right == answer):
        return None
    if re.match(r"[\s,(}]*(?:\\text\s*\{)?[\s,(]*(?:if|when)\b", answer[len(right) :]):
        return False  # 5 if n is even
    return same(left, right)


_NAME = re.compile(r"\\[A-Za-z]+|[A-Za-z](?:_\{\w+\})?")
_AS_CONSTANT = (
    r"(?:^|[-+=(])\s*%s\s*(?:$|[-+,)]|(?:\\cdot\s*)?(?:e\s*\^|\\(?:sin|cos|exp|ln)(?![A-Za-z])|[xt](?![A-Za-z])))"
)
_CONSTANT = re.compile(r"[CcKk](?:_\{\d\})?|[ABabmn]")


def free_constants(gold: str, answer: str, same: Same) -> bool | None:
    return _free_constants(gold, answer, same) or _free_constants(answer, gold, lambda a, b: same(b, a))


def _free_constants(gold: str, answer: str, same: Callable[[str, str], bool]) -> bool | None:
    left, right = _constants(gold), _constants(answer)
    old, new = [name for name in left if name not in right], [name for name in right if name not in left]
    if not old and not new and 1 < len(left) <= 3 and all(re.match("[Cc]_", name) for name in left):
        old = new = left  # each can be any of them
    if not 0 < len(old) == len(new) <= 3 or len(gold) < 4 or not all(_is_free(name, gold) for name in old):
        return None
    if not _may_replace(old, new, gold, answer):
        return None
    return any(same(_numbered(gold, old), _numbered(answer, order)) for order in permutations(new)) or None


def _constants(text: str) -> list[str]:
    """The names in a text that may be free constants."""
    return [name for name in dict.fromkeys(_NAME.findall(text)) if _CONSTANT.fullmatch(name)]


def _may_replace(old: Sequence[str], new: Sequence[str], gold: str, answer: str) -> bool:
    """Whether the new names may stand for the old ones: A for C_1, n\\pi for k\\pi. One C may be more than a free
    constant, so another letter stands for it in a solved equation alone."""
    if not any(name[0] in "ABabmn" for name in new) or all("_" in name for name in old):
        return True
    whole = "".join(old) == "k" and "".join(new) in "mn" and r"\pi" in gold
    return whole or (_solves(gold, old) and _solves(answer, new))


def _is_free(name: str, gold: str) -> bool:
    """Whether a name stands for any constant. K_0 is given, as an index is part of a name, and a given number has its
    own letter."""
    if name[0] not in "CcKk" or ("_" in name and name[0] not in "Cc"):
        return False
    in_period = name == "k" and r"\pi" in gold
    return in_period or "_" in name or re.search(_AS_CONSTANT % name, gold) is not None


def _solves(text: str, names: Sequence[str]) -> bool:
    """Whether it is `y = ...`, where each of the names stands as a free constant does."""
    sides = split(text, "=")
    named = len(sides) == 2 and re.fullmatch(r"[a-z](?:\([a-z]\))?", sides[0])
    return bool(named) and all("_" in name or re.search(_AS_CONSTANT % name, sides[1]) for name in names)


def _numbered(text: str, names: Sequence[str]) -> str:
    """The text with other symbols for these names, by their order."""
    return _renamed(text, {name: rf"\xi_{{{number}}}" for number, name in enumerate(names)})


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return "".join(names.get(part, part) for part in re.split(f"({_NAME.pattern})", text))


def approximation(gold: str, answer: str, same: Same) -> bool | None:
    if r"\approx" not in gold + answer:
        return None
    if r"\approx" not in gold and has_symbols(answer.rpartition(r"\approx")[2]):
        return False  # y \approx 2x+1
    return any(same(left, right) for left in _approximated(gold) for right in _approximated(answer))


def _approximated(side: str) -> list[str]:
    r"""The meanings of `a \approx b`: a, unless it is a name or an integer, and b, if it is within 1 % of a. Neither
    if b is no rounding of a."""
    first, *rest = [part for part in map(str.strip, side.split(r"\approx")) if part] or [""]
    last = split(rest[-1] if rest else first, "=")[-1]
    exact, rounded = constant(split(first, "=")[-1]), constant(last)
    if not rest or exact is None or rounded is None:
        return [*rest, first][: bool(first)]
    shown = number(last)
    place = shown.last if shown and shown.last is not None else 1
    off = abs(exact - rounded)
    place = place if abs(rounded) < abs(exact) else Fraction(place) / 2  # cut off, or rounded up: 7.07 is not about 8
    if exact.denominator == 1 or off > max(abs(exact) / 100, place):
        return []
    return [first, rest[-1]][: 1 + (off <= abs(exact) / 100)]


_TO = re.compile(r"(?<=\d)\s*(?:\\text\s*\{\s*)?\bto\b\s*\}?\s*(?=\d)")


def ratio(gold: str, answer: str, same: Same) -> bool | None:
    rows = [split(_TO.sub(":", side), ":") for side in (gold, answer)]
    if max(map(len, rows)) < 2:
        return None
    if re.fullmatch(r"\d{1,2}:[0-5]\d", literal(gold)) and len(rows[1]) == 2:
        return literal(gold) == literal(answer)  # 12:30 is not 24:60
    if "" in rows[0] + rows[1] or (len(rows[0]) != len(rows[1]) and max(map(len, rows)) > 2):
        return False
    left, right = (row if len(row) == 1 else [rf"\frac{{{part}}}{{{row[-1]}}}" for part in row[:-1]] for row in rows)
    return all(same(a, b) for a, b in zip(left, right, strict=True))


_ELEMENTS = frozenset(
    re.findall(
        "[A-Z][a-z]?",
        "HHeLiBeBCNOFNeNaMgAlSiPSClArKCaScTiVCrMnFeCoNiCuZnGaGeAsSeBrKrRbSrYZrNbMoAgCdSnSbTeIXeCsBaWPtAuHgPbBiU",
    )
)
_FORMULA = re.compile(r"(?:[A-Z][a-z]?\d*|[()]\d*)+(?:\^\d?[-+])?")


def _formula(side: str) -> str | None:
    """A chemical formula without its fonts and braces."""
    bare = re.sub(r"\\(?:text|ce)(?![A-Za-z])|[\s{}_$]", "", side)
    elements = re.findall(r"[A-Z][a-z]?", bare)
    return bare if _FORMULA.fullmatch(bare) and elements and _ELEMENTS.issuperset(elements) else None


def formula(gold: str, answer: str, same: Same) -> bool | None:
    if not re.search(r"\\(?:text|ce)(?![A-Za-z])", gold + answer) or not re.search(r"\d|[-+]", gold):
        return None
    left, right = _formula(gold), _formula(answer)
    return (left == right or None) if left else None
