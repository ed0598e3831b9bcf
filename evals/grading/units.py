r"""The unit at the end of a quantity: `5\text{ cm}`, `15\mbox{ m}^2`, `28\%`, `74^\circ`, `125 miles`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from evals.grading.latex import split
from evals.grading.numbers import number

PERCENT, DEGREE = "%", "degree"

# symbol: names. Symbols keep their case (m is not M), names do not.
_TABLE = """
m: meter metre | cm: centimeter centimetre | mm: millimeter millimetre | km: kilometer kilometre | nm: nanometer
in: inch inches | ft: foot feet | yd: yard | mi: mile | au: | pc: parsec | ly: lightyear | rad: radian
s: sec secs second | ms: millisecond | min: mins minute | h: hr hrs hour | d: day | wk: week | mo: month | yr: yrs year
g: gram gm | kg: kilogram | mg: milligram | t: ton tonne | lb: lbs pound | oz: ounce | mol: mole | M: molar
L: l liter litre | mL: ml milliliter | gal: gallon | Hz: hertz | kHz: kilohertz | MHz: megahertz
N: newton | J: joule | kJ: kilojoule | erg: | eV: electronvolt | cal: calorie | kcal: kilocalorie
W: watt | kW: kilowatt | V: volt | A: ampere | C: coulomb | F: farad | H: henry | T: tesla | K: kelvin
Pa: pascal | kPa: kilopascal | atm: atmosphere | dollar: usd | cent: | yuan: rmb | euro: | rupee: rs | unit:
"""
_SYMBOLS: dict[str, str] = {}
_NAMES: dict[str, str] = {}
for _entry in _TABLE.replace("\n", "|").split("|"):
    if ":" in _entry:
        _symbol, _, _names = _entry.strip().partition(":")
        _SYMBOLS[_symbol] = _symbol
        for _name in [_symbol, *_names.split()]:
            if len(_name) > 2:
                _NAMES[_name.lower()] = _NAMES[_name.lower() + "s"] = _symbol
            elif _name != _symbol:
                _SYMBOLS[_name] = _symbol

_COMPOUND = {"mph": (("mi", 1), ("h", -1)), "kmph": (("km", 1), ("h", -1)), "kph": (("km", 1), ("h", -1))}

_EXPONENT = r"(?:\s*\^\s*\{?\s*(?:\{\s*)?-?\d\s*\}?\s*\}?)?"
_PERCENT = re.compile(r"\s*(?:\\?%|(?:\\text\s*\{\s*)?\b(?:percent(?:age)?s?|pct)\b\.?\s*\}?)\s*$", re.IGNORECASE)
_DEGREE = re.compile(
    r"\s*(?:\^\{\\circ\}\s*(?P<scale>[CFK]|\\text\s*\{\s*[CFK]\s*\})?|(?:\\text\s*\{\s*)?\bdeg(?:rees?)?\b\s*\}?)\s*$"
)
_TEXT = re.compile(rf"(?:\s*(?:\\cdot|/)?\s*\\text\s*\{{[^{{}}]*\}}{_EXPONENT})+\s*$")
_BRACED = re.compile(rf"(?<=[\d}}])\s*\{{\s*[A-Za-z]+\s*\}}{_EXPONENT}\s*$")
_WORDS = re.compile(
    r"(?<=[\d.})])\s*(?:(?:square|sq\.?|cubic|cu\.?)?\s*[A-Za-z]{2,}(?:\s*(?:/|per)\s*[A-Za-z]+)?"
    rf"|\s+[A-Za-z]+\s*/\s*[A-Za-z]+){_EXPONENT}\s*$"
)


# 50,000 people; not what changes the number
_CHANGES = (
    "squared|cubed|times|over|plus|minus|dozen|dozens|pairs?|halves|thirds|quarters|fourths|fifths|score|factorial"
)
_COUNTED = re.compile(rf"(\S*\d)\s+(?!(?:{_CHANGES})\b)[a-z]{{4,}}(?:\s+(?!(?:{_CHANGES})\b)[a-z]{{3,}})?")


@dataclass(frozen=True)
class Quantity:
    """A cleaned answer without its unit, and the unit: its known parts with exponents, or () when it is not known."""

    body: str
    unit: tuple[tuple[str, int], ...]


def quantity(text: str) -> Quantity | None:
    """The quantity that a cleaned answer is, or None when it ends in no unit.

    A bare word counts as a unit only after a plain number and when the table knows it (`3s` is algebra, `3 miles` is
    not); `\\text{...}` after something that can be measured is always taken for a unit, known or not.
    """
    if len(split(text, ",;")) > 1 and not re.search(r"\d,\d{3}(?:\.\d+)?\D*$", text):
        return None  # a list, whose items may have units
    if match := _PERCENT.search(text):
        return _quantity(text[: match.start()], ((PERCENT, 1),))
    if (match := _DEGREE.search(text)) and not re.search(r"\\(?:sin|cos|tan|cot|sec|csc)", text):
        scale = re.sub(r"\\text|[{}\s]", "", match["scale"] or "")
        return _quantity(text[: match.start()], ((DEGREE + scale, 1),))
    if match := _TEXT.search(text):
        return _quantity(text[: match.start()], _unit(match[0]))
    for form in (_BRACED, _WORDS):
        if (match := form.search(text)) and _is_constant(text[: match.start()]) and (unit := _unit(match[0])):
            return _quantity(text[: match.start()], unit)
    if (match := _COUNTED.fullmatch(text)) and number(match[1]):
        return _quantity(match[1], ())
    return None


def with_symbol(text: str, unit: tuple[tuple[str, int], ...]) -> str | None:
    """The number of `3h` or `5m`, if what follows it is that unit's symbol; else None. Alone, `5m` is algebra."""
    match = re.fullmatch(r"(.*\d)\s*([A-Za-z]+)", text)
    return match[1] if match and number(match[1]) and _SYMBOLS.get(match[2]) and _unit(match[2]) == unit else None


