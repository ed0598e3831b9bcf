r"""The unit at the end of a quantity: `5\text{ cm}`, `15\mbox{ m}^2`, `28\%`, `74^\circ`, `125 miles`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from evals.latex import split
from evals.numbers import number

PERCENT, DEGREE = "%", "degree"

# symbol: names. Symbols keep their case (m is not M), names do not.
_TABLE = """
m: meter metre | cm: centimeter centimetre | mm: millimeter millimetre | km: kilometer kilometre | nm: nanometer | in: inch inches
ft: foot feet | yd: yard | mi: mile | s: sec second | ms: millisecond | min: minute | h: hr hour | d: day | wk: week | mo: month
yr: year | g: gram gm | kg: kilogram | mg: milligram | t: ton tonne | lb: lbs pound | oz: ounce | L: l liter litre | mL: ml milliliter
gal: gallon | N: newton | J: joule | kJ: kilojoule | eV: electronvolt | W: watt | kW: kilowatt | V: volt | A: ampere amp | C: coulomb
K: kelvin | Hz: hertz | kHz: kilohertz | MHz: megahertz | Pa: pascal | kPa: kilopascal | atm: atmosphere | mol: mole | M: molar
erg: ergs | cal: calorie | kcal: kilocalorie | rad: radian | AU: au | pc: parsec | ly: lightyear | Z: | mph: | kmph: kph
T: tesla | F: farad | H: henry | dollar: dollars usd | cent: cents | yuan: rmb | euro: euros | rupee: rs rupees | unit: units
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

_PERCENT = re.compile(r"\s*(?:\\?%|(?:\\text\s*\{\s*)?\b(?:percent(?:age)?s?|pct)\b\.?\s*\}?)\s*$", re.IGNORECASE)
_DEGREE = re.compile(
    r"\s*(?:\^\{\\circ\}\s*(?P<scale>[CFK]|\\text\s*\{\s*[CFK]\s*\})?|(?:\\text\s*\{\s*)?\bdeg(?:rees?)?\b\s*\}?)\s*$"
)
_EXPONENT = r"(?:\s*\^\s*\{?\s*(?:\{\s*)?(-?\d)\s*\}?\s*\}?)?"
_TEXT = re.compile(rf"(?:\s*(?:\\cdot|/)?\s*\\text\s*\{{[^{{}}]*\}}{_EXPONENT})+\s*$")
_BRACED = re.compile(rf"(?<=[\d}}])\s*\{{\s*([A-Za-z]+)\s*\}}{_EXPONENT}\s*$")
_WORDS = re.compile(
    rf"(?<=[\d.}})])\s*((?:square|sq\.?|cubic|cu\.?)?\s*[A-Za-z]{{2,}}(?:\s*(?:/|per)\s*[A-Za-z]+)?{_EXPONENT}|\s+[A-Za-z]+\s*/\s*[A-Za-z]+{_EXPONENT})\s*$"
)


@dataclass(frozen=True)
class Quantity:
    """A cleaned answer without its unit, and the unit: its known parts with exponents, or () when it is not known."""

    body: str
    unit: tuple[tuple[str, int], ...]


def quantity(text: str) -> Quantity | None:
    """The quantity that a cleaned answer is, or None when it ends in no unit.

    A bare word counts as a unit only after a plain number and when the table knows it (`3s` is algebra, `3 miles` is not);
    `\\text{...}` after something that can be measured is always taken for a unit, known or not.
    """
    if len(split(text, ",;")) > 1 and not re.search(r"\d,\d{3}\D*$", text):
        return None  # a list, whose items may have units
    if match := _PERCENT.search(text):
        return _quantity(text[: match.start()], ((PERCENT, 1),))
    if (match := _DEGREE.search(text)) and not re.search(r"\\(?:sin|cos|tan|cot|sec|csc)", text):
        scale = re.sub(r"\\text|[{}\s]", "", match["scale"] or "")
        return _quantity(text[: match.start()], ((DEGREE + scale, 1),))
    if match := _TEXT.search(text):
        return _quantity(text[: match.start()], _unit(match[0]))
    if (match := _BRACED.search(text)) and number(text[: match.start()]) and (unit := _unit(match[0])):
        return _quantity(text[: match.start()], unit)
    if (match := _WORDS.search(text)) and number(text[: match.start()]) and (unit := _unit(match[1])):
        return _quantity(text[: match.start()], unit)
    return None


def _quantity(body: str, unit: tuple[tuple[str, int], ...]) -> Quantity | None:
    body = body.strip()
    return Quantity(body, unit) if re.search(r"[\w)}\]|!]$", body) else None


def _unit(text: str) -> tuple[tuple[str, int], ...]:
    """`m/s`, `\\text{ kcal m}^{-2}`, `square feet` as sorted (symbol, exponent) pairs; () when a part is not known."""
    text = re.sub(
        r"\\text|\\cdot|[{}*^.~]",
        " ",
        re.sub(r"\^\s*\{?\s*(-?\d)\s*\}?", r" ^\1 ", text.replace("^", " ^ ").replace(" ^ ", "^")),
    )
    powers: dict[str, int] = {}
    sign, power, last = 1, 1, ""
    for token in re.findall(r"[A-Za-z]+|/|-?\d", text):
        lower = token.lower()
        if token == "/" or lower == "per":
            sign = -1
        elif lower in ("square", "sq", "cubic", "cu"):
            power = 2 if lower.startswith("s") else 3
        elif re.fullmatch(r"-?\d", token):
            if not last:
                return ()
            powers[last] = sign * int(token)
        elif (symbol := _SYMBOLS.get(token) or _NAMES.get(lower)) is not None:
            powers[symbol] = sign * power
            last, power = symbol, 1
        elif lower not in ("of", "the"):
            return ()
    return tuple(sorted(powers.items()))
