r"""A quantity: a number and, after it, what it counts or measures: `5\text{ cm}`, `28\%`, `74^\circ`, `125 miles`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from evals.grading.latex import split
from evals.grading.numbers import number
from evals.grading.spoken import spoken
from evals.grading.units import DEGREE, PERCENT, SYMBOLS, Unit, things, unit

_EXPONENT = r"(?:\s*\^\s*\{?\s*(?:\{\s*)?-?\d\s*\}?\s*\}?)?"
_PERCENT = re.compile(r"\s*(?:\\?%|(?:\\text\s*\{\s*)?\b(?:percent(?:age)?s?|pct)\b\.?\s*\}?)\s*$", re.IGNORECASE)
_DEGREE = re.compile(
    r"\s*(?:\^\{\\circ\}\s*(?P<scale>[CFK]|\\text\s*\{\s*[CFK]\s*\})?|(?:\\text\s*\{\s*)?\bdeg(?:rees?)?\b\s*\}?)\s*$"
)
_TEXT = re.compile(rf"(?:\s*(?:\\cdot|/)?\s*\\text\s*\{{(?:[^{{}}]|\{{[^{{}}]*\}})*\}}{_EXPONENT})+\s*$")
_BRACED = re.compile(rf"(?<=[\d}}])\s*\{{\s*[A-Za-z]+\s*\}}{_EXPONENT}\s*$")
_WORDS = re.compile(
    r"(?<=[\d.})])\s*(?:(?:square|sq\.?|cubic|cu\.?)?\s*[A-Za-z]{2,}(?:\s*(?:/|per)\s*[A-Za-z]+)?"
    rf"|\s+[A-Za-z]+\s*/\s*[A-Za-z]+){_EXPONENT}\s*$"
)
_COUNTED = re.compile(
    r"(\S*\d(?:\s+(?:thousand|million|billion|trillion))?)\s+((?!\S*ths?\b)(?:[a-z]{4,}|[a-z]{3,}\s+[a-z]{3,}))"
)
_NOT_COUNTED = re.compile(r"\b(?:dozens?|hundred|thousand|[mb]illion|trillion|and|not|half|halves|quarters)\b")

# arithmetic in words, which is not worked out here: `5 squared`, `5\text{ minus one}`, `7 less than x`, `5 tenths`
ARITHMETIC = re.compile(
    r"(?:[\d})\]]\s*[\sa-z]*?|\\text\s*\{[^{}]*?)\b(?:squared|cubed|factorial|modulo|choose|plus|minus|over|times(?=\s+[a-z\d])"
    r"|(?:more|less|fewer|greater) than|halves|thirds|quarters"
    r"|(?:four|fif|six|seven|eigh|nin|ten|hundred|thousand|million)ths)\b"
)


@dataclass(frozen=True)
class Quantity:
    """A cleaned answer without its unit, the unit or () when it is not known, and the things that are counted."""

    body: str
    unit: Unit
    things: frozenset[str] = frozenset()


def quantity(text: str) -> Quantity | None:
    """The quantity that a cleaned answer is, or None when it ends in no unit.

    A bare word counts as a unit only after a plain number and when the table knows it (`3s` is algebra, `3 miles` is
    not); `\\text{...}` after something that can be measured is always taken for a unit, known or not.
    """
    if len(split(text, ",;")) > 1 and not re.search(r"\d,\d{3}(?:\.\d+)?\D*$", text):
        return None  # a list, whose items may have units
    if match := _PERCENT.search(text):
        return _quantity(text[: match.start()], ((PERCENT, 1),), PERCENT)
    if (match := _DEGREE.search(text)) and not re.search(r"\\(?:sin|cos|tan|cot|sec|csc)", text):
        scale = re.sub(r"\\text|[{}\s]", "", match["scale"] or "")
        return _quantity(text[: match.start()], ((DEGREE + scale, 1),), DEGREE)
    if match := _TEXT.search(text):
        return _quantity(text[: match.start()], unit(match[0]), match[0])
    for form in (_BRACED, _WORDS):
        if (match := form.search(text)) and _is_constant(text[: match.start()]) and (known := unit(match[0])):
            return _quantity(text[: match.start()], known, match[0])
    counted = _COUNTED.fullmatch(text)
    if counted and not _NOT_COUNTED.search(counted[2]) and (number(counted[1]) or spoken(counted[1])):
        return _quantity(counted[1], (), counted[2])
    return None


def with_symbol(text: str, known: Unit) -> str | None:
    """The number of `3h` or `5m`, if what follows it is that unit's symbol; else None. Alone, `5m` is algebra."""
    match = re.fullmatch(r"(.*\d)\s*([A-Za-z]+)", text)
    return match[1] if match and number(match[1]) and SYMBOLS.get(match[2]) and unit(match[2]) == known else None


def bare_amount(text: str) -> str:
    """A cleaned answer without its unit, if it has one."""
    found = quantity(text)
    return text if found is None else found.body


def _is_constant(text: str) -> bool:
    """Numbers and roots, but no letters."""
    return number(text) is not None or not re.search(r"[A-Za-z]", re.sub(r"\\(?:frac|sqrt|pi|cdot|times)", "", text))


def _quantity(body: str, known: Unit, written: str) -> Quantity | None:
    body = body.strip()
    said = things(written) or frozenset(symbol for symbol, _ in known)
    return Quantity(body, known, said) if re.search(r"[\w)}\]|!]$", body) else None
