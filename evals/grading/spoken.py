"""Numbers that are spelled out: `twenty-five`, `three fourths`, `two and a half`, `1.5 million`, `5 dozen`, `7th`."""

from __future__ import annotations

import re
from fractions import Fraction

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
_LONGEST = 200


def _any(words: dict[str, int]) -> str:
    return "|".join(words)


_TO_99 = rf"(?:(?:{_any(_TENS)})(?: (?:{_any(_BELOW_10)}))?|{_any(_BELOW_20)})"
_TO_999 = rf"(?:{_TO_99} hundred(?: {_TO_99})?|{_TO_99})"
_WHOLE = re.compile("zero|" + "".join(rf"(?:{_TO_999} {scale}(?: |$))?" for scale in _SCALES) + rf"(?:{_TO_999})?")
_AND = re.compile(rf"\b(hundred|{_any(_SCALES)}) ,")  # a comma is what became of "and"
_PART = re.compile(rf"(?:(?P<whole>.+) , )?(?P<count>[a-z ]+) (?P<part>{_any(_PARTS)})s?")
_DIGITS = re.compile(rf"(-?[\d.,]*\d) ?({_any(_AMOUNTS)})")
_ORDINAL = re.compile(r"(\d+) ?(?:\^ ?)?\{? ?(?:st|nd|rd|th) ?\}?")


def spoken(text: str) -> str | None:
    """A number that is spelled out, in digits or as a fraction; None for anything else."""
    words = _plain(text)
    if len(words) > _LONGEST:
        return None
    if scaled := _DIGITS.fullmatch(words):
        if scaled[1].count(".") > 1:
            return None
        return str(Fraction(scaled[1].replace(",", "")) * _AMOUNTS[scaled[2]])
    sign, bare = ("-", words[6:].strip()) if words.startswith("minus ") else ("", words)
    found = _spelled(bare)
    return None if found is None else f"{sign}{found}"


def ordinal(text: str) -> int | None:
    """The place that `7th`, `7^{th}` or `seventh` is, or None."""
    words = _plain(text)
    if match := _ORDINAL.fullmatch(words):
        return int(match[1]) if len(match[1]) < _LONGEST else None
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
        whole, count = _whole(match["whole"]) if match["whole"] else 0, _whole(match["count"])
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
