r"""Brackets, parts and the form of a cleaned answer; and plain numbers in it, exactly, as fractions.

`1,000.99`, `-1/3`, `8.7e8`, `1\frac{1}{2}`, and in words: `three fourths`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from evals.grading import Same


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
    r"[\s,]*\\?(?:\\text\s*\{\s*)?[\s,(]*"
    r"\b(?:for (?:some|all|any|every|each)|where|if|when|with|since|because|which)\b(.*)$"
    r"|(?<=\S)\s*,\s*\(?[a-z]\s*\\in\s*\\mathbb\s*\{?\s*R\s*\}?\s*\)?\s*()$",
    re.DOTALL,
)
_HEDGE = re.compile(r"\b(?:otherwise|else|not|if|when)\b")
RELATION = re.compile(r"[<>]|\\(?:le|ge|neq|in|subset|equiv|to|rightarrow|Rightarrow|implies|mapsto)(?![A-Za-z])")
FUNCTION_NAMES = (
    r"\\(?:frac|sqrt|pi|cdot|times|div|bmod|pm|mp|infty|circ|binom|log|ln|exp"
    r"|sin|cos|tan|cot|sec|csc|arcsin|arccos|arctan|sinh|cosh|tanh|coth|sech|csch)(?![A-Za-z])"
)
_GREEK = r"\\(?:alpha|beta|gamma|delta|epsilon|theta|lambda|mu|nu|rho|sigma|tau|phi|psi|omega)"


def before_condition(text: str) -> str | None:
    """What is said before "for all", "where", "if"; None where another answer is said after it."""
    condition = _CONDITION.search(text)
    if condition is None:
        return text
    return None if _HEDGE.search(condition[1] or "") else text[: condition.start()]


_BELOW = re.compile(r"\\(?:lim|sum|prod)\s*_\s*\{[^{}]*\}")


def is_relation(text: str) -> bool:
    """Whether an answer is an equation or another relation, and not a limit or sum with one in its index."""
    return bool(RELATION.search(text) and RELATION.search(_BELOW.sub("", text))) or len(split(text, "=")) > 1


def has_symbols(text: str) -> bool:
    """Whether an expression holds letters other than LaTeX commands (and e, i)."""
    rest = re.sub(r"\\(?:text|begin|end)\s*\{[^{}]*\}|\\(?:overline|bar|dot)(?=\s*\{?\d)", "", text)
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
_PERIODIC = re.compile(
    _SIGN
    + r"(?P<whole>\d*)\.(?P<start>\d*?)\s*"
    + r"(?:\\(?:overline|bar)\s*\{?(?P<bar>\d+)\}?|(?<=\.)\((?P<round>\d+)\)"
    + r"|\\dot\s*\{?(?P<dot>\d)\}?(?:(?P<middle>\d*)\\dot\s*\{?(?P<last>\d)\}?)?"
    + r"|(?P<open>\d+)\s*\\ldots)"
)
_LONGEST = 4300  # digits; Python refuses to convert longer ones

# How many significant digits a decimal must show to stand for an exact value; how many more for a longer decimal.
DIGITS_FOR_EXACT = 4
MORE_FOR_DECIMAL = 2
MORE_FOR_CUT = 3
MORE_FOR_INTEGER = 3


@dataclass(frozen=True)
class Number:
    """An exact value; for a decimal with a point, its number of significant digits, trailing zeros not counted, and the
    unit of the last one that is written: 3.14160 is no rounding of 3.14159."""

    value: Fraction
    digits: int = 0
    last: Fraction | None = None


def number(text: str) -> Number | None:
    """The number in a cleaned answer, or None if it is anything else."""
    if len(text) > _LONGEST:
        return None
    text = text.strip()
    while text.startswith("(") and text.endswith(")") and "(" not in text[1:] and "," not in text:
        text = text[1:-1].strip()
    if match := _FORM.fullmatch(text):
        return _decimal(match)
    if match := _POWER_OF_TEN.fullmatch(text):
        return Number(_signed(match, Fraction(10) ** int(match["power"].replace(" ", ""))))
    if match := _RATIO.fullmatch(text):
        return _ratio(match)
    if match := _PERIODIC.fullmatch(text):
        return _periodic(match)
    return None


def without_separators(text: str) -> str:
    """`1,048,576` and `1 048 576` as 1048576; other texts unchanged."""
    return re.sub("[, ]", "", text) if _GROUPED.fullmatch(text.strip()) else text


_GROUPED = re.compile(r"-?[1-9]\d{0,2}(?:(?:,\d{3})+|(?: \d{3})+)(?:\.\d+)?")


def same_number(gold: Number, answer: Number, digits: int = DIGITS_FOR_EXACT) -> bool:
    """Equal, or one is a correct rounding of the other.

    A decimal stands for an exact value (`1/3`) if it has at least `digits` significant digits, trailing zeros not
    counted, and for a longer decimal if it has at least two more. An integer is never a rounding of anything.
    """
    if gold.value == answer.value or _same_float(gold, answer.value) or _same_float(answer, gold.value):
        return True
    short, long = sorted((gold, answer), key=lambda n: (n.last is None, n.digits))
    needed = digits + (long.last is not None) * MORE_FOR_DECIMAL
    return rounds_to(long.value, short, needed)


def rounds_to(value: Fraction, short: Number, needed: int = DIGITS_FOR_EXACT) -> bool:
    """Whether `short` is a decimal with enough digits that is `value` rounded to its last digit.

    With three digits more it may also be cut off there (`125.663` for 40 pi). An integer is rounded only by a decimal
    times a power of ten that has three digits more.
    """
    if short.last is None or short.digits < needed:
        return False
    if _same_float(short, value):
        return True
    if value.denominator == 1 and (short.last <= 1 or short.digits < needed + MORE_FOR_INTEGER):
        return False
    off = abs(value - short.value)
    cut = short.digits >= needed + MORE_FOR_CUT and abs(value) > abs(short.value)
    return off <= short.last / 2 or (cut and off < short.last)


_FLOAT_DIGITS = range(15, 18)  # as many as a program prints
_FLOAT_ERROR = Fraction(1, 2**52)


def _same_float(decimal: Number, value: Fraction) -> bool:
    """Whether a decimal of 15 to 17 digits is a value that is not whole, to double precision: 0.30000000000000004."""
    if decimal.last is None or decimal.digits not in _FLOAT_DIGITS or value.denominator == 1:
        return False
    return abs(decimal.value - value) <= abs(value) * _FLOAT_ERROR


def _signed(match: re.Match[str], value: Fraction) -> Fraction:
    return -value if match["sign"] == "-" else value


def _decimal(match: re.Match[str]) -> Number:
    written = match["decimal"].replace(",", "").replace(" ", "")
    exponent = int((match["e"] or match["power"] or "0").replace(" ", ""))
    whole, _, places = written.partition(".")
    shown, places = len(places), places.rstrip("0")
    value = _signed(match, Fraction(int(whole + places or "0"), 10 ** len(places)) * Fraction(10) ** exponent)
    if not places:
        return Number(value)
    return Number(value, len((whole + places).lstrip("0")), Fraction(10) ** (exponent - shown))


def _periodic(match: re.Match[str]) -> Number | None:
    r"""`0.58\overline{3}`, `0.\dot{2}\dot{7}` and `0.2727\ldots`, exactly; digits without a visible period are no
    number."""
    start, period = (
        match["start"],
        match["bar"] or match["round"] or "".join(match[g] or "" for g in ("dot", "middle", "last")),
    )
    if match["open"]:
        shown = re.fullmatch(r"(\d*?)(?P<period>\d+?)(?P=period)+", match["start"] + match["open"])
        if shown is None or len(shown[0]) - len(shown[1]) < 3:
            return _cut_off(match)
        start, period = shown[1], shown["period"]
    whole = Fraction(int(match["whole"] + start or "0"), 10 ** len(start))
    return Number(_signed(match, whole + Fraction(int(period), 10 ** len(start) * (10 ** len(period) - 1))))


def _cut_off(match: re.Match[str]) -> Number | None:
    """`0.142857...`, whose period does not show: the middle between this and one more of its last digit."""
    places = match["start"] + match["open"]
    last = Fraction(1, 10 ** len(places))
    value = Fraction(int(match["whole"] + places), 10 ** len(places)) + last / 2
    digits = len((match["whole"] + places).lstrip("0"))
    return Number(_signed(match, value), digits, last) if digits > DIGITS_FOR_EXACT else None


def _ratio(match: re.Match[str]) -> Number | None:
    above, below = match["a"] or match["c"], match["b"] or match["d"]
    try:
        value = Fraction(above) / Fraction(below)
    except (ValueError, ZeroDivisionError):  # "1.2.3", or nothing over zero
        return None
    if match["whole"]:
        if value < 0:
            return None
        value += int(match["whole"])
    return Number(_signed(match, value))


_TO_TWENTY = """one two three four five six seven eight nine ten
eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"""
_ORDER = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_DECADES = "twenty thirty forty fifty sixty seventy eighty ninety"
_BELOW_20 = {word: value for value, word in enumerate(_TO_TWENTY.split(), 1)}
_BELOW_10 = {word: value for word, value in _BELOW_20.items() if value < 10}
_TENS = {word: 10 * value for value, word in enumerate(_DECADES.split(), 2)}
_SCALES = {"trillion": 10**12, "billion": 10**9, "million": 10**6, "thousand": 10**3}
_VALUES = {"zero": 0, **_BELOW_20, **_TENS}
_ORDINALS = {word: value for value, word in enumerate(_ORDER.split(), 1)}
_PARTS = {"half": 2, "halve": 2, "quarter": 4} | {word: value for word, value in _ORDINALS.items() if value > 2}
_AMOUNTS = {"dozen": 12, "hundred": 100, **_SCALES}  # may follow digits
_LONGEST_WORDS = 200


def _any(words: dict[str, int]) -> str:
    return "|".join(words)


_TO_99 = rf"(?:(?:{_any(_TENS)})(?: (?:{_any(_BELOW_10)}))?|{_any(_BELOW_20)})"
_TO_999 = rf"(?:{_TO_99} hundred(?: {_TO_99})?|{_TO_99})"
_WHOLE = re.compile("zero|" + "".join(rf"(?:{_TO_999} {scale}(?: |$))?" for scale in _SCALES) + rf"(?:{_TO_999})?")
_AND = re.compile(rf"\b(hundred|{_any(_SCALES)}) ,")  # a comma is what became of "and"
_PART = re.compile(rf"(?:(?P<whole>.+) , )?(?P<count>[a-z ]+|\d+) (?P<part>{_any(_PARTS)})s?")
_DIGITS = re.compile(rf"(-?[\d.,]*\d) ?({_any(_AMOUNTS)})")
_ORDINAL = re.compile(r"(\d+) ?(?:\^ ?)?\{? ?(?:st|nd|rd|th) ?\}?")


def spoken(text: str) -> str | None:
    """A number that is spelled out, in digits or as a fraction; None for anything else."""
    words = _plain(text)
    if len(words) > _LONGEST_WORDS:
        return None
    if scaled := _DIGITS.fullmatch(words):
        if scaled[1].count(".") > 1:
            return None
        return str(Fraction(scaled[1].replace(",", "")) * _AMOUNTS[scaled[2]])
    sign, bare = ("-", words[6:].strip()) if words.startswith("minus ") else ("", words)
    digits = _spelled(bare)
    return None if digits is None else f"{sign}{digits}"


def ordinal(text: str) -> int | None:
    """The place that `7th`, `7^{th}` or `seventh` is, or None."""
    words = _plain(text)
    if match := _ORDINAL.fullmatch(words):
        return int(match[1]) if len(match[1]) < _LONGEST_WORDS else None
    decade, _, last = words.rpartition(" ")
    tens, place = _TENS.get(decade, 0), _ORDINALS.get(last)
    return None if place is None or (decade and not 0 < place < 10 * bool(tens)) else tens + place


def _plain(text: str) -> str:
    """In small letters with single spaces, `a half` as `one half`, commas apart, hyphens between words gone."""
    text = re.sub(r"\\text ?\{([^{}]*)\}", r" \1 ", text).lower()
    text = re.sub(r"(?<=[a-z])-(?=[a-z])", " ", re.sub(r"(?<=[a-z]) ?, ?", " , ", text))
    text = re.sub(r"\ban? (?=[a-z])", "one ", re.sub(r"^ *negative\b", "minus", text))
    return " ".join(text.split())


def _spelled(words: str) -> str | None:
    dozens = words.removesuffix(" dozen")
    if dozens != words:
        count = _whole(dozens)
        return None if count is None else str(12 * count)
    if words in ("half", "quarter"):
        words = f"one {words}"
    if match := _PART.fullmatch(words):
        whole = _whole(match["whole"]) if match["whole"] else 0
        count = int(match["count"]) if match["count"].isdigit() else _whole(match["count"])
        if whole is None or count is None:
            return None
        parts = _PARTS[match["part"]]
        return rf"\frac{{{whole * parts + count}}}{{{parts}}}"
    count = _whole(words)
    return None if count is None else str(count)


def _whole(words: str) -> int | None:
    """`one hundred twenty five`; None for what is no number, `one one` included."""
    words = _AND.sub(r"\1", words)
    if not words or not _WHOLE.fullmatch(words):
        return None
    total = group = 0
    for word in words.split():
        if word == "hundred":
            group *= 100
        elif word in _SCALES:
            total, group = total + group * _SCALES[word], 0
        else:
            group += _VALUES[word]
    return total + group


def spelled_number(gold: str, answer: str, same: Same) -> bool | None:
    r"""`twenty-five`, `three fourths`, `1.5 million`.

    With `million` on one side alone the question may ask in millions: then the number before it may also be meant.
    """
    if (twice := re.fullmatch(r"([^()]+?)\s*\(([A-Za-z\s-]+)\)", answer)) and spoken(twice[2]):
        return same(gold, twice[1]) and same(gold, twice[2])  # 36 (thirty-six)
    left, right = spoken(gold), spoken(answer)
    if (left is None and right is None) or not same.conventions.words:
        return None
    if same(left or gold, right or answer):
        return True
    scale = re.compile(r"(?<=\d)\s*(?:\\text\s*\{\s*)?(?:million|billion|trillion)\s*\}?")
    short = [scale.sub("", text) for text in (gold, answer)]
    return (left is None) != (right is None) and short != [gold, answer] and same(short[0], short[1])


_PLACE = re.compile(
    r"(\d+\s?(?:st|nd|rd|th)|[a-z]+(?:th|first|second|third)|first|second|third)\s+([a-z]{3,})", re.IGNORECASE
)


def same_ordinal(gold: str, answer: str, same: Same) -> bool | None:
    """`7th`, `seventh`, `7th day` and 7 are the same place; `7th day` is not `7th week`."""
    nouns = [_PLACE.fullmatch(re.sub(r"\\text\s*\{([^{}]*)\}", r"\1", text).strip()) for text in (gold, answer)]
    if nouns[0] and nouns[1]:
        return same(nouns[0][1], nouns[1][1]) and nouns[0][2].lower() == nouns[1][2].lower()
    left, right = (ordinal(noun[1] if noun else text) for noun, text in zip(nouns, (gold, answer), strict=True))
    if (left is None and right is None) or not same.conventions.words:
        return None
    return same(gold if left is None else str(left), answer if right is None else str(right))
