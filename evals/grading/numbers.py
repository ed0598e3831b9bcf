r"""Brackets and the parts of a cleaned answer, and plain numbers in it, exactly, as fractions.

`1,000.99`, `-1/3`, `8.7e8`, `1\frac{1}{2}`, `0.58\overline{3}`, and in words: `twenty-five`, `7th`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction


def literal(text: str) -> str:
    """A cleaned answer without spaces, except between digits (`1 1/2` is not `11/2`)."""
    return re.sub(r"(?<!\d)\s+|\s+(?![\d.])", "", text)


def same_text(gold: str, answer: str) -> bool:
    """The same signs, spaces aside, but `1, 234` is a list and `1,234` a number."""
    spaced = [bool(re.search(r"\d,\s+\d{3}(?!\d)", text)) for text in (gold, answer)]
    return literal(gold) == literal(answer) and spaced[0] == spaced[1]


def plain(text: str) -> str:
    r"""With the contents of `\text{...}` as they stand."""
    return re.sub(r"\\text\s*\{([^{}]*)\}", r" \1 ", text).strip()


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


RELATION = re.compile(r"[<>]|\\(?:le|ge|neq|in|subset|equiv|to|rightarrow|Rightarrow|implies|mapsto)(?![A-Za-z])")
_COMMANDS = re.compile(
    r"\\(?:frac|sqrt|pi|cdot|times|div|bmod|pm|mp|infty|circ|binom|log|ln|exp"
    r"|sin|cos|tan|cot|sec|csc|arcsin|arccos|arctan|sinh|cosh|tanh|coth|sech|csch)(?![A-Za-z])"
)
_NO_SYMBOL = re.compile(r"\\(?:text|begin|end)\s*\{[^{}]*\}|\\(?:overline|bar|dot)(?=\s*\{?\d)")
_GREEK = r"\\(?:alpha|beta|gamma|delta|epsilon|theta|lambda|mu|nu|rho|sigma|tau|phi|psi|omega)"
_SYMBOL = re.compile(rf"[A-DF-Za-df-hj-z]|{_GREEK}")
_INDEX = re.compile(r"\\(?:lim|sum|prod)\s*_\s*\{[^{}]*\}")


def is_relation(text: str) -> bool:
    """Whether an answer is an equation or another relation, and not a limit or sum with one in its index."""
    return bool(RELATION.search(text) and RELATION.search(_INDEX.sub("", text))) or len(split(text, "=")) > 1


def has_symbols(text: str) -> bool:
    """Whether an expression holds letters other than LaTeX commands (and e, i)."""
    return bool(_SYMBOL.search(_COMMANDS.sub("", _NO_SYMBOL.sub("", text))))


_SIGN = r"(?P<sign>[-+]?)\s*"
_DECIMAL = r"(?P<decimal>[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?|[1-9]\d{0,2}(?: \d{3})+(?:\.\d+)?|\d+(?:\.\d*)?|\.\d+)"
_POWER = r"(?:[eE](?P<e>[-+]?\d{1,3})|\s*(?:\\times|\\cdot|\*|x)\s*10\s*\^\s*\{?\s*(?P<power>[-+]?\s*\d{1,3})\s*\}?)?"
_FORM = re.compile(_SIGN + _DECIMAL + _POWER)
_POWER_OF_TEN = re.compile(_SIGN + r"10\s*\^\s*\{?\s*(?P<power>[-+]?\s*\d{1,3})\s*\}?")
_RATIO = re.compile(
    _SIGN
    + r"(?:(?P<whole>\d{1,9})\s*(?:\s|(?=\\frac)))?\s*"
    + r"(?:\\frac\{(?P<a>-?[\d.]+)\}\{(?P<b>-?[\d.]+)\}|(?P<c>[\d.]+)\s*/\s*(?P<d>[\d.]+))"
)
_PERIODIC = re.compile(_SIGN + r"(?P<whole>\d*)\.(?P<start>\d*?)\s*\\(?:overline|bar)\s*\{?(?P<bar>\d+)\}?")
_DOTTED = re.compile(
    _SIGN + r"(?P<whole>\d*)\.(?P<start>\d*)\\dot\s*\{?(?P<bar>\d)\}?(?:(?P<middle>\d*)\\dot\s*\{?(?P<end>\d)\}?)?"
)
_REPEATED = re.compile(_SIGN + r"(?P<whole>\d*)\.(?P<start>\d*?)(?P<bar>\d+?)(?P=bar)+\s*\\ldots")
_GROUPED = re.compile(r"-?[1-9]\d{0,2}(?:(?:,\d{3})+|(?: \d{3})+)(?:\.\d+)?")

# How many significant digits more a decimal must show to stand for a longer decimal. To be cut off, not rounded. To
# stand for a longer integer.
MORE_FOR_DECIMAL = 2
_MORE_FOR_CUT = 3
_MORE_FOR_INTEGER = 3

# A program prints a number of 64 bits with 16 or 17 significant digits at most. Its arithmetic keeps 15 of them.
_DIGITS_OF_A_PROGRAM = (16, 17)
_KEPT_BY_A_PROGRAM = 15
_LARGEST_OF_A_PROGRAM = 10**12  # the 15th digit of a larger number is a hundredth or more


@dataclass(frozen=True)
class Number:
    """An exact value. For a decimal with a point, its number of significant digits, trailing zeros not counted, and the
    unit of the last one that is written: 3.14160 is no rounding of 3.14159."""

    value: Fraction
    digits: int = 0
    last: Fraction | None = None


def number(text: str) -> Number | None:
    """The number in a cleaned answer, or None if it is anything else."""
    text = text.strip()
    while text.startswith("(") and text.endswith(")") and "(" not in text[1:] and "," not in text:
        text = text[1:-1].strip()
    for form, read in ((_FORM, _decimal), (_POWER_OF_TEN, _decimal), (_RATIO, _ratio), *_RECURRING):
        if match := form.fullmatch(text):
            return read(match)
    return None


def without_separators(text: str) -> str:
    """`1,048,576` and `1 048 576` as 1048576. Other texts unchanged."""
    return re.sub("[, ]", "", text) if _GROUPED.fullmatch(text.strip()) else text


def same_number(gold: Number, answer: Number, digits: int) -> bool:
    """Equal, or one is a correct rounding of the other, or one is the other as a program prints it.

    A decimal stands for an exact value (`1/3`) if it has at least `digits` significant digits, trailing zeros not
    counted, and for a longer decimal if it has at least two more. An integer is never a rounding of anything.
    """
    if gold.value == answer.value:
        return True
    short, long = sorted((gold, answer), key=lambda n: (n.last is None, n.digits))
    if long.last is None:
        return rounds_to(long.value, short, digits) or printed_by_program(long.value, short)
    noise = short.digits < _KEPT_BY_A_PROGRAM and printed_by_program(short.value, long)
    return noise or rounds_to(long.value, short, digits + MORE_FOR_DECIMAL)


def rounds_to(value: Fraction, short: Number, needed: int) -> bool:
    """Whether `short` is a decimal with enough digits that is `value` rounded to its last digit.

    With three digits more it may also be cut off there (`125.663` for 40 pi). An integer is rounded only by a decimal
    times a power of ten that has three digits more.
    """
    if short.last is None or short.digits < needed:
        return False
    if value.denominator == 1 and (short.last <= 1 or short.digits < needed + _MORE_FOR_INTEGER):
        return False
    off = abs(value - short.value)
    cut = short.digits >= needed + _MORE_FOR_CUT and abs(value) > abs(short.value)
    return off <= short.last / 2 or (cut and off < short.last)


def printed_by_program(value: Fraction, shown: Number) -> bool:
    """Whether `shown` is `value` as a program prints it after some arithmetic: 5.000000000000002 for 5.

    The decimal has as many digits as a program prints, and agrees in the 15 digits that arithmetic keeps.
    """
    if shown.last is None or shown.digits not in _DIGITS_OF_A_PROGRAM or abs(value) >= _LARGEST_OF_A_PROGRAM:
        return False
    return bool(abs(value - shown.value) <= shown.last * 10 ** (shown.digits - _KEPT_BY_A_PROGRAM) / 2)


def _signed(match: re.Match[str], value: Fraction) -> Fraction:
    return -value if match["sign"] == "-" else value


def _decimal(match: re.Match[str]) -> Number:
    groups = match.groupdict()
    written = (groups.get("decimal") or "1").replace(",", "").replace(" ", "")
    exponent = int((groups.get("e") or match["power"] or "0").replace(" ", ""))
    whole, _, places = written.partition(".")
    shown, places = len(places), places.rstrip("0")
    value = _signed(match, Fraction(int(whole + places or "0"), 10 ** len(places)) * Fraction(10) ** exponent)
    if not places:
        return Number(value)
    return Number(value, len((whole + places).lstrip("0")), Fraction(10) ** (exponent - shown))


def _periodic(match: re.Match[str]) -> Number | None:
    r"""`0.58\overline{3}`, `0.\dot{1}2\dot{3}`, `0.1212\ldots`, exactly. A single digit three times."""
    groups = match.groupdict("")
    start, period = groups["start"], groups["bar"] + groups.get("middle", "") + groups.get("end", "")
    if match.re is _REPEATED and len(period) == 1 and not match[0].rstrip(r"\ldots ").endswith(period * 3):
        return None
    whole = Fraction(int(match["whole"] + start or "0"), 10 ** len(start))
    return Number(_signed(match, whole + Fraction(int(period), 10 ** len(start) * (10 ** len(period) - 1))))


_RECURRING = tuple((form, _periodic) for form in (_PERIODIC, _DOTTED, _REPEATED))


def _ratio(match: re.Match[str]) -> Number | None:
    try:
        value = Fraction(match["a"] or match["c"]) / Fraction(match["b"] or match["d"])
    except (ValueError, ZeroDivisionError):  # "1.2.3", or nothing over zero
        return None
    return Number(_signed(match, value + int(match["whole"] or 0)))


_COUNTS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
_DECADES = "twenty thirty forty fifty sixty seventy eighty ninety"
_PLACES = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_SMALL = dict(zip(f"{_COUNTS} eighteen nineteen".split(), range(1, 20), strict=True))
_TENS = dict(zip(_DECADES.split(), range(20, 100, 10), strict=True))
_ORDINALS = {word: n for n, word in enumerate(_PLACES.split(), 1)}
_PARTS = {"half": 2, "halve": 2, "quarter": 4, **dict(list(_ORDINALS.items())[2:])}
_PART = re.compile(rf"(one(?= [a-z]+$)|[a-z]+(?= [a-z]+s$)) ({'|'.join(_PARTS)})s?")  # one third, two thirds
_SCALES = {"dozen": 12, "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_DIGITS = re.compile(rf"(-?\d[\d,]*(?:\.\d+)?) ?({'|'.join(_SCALES)})")
_CHANCE = re.compile(r"(\d{1,9}|[a-z]+) (?:in|out of) (\d{1,9}|[a-z]+)")  # 1 in 4
_PLACE = re.compile(r"(\d{1,9}) ?(?:\^ ?)?\{? ?(?:st|nd|rd|th) ?\}?")
_BELOW_100 = rf"(?:(?:{'|'.join(_TENS)})(?: (?:{'|'.join(list(_SMALL)[:9])}))?|{'|'.join(_SMALL)})"
_BELOW_1000 = rf"(?:(?:{'|'.join(_SMALL)}) hundred(?: {_BELOW_100})?|{_BELOW_100})"
_SCALED = "".join(rf"(?:{_BELOW_1000} {scale} ?)?" for scale in reversed(_SCALES) if scale != "hundred")
_IN_WORDS = re.compile(f"{_SCALED}(?:{_BELOW_1000})?")
NUMBER_WORD = "|".join(["zero", *_SMALL, *_TENS, *_ORDINALS, *_SCALES, "half", "halves", "quarter", "once", "twice"])


def spoken(text: str) -> str | None:
    """A number or a place that is spelled out, or in digits with its scale, or None for anything else."""
    words = re.sub(r"(?<=[a-z])[-,](?=[a-z ])", " ", plain(text[:200]).lower())
    words = " ".join(re.sub(r"\ban? (?=[a-z])", "one ", re.sub(r"^ *negative\b", "minus", words)).split())
    if scaled := _DIGITS.fullmatch(words):
        return str(Fraction(scaled[1].replace(",", "")) * _SCALES[scaled[2]])
    if place := _PLACE.fullmatch(words):
        return place[1]
    sign, words = ("-", words[6:]) if words.startswith("minus ") else ("", words)
    if part := _PART.fullmatch(words):
        above, below = _whole(part[1]), _PARTS[part[2]]
        return None if above is None else rf"{sign}\frac{{{above}}}{{{below}}}"
    if chance := _CHANCE.fullmatch(words):
        known = [int(side) if side.isdigit() else _whole(side) for side in chance.groups()]
        return None if None in known else rf"\frac{{{known[0]}}}{{{known[1]}}}"
    tens, _, last = words.rpartition(" ")
    if last in _ORDINALS and (not tens or (tens in _TENS and _ORDINALS[last] < 10)):
        return f"{sign}{_TENS.get(tens, 0) + _ORDINALS[last]}"
    whole = _whole(words)
    return None if whole is None else f"{sign}{whole}"


def _whole(words: str) -> int | None:
    """`two million one hundred twenty five thousand`, or None for what is no number, `one one` included."""
    if words == "zero":
        return 0
    if not words or not _IN_WORDS.fullmatch(words):
        return None
    total = group = 0
    for word in words.split():
        if word == "hundred":
            group *= 100
        elif word in _SCALES:
            total, group = total + group * _SCALES[word], 0
        else:
            group += _SMALL.get(word, 0) or _TENS[word]
    return total + group
