r"""Plain numbers, exactly: `1,000.99`, `-1/3`, `8.7e8`, `2.5\times10^{-3}`, `1\frac{1}{2}` as fractions, not floats."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

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
    + r"(?:\\(?:overline|bar)\s*\{?(?P<bar>\d+)\}?"
    + r"|\\dot\s*\{?(?P<dot>\d)\}?(?:(?P<middle>\d*)\\dot\s*\{?(?P<last>\d)\}?)?"
    + r"|(?P<open>\d+)\s*\\ldots)"
)
_LONGEST = 4300  # digits; Python refuses to convert longer ones

# How many significant digits a decimal must show to stand for an exact value, and for a longer decimal.
DIGITS_FOR_EXACT = 4
DIGITS_FOR_DECIMAL = 6


@dataclass(frozen=True)
class Number:
    """An exact value; for a decimal with a point, how many significant digits it shows and the unit of the last one."""

    value: Fraction
    digits: int = 0
    last: Fraction | None = None


def number(text: str) -> Number | None:
    """The number that a cleaned answer is, or None when it is anything else."""
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


def same_number(gold: Number, answer: Number) -> bool:
    """Equal, or one is a correct rounding of the other.

    A decimal stands for an exact value (`1/3`) when it shows at least four significant digits, trailing zeros not
    counted, and for a longer decimal when it shows at least six. An integer is never a rounding of anything.
    """
    if gold.value == answer.value:
        return True
    short, long = sorted((gold, answer), key=lambda n: (n.last is None, n.digits))
    needed = DIGITS_FOR_EXACT if long.last is None else DIGITS_FOR_DECIMAL
    return rounds_to(long.value, short, needed)


def rounds_to(value: Fraction, short: Number, needed: int = DIGITS_FOR_EXACT) -> bool:
    """Whether `short` is a decimal with enough digits that is `value` rounded to its last digit."""
    if short.last is None or short.digits < needed or value.denominator == 1:
        return False
    return abs(value - short.value) <= short.last / 2


def _signed(match: re.Match[str], value: Fraction) -> Fraction:
    return -value if match["sign"] == "-" else value


def _decimal(match: re.Match[str]) -> Number:
    written = match["decimal"].replace(",", "").replace(" ", "")
    exponent = int((match["e"] or match["power"] or "0").replace(" ", ""))
    whole, _, places = written.partition(".")
    places = places.rstrip("0")
    value = _signed(match, Fraction(int(whole + places or "0"), 10 ** len(places)) * Fraction(10) ** exponent)
    if not places:
        return Number(value)
    return Number(value, len((whole + places).lstrip("0")), Fraction(10) ** (exponent - len(places)))


def _periodic(match: re.Match[str]) -> Number | None:
    r"""`0.58\overline{3}`, `0.\dot{2}\dot{7}` and `0.2727\ldots`, exactly; digits that show no period are no number."""
    start, period = match["start"], match["bar"] or "".join(match[g] or "" for g in ("dot", "middle", "last"))
    if match["open"]:
        shown = re.fullmatch(r"(\d*?)(?P<period>\d+?)(?P=period)+", match["start"] + match["open"])
        if shown is None or len(shown[0]) - len(shown[1]) < 3:
            return None
        start, period = shown[1], shown["period"]
    whole = Fraction(int(match["whole"] + start or "0"), 10 ** len(start))
    return Number(_signed(match, whole + Fraction(int(period), 10 ** len(start) * (10 ** len(period) - 1))))


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
