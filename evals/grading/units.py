r"""Units by name and symbol: `cm`, `square feet`, `m/s^2`, `kcal m}^{-2}`, `mph`."""

from __future__ import annotations

import re

PERCENT, DEGREE = "%", "degree"

Unit = tuple[tuple[str, int], ...]  # sorted (symbol, exponent) pairs; () when a part is not known

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
SYMBOLS: dict[str, str] = {}
_NAMES: dict[str, str] = {}
for _entry in _TABLE.replace("\n", "|").split("|"):
    if ":" in _entry:
        _symbol, _, _names = _entry.strip().partition(":")
        SYMBOLS[_symbol] = _symbol
        for _name in [_symbol, *_names.split()]:
            if len(_name) > 2:
                _NAMES[_name.lower()] = _NAMES[_name.lower() + "s"] = _symbol
            elif _name != _symbol:
                SYMBOLS[_name] = _symbol

_COMPOUND = {"mph": (("mi", 1), ("h", -1)), "kmph": (("km", 1), ("h", -1)), "kph": (("km", 1), ("h", -1))}
_PART = re.compile(r"(?P<name>[A-Za-z]+)|(?P<over>/)|\^\s*\{?\s*\{?\s*(?P<power>-?\d)")


def unit(text: str) -> Unit:
    r"""`m/s`, `\text{ kcal m}^{-2}`, `square feet` as symbols with exponents."""
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
        elif symbol := SYMBOLS.get(name) or _NAMES.get(name.lower()):
            powers[symbol] = sign * power
            last, power = symbol, 1
        else:
            return ()
    return tuple(sorted(powers.items()))


# what any count may be called
_ANY_COUNT = """way possibility solution value number total integer unit time point different possible more
in all the of per and square cubic"""


def things(text: str) -> frozenset[str]:
    r"""What is counted or measured, each word in the singular or as its symbol: `\text{red balls}`, `apples`, `cm`."""
    words = re.findall(r"[a-z]+", text.replace("\\text", " ").replace("\\cdot", " ").lower())
    named = {_NAMES.get(word) or SYMBOLS.get(word) or _singular(word) for word in words}
    return frozenset(named - {_singular(word) for word in _ANY_COUNT.split()})


def _singular(word: str) -> str:
    return re.sub(r"ie$", "y", word.removesuffix("s"))
