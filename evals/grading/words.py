"""Answers in words: a letter of a multiple choice, words and phrases, numbers that are spelled out."""

from __future__ import annotations

import re
from fractions import Fraction

_TO_TWENTY = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_UNITS = {
    **{word: value for value, word in enumerate(_TO_TWENTY.split())},
    **{word: 10 * value for value, word in enumerate(_TENS.split(), 2)},
}
_PARTS = "half third fourth fifth sixth seventh eighth ninth tenth"
_DENOMINATORS = {word: value for value, word in enumerate(_PARTS.split(), 2)} | {"halve": 2, "quarter": 4}
_SCALED = re.compile(rf"(-?[\d.,]*\d)\s*({'|'.join(_SCALES)})")


def spoken(text: str) -> str | None:
    """A number that is spelled out (`twenty-five`, `three fourths`, `1.5 million`) in digits, or None."""
    bare = re.sub(r"\\text\s*\{([^{}]*)\}", r" \1 ", text).lower().replace("-", " - ").strip()
    if scaled := _SCALED.fullmatch(bare.replace(" - ", "-")):
        value = Fraction(scaled[1].replace(",", "")) * _SCALES[scaled[2]] if scaled[1].count(".") < 2 else None
        return None if value is None else str(value)
    found = [word for word in re.split(r"[\s-]+|,", bare) if word not in ("", "a", "an", "and")]
    if not found or any(not word.isalpha() for word in found):
        return None
    part = _DENOMINATORS.get(found[-1].removesuffix("s"))
    if part is not None and len(found) == 1 and found[0] not in ("half", "quarter"):
        return None  # third may be the third
    count = _whole(found if part is None else found[:-1] or ["one"])
    if count is None:
        return None
    return str(count) if part is None else rf"\frac{{{count}}}{{{part}}}"


def _whole(found: list[str]) -> int | None:
    """`one hundred twenty five`; None for a word that is no number."""
    total = group = 0
    for word in found:
        if word in _UNITS:
            group += _UNITS[word]
        elif word == "hundred":
            group = max(1, group) * 100
        elif word in _SCALES:
            total, group = total + max(1, group) * _SCALES[word], 0
        else:
            return None
    return total + group


def choice(text: str) -> tuple[str, bool] | None:
    """The letter of a multiple choice and whether it is marked as one (parentheses, or text after `C.`)."""
    text = re.sub(r"\\text\s*\{([^{}]*)\}", r"\1", text).strip()
    if named := re.fullmatch(r"(?:option|choice|answer)\s+\(?([A-J])\)?", text, re.IGNORECASE):
        return named[1].upper(), True
    if labelled := re.fullmatch(r"\(\s*([A-J])\s*\)\s+.+|([A-J])\)", text, re.DOTALL):
        return labelled[1] or labelled[2], True
    match = re.fullmatch(r"(\()?\s*([A-Za-z])\s*(\))?\s*(?:([.:)])\s*(.+))?", text, re.DOTALL)
    if match is None or bool(match[1]) != bool(match[3]):
        return None
    return match[2].upper() if match[1] else match[2], bool(match[1] or match[4])


def words(text: str) -> str | None:
    r"""The words of an answer that is only words, or None. Short bare words (`xy`, `abc`) are symbols."""
    explicit = r"\text" in text
    bare = re.sub(r"\\text\s*\{([^{}]*)\}", r" \1 ", text).strip()
    found = re.findall(r"[A-Za-z]+", bare)
    if not found or not re.fullmatch(r"[A-Za-z\s.,;:'\"()\-!?]+", bare):
        return None
    if not explicit and max(map(len, found)) < 4:
        return None
    if explicit and len(bare) == 1:
        return None
    parts = [re.findall(r"[a-z]+", part.lower()) for part in re.split("[,;]", bare)]
    return ", ".join(sorted(" ".join(word for word in part if word not in ("the", "a", "an")) for part in parts))


def bare_word(text: str) -> str | None:
    r"""Bare letters as a word, for comparison with `\text{...}`."""
    return text.lower() if re.fullmatch(r"[A-Za-z]+", text) else None


def phrase(text: str) -> tuple[str, ...] | None:
    r"""The words and numbers of an answer like `\text{June 20}`, or None where it has not both, or anything else."""
    bare = re.sub(r"\\text\s*\{([^{}]*)\}", r" \1 ", text).lower()
    found = tuple(re.findall(r"[a-z]+|\d+", bare))
    if not re.fullmatch(r"[a-z\d\s.,;:'\"()\-!?]+", bare) or not any(part.isdigit() for part in found):
        return None
    return found if any(len(part) > 2 and part.isalpha() for part in found) else None