def _is_constant(text: str) -> bool:
    """Numbers and roots, but no letters."""
    return number(text) is not None or not re.search(r"[A-Za-z]", re.sub(r"\\(?:frac|sqrt|pi|cdot|times)", "", text))


def _quantity(body: str, unit: tuple[tuple[str, int], ...]) -> Quantity | None:
    body = body.strip()
    return Quantity(body, unit) if re.search(r"[\w)}\]|!]$", body) else None


_PART = re.compile(r"(?P<name>[A-Za-z]+)|(?P<over>/)|\^\s*\{?\s*\{?\s*(?P<power>-?\d)")


def _unit(text: str) -> tuple[tuple[str, int], ...]:
    """`m/s`, `\\text{ kcal m}^{-2}`, `square feet` as sorted (symbol, exponent) pairs; () when a part is not known."""
    powers: dict[str, int] = {}
    sign, power, last = 1, 1, ""
    text = re.sub(r"\bms(?=\}?\s*\^\s*\{?\s*-)", "m s", text)  # metres to a second, not one over milliseconds
    for part in _PART.finditer(text.replace("\\text", " ").replace("\\cdot", " ")):
        name = part["name"] or ""
        if part["over"] or name == "per":
            sign = -1
        elif name.lower() in ("square", "sq", "cubic", "cu"):
            power = 2 if name.lower().startswith("s") else 3
        elif part["power"] and last:
            powers[last] = sign * int(part["power"])
        elif name.lower() in _COMPOUND:
            powers |= _COMPOUND[name.lower()]
        elif symbol := _SYMBOLS.get(name) or _NAMES.get(name.lower()):
            powers[symbol] = sign * power
            last, power = symbol, 1
        else:
            return ()
    return tuple(sorted(powers.items()))
