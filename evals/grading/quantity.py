r"""A number with a unit or a counted thing: `5\text{ cm}`, `28\%`, `74^\circ`, `125 miles`, and what may not follow."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from evals.grading import Same
from evals.grading.counted import FILLER, HEDGE, countable, of_any_count
from evals.grading.evaluation import constant, constant_ratio
from evals.grading.numbers import (
    has_symbols,
    literal,
    number,
    plain,
    printed_by_program,
    rounds_to,
    split,
    without_separators,
)

# so many times a product of powers of base units
Unit = tuple[Fraction, tuple[tuple[str, int], ...]]
PLAIN: Unit = (Fraction(1), ())
PERCENT: Unit = (Fraction(1), (("%", 1),))
DEGREE: Unit = (Fraction(1), (("degree", 1),))

# symbol: names = what it is in others. Symbols keep their case (m is not M), names do not.
_TABLE = """
m: meter metre | in: inch inches = 127/5000 m | ft: foot feet = 12 in | yd: yard = 3 ft | mi: mile = 5280 ft
au: | pc: parsec | ly: lightyear | Å: angstrom = 1/10000000000 m | rad: radian
s: sec second | min: minute = 60 s | h: hr hour = 60 min | d: day = 24 h | wk: week = 7 d | mo: month | yr: year = 12 mo
g: gram gm | t: ton tonne = 1000000 g | lb: pound = 45359237/100000 g | oz: ounce = 1/16 lb | mol: mole
L: l liter litre = 1/1000 m^3 | gal: gallon | M: molar = 1 mol L^-1 | K: kelvin | Hz: hertz = 1 s^-1
N: newton = 1000 g m s^-2 | J: joule = 1 N m | erg: = 1/10000000 J | Wh: = 3600 J | eV: electronvolt | cal: calorie
W: watt = 1 J s^-1 | A: ampere amp | C: coulomb = 1 A s | V: volt = 1 W A^-1 | ohm: = 1 V A^-1 | F: farad = 1 C V^-1
H: henry = 1 V s A^-1 | T: tesla = 1 V s m^-2 | Pa: pascal = 1 N m^-2 | bar: = 100000 Pa | atm: atmosphere = 101325 Pa
dollar: usd | cent: = 1/100 dollar | dB: decibel | yuan: rmb | euro: | rupee: rs | unit: | cup: | tbsp: tablespoon
am: | pm: | mph: = 5280/3600 ft s^-1 | kmph: kph = 1000/3600 m s^-1
"""
_PREFIXES = {"": " 0", "G": "giga 9", "M": "mega 6", "k": "kilo 3", "d": "deci -1", "c": "centi -2", "m": "milli -3"}
_PREFIXES |= {"u": "micro -6", "n": "nano -9", "p": "pico -12"}
_WITH_PREFIX = "m s g mol l L M Hz N J Wh eV cal W A C V ohm F H T Pa bar pc"  # as symbols. All as words
_OFTEN = "min km dm cm mm nm ms kg mg mL ml kHz MHz kJ MJ kW MW pm"  # also in `5cm`. Not so `5mV`
UNITS: dict[str, Unit] = {}  # by symbol, and by name in small letters


def _times(left: Unit, right: Unit, power: int = 1) -> Unit:
    kinds = dict(left[1])
    for base, exponent in right[1]:
        kinds[base] = kinds.get(base, 0) + exponent * power
    return left[0] * right[0] ** power, tuple(sorted((base, exponent) for base, exponent in kinds.items() if exponent))


def _read_table() -> None:
    """The table's units, and all of them with a prefix."""
    for entry in _TABLE.strip().replace("\n", "|").split("|"):
        head, _, definition = entry.partition("=")
        symbol, *names = head.replace(":", " ").split()
        factor, *parts = definition.split() or ["1", ""]
        size: Unit = (Fraction(factor), ())
        for part in filter(None, parts):
            size = _times(size, UNITS[part.partition("^")[0]], int(part.partition("^")[2] or 1))
        size = size if definition else (Fraction(1), ((symbol, 1),))
        for sign, text in _PREFIXES.items():
            prefix, power = text.split(" ")
            for name in (symbol, *names):
                known = [prefix + name.lower()] if len(name) > 2 or prefix else []
                if not sign or (name in _WITH_PREFIX.split() and (sign not in "cd" or name in "mglL")):
                    known += [sign + name] if not sign or sign + name not in ("pm", "pH") else []
                for word in (*known, *(f"{word}s" for word in known if len(word) > 1 and word.islower())):
                    UNITS.setdefault(word, (size[0] * Fraction(10) ** int(power), size[1]))


_read_table()
_UNIT_WORDS = frozenset(name.lower() for name in UNITS)

_PART = re.compile(r"(?P<name>[A-Za-z]+)|(?P<over>/)|\^\s*\{?\s*\{?\s*(?P<power>-?\d)")


_MORE = re.compile(r"[^\W\d_A-Za-zµμΩÅ]|\d|[,;|?!]")  # `cm или 8`, `cm, 8`


def unit(text: str) -> Unit | None:
    r"""`m/s`, `\text{ kcal m}^{-2}`, `square feet` as a size and powers of base units, or None if a part is not
    known."""
    total, last, has_unit = PLAIN, PLAIN, False
    sign = power = 1
    text = re.sub(r"\bms(?=\}?\s*\^\s*\{?\s*-)", "m s", text)  # metres to a second, not one over milliseconds
    text = text.replace("\\text", " ").replace("\\cdot", " ")
    if _MORE.search(_PART.sub(" ", text)):
        return None
    for part in _PART.finditer(text):
        name = part["name"] or ""
        if part["over"] or name == "per":
            sign = -1
        elif name.lower() in ("square", "sq", "cubic", "cu"):
            power = 2 if name.lower().startswith("s") else 3
        elif part["power"]:
            total = _times(total, last, sign * (int(part["power"]) - 1))
        elif this := _known(name):
            total, last, power, has_unit = _times(total, this, sign * power), this, 1, True
        else:
            return None
    return total if has_unit else None


def _known(name: str) -> Unit | None:
    return UNITS.get(name) or (UNITS.get(name.lower()) if len(name) > 2 else None)


_CHANGED = re.compile(r"(?<!need)(?<!requir)(?<!elaps)(?<!us)ed\s*\}?\s*$")  # 5 increased


def things(text: str) -> frozenset[object]:
    r"""The counted or measured thing, each word in the singular or as its unit: `\text{red balls}`, `apples`."""
    words = re.findall(r"[a-z]+", text.replace("\\text", " ").replace("\\cdot", " ").lower())
    singular = (re.sub(r"ie$", "y", word.removesuffix("s")) for word in words)
    return frozenset(_known(word) or word for word in singular if not of_any_count(word))


_EXPONENT = r"(?:\s*\^\s*(?:\{\s*){0,2}-?\d(?:\s*\}){0,2})?"
_PERCENT = re.compile(
    r"\s*(?:\\?%|(?:\\text\s*\{\s*)?\b(?:percent(?:age)?s?(?:\s+points?)?|per\s+cent|pct)\b\.?\s*\}?)\s*$",
    re.IGNORECASE,
)
_DEGREE = re.compile(
    r"\s*(?:\^\{\\circ\}\s*(?P<scale>[CFK]|\\text\s*\{\s*[CFK]\s*\})?"
    r"|(?:\\text\s*\{\s*)?\bdeg(?:rees?)?(?:\s*(?P<named>[CF]|Celsius|Fahrenheit))?\b\s*\}?)\s*$"
)
_TEXT = re.compile(rf"(?:\s*(?:(?:\\cdot|/)\s*)?\\text\s*\{{(?:[^{{}}]|\{{[^{{}}]*\}})*\}}{_EXPONENT})+\s*$")
_NAME = rf"[A-Za-z]+{_EXPONENT}"
_BARE = re.compile(
    r"(?P<body>.*?(?:[\d.)}|!]|\\pi(?=\s)))(?P<space>\s*)"
    rf"(?P<tail>\{{\s*[A-Za-z]+\s*\}}{_EXPONENT}|{_NAME}(?:(?:\s*(?:\\cdot|[*/])[\s(]*|\s+){_NAME}\)?)*)\s*\.?"
)


_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*(\^\{\\circ\}|\'\'|\'|[A-Za-z]+)(?:,\s+|\s*)")
_ARCS = {r"^{\circ}": 1, "'": 60, "''": 3600}


def _compound(text: str) -> Quantity | None:
    """`3 hours 20 minutes`, `22^{\\circ}30'`: amounts of one kind, each in a smaller unit, as one in the smallest."""
    parts = [(Fraction(part[1]), part[2]) for part in _AMOUNT.finditer(text)]
    if not 2 <= len(parts) <= 3 or not re.fullmatch(rf"(?:{_AMOUNT.pattern})+", text):
        return None
    sizes = [
        (Fraction(1, _ARCS[name]), DEGREE[1]) if name in _ARCS else _known(name) or UNITS.get(name) for _, name in parts
    ]
    known = [size for size in sizes if size is not None]
    if len(known) < len(parts) or len({kind for _, kind in known}) > 1 or not known[0][1]:
        return None
    scales = [scale for scale, _ in known]
    if scales != sorted(set(scales), reverse=True):
        return None
    if any(n * scale >= above for (n, _), scale, above in zip(parts[1:], scales[1:], scales, strict=False)):
        return None  # 22 degrees 90 minutes
    total = sum((n * scale for (n, _), scale in zip(parts, scales, strict=True)), Fraction(0)) / known[0][0]
    return Quantity(str(total), known[0], frozenset([known[0]]))


@dataclass(frozen=True)
class Quantity:
    """A cleaned answer without its unit. The unit, or None if unknown, and the counted things."""

    body: str
    unit: Unit | None
    things: frozenset[object] = frozenset()
    counts: bool = True  # its words can be what a number counts
    descriptive: bool = True  # the words say what it is: `in total` does not


def quantity(text: str) -> Quantity | None:
    r"""The quantity in a cleaned answer, or None if it does not end in a unit.

    A bare word counts as a unit only after a constant (`3s` is algebra, `3 miles` is not). `\text{...}` after
    something that can be measured is taken for one, known or not, unless it is a hedge.
    """
    if (amounts := _compound(plain(text).strip())) is not None:
        return amounts
    without_text = re.sub(r"\\text\s*\{[^{}]*\}(?:\s*\^\s*\{?\s*-?\d\s*\}?)?", "", text)
    if len(split(without_text, ",;")) > 1 and not re.search(r"\d,\d{3}(?:\.\d+)?\D*$", without_text):
        return None  # a list, whose items may have units
    if match := _PERCENT.search(text):
        return _quantity(text[: match.start()], PERCENT, "%")
    if (match := _DEGREE.search(text)) and not re.search(r"\\(?:sin|cos|tan|cot|sec|csc|cis)", text):
        scale = re.sub(r"\\text|[{}\s]", "", match["scale"] or "") or (match["named"] or "")[:1]
        return _quantity(text[: match.start()], (Fraction(1), ((f"degree{scale}", 1),)), "degree")
    if match := _TEXT.search(text):
        known = unit(match[0])
        open_ended = _CHANGED.search(match[0]) or re.search(r"[\d^]", match[0])
        return None if known is None and open_ended else _quantity(text[: match.start()], known, match[0])
    if (match := _BARE.fullmatch(text)) and _is_constant(match["body"]):
        return _bare_quantity(match)
    return None


def _bare_quantity(match: re.Match[str]) -> Quantity | None:
    body, tail = match["body"], match["tail"]
    known, word = unit(tail), tail.strip("{} ")
    if known:
        first = re.findall("[A-Za-z]+", tail)[0]
        spaced = match["space"] and (first in "KJNWVAmsg" if word == first else re.search(r"/|\^\{-", tail))
        prefixed = first[0] in _PREFIXES and first[1:] in UNITS and len(first) < 4
        named = len(first) > 1 and (not prefixed or first in _OFTEN.split())
        return _quantity(body, known, tail) if spaced or named or tail.startswith("{") else None
    counted = re.fullmatch(r"[A-Za-z]{4,}|[A-Za-z]{3,}(?:\s+[A-Za-z]{2,}){1,3}", word)
    if counted and match["space"] and not HEDGE.search(word) and not _CHANGED.search(word) and number(body) is not None:
        return _quantity(body, None, tail)
    return None


def _is_constant(text: str) -> bool:
    """Numbers and roots, but no letters."""
    return number(text) is not None or not re.search(r"[A-Za-z]", re.sub(r"\\(?:frac|sqrt|pi|cdot|times)", "", text))


def _quantity(body: str, known: Unit | None, written: str) -> Quantity | None:
    body = without_separators(body.strip())
    if not re.search(r"[\w)}\]|!]$", body):
        return None
    words = plain(written)
    filler = FILLER.search(words) is not None
    counted: frozenset[object] = frozenset() if filler else things(written)
    counts = known is not None or filler or countable(words, literal(body) == "1", _UNIT_WORDS)
    return Quantity(body, known, counted or frozenset([known] if known else []), counts, not filler)


def same_quantity(gold: str, answer: str, same: Same) -> bool | None:
    left, right = quantity(gold), quantity(answer)
    if left is None and right is None:
        return None
    if (left is None) != (right is None) and _is_symbol_in(*((gold, answer) if left else (answer, gold))):
        return None  # the s of 8\pi s^2 is a side, and no second
    if _of_other_things(left, right):
        return False
    both = left is not None and right is not None
    return _same_sizes(left or _plain(gold), right or _plain(answer), both, same)


def _plain(text: str) -> Quantity:
    """A number without a unit or words."""
    return Quantity(text, None, frozenset(), True, False)


def _of_other_things(left: Quantity | None, right: Quantity | None) -> bool:
    """Whether they count different things, or the answer has words that are neither a unit, nor the gold's, nor what a
    number counts. Two units decide alone."""
    if left and right and left.unit and right.unit:
        return False
    if left and right and left.things and right.things and not left.things & right.things:
        return True
    return bool(right and not right.counts and not (left and right.things <= left.things))


def _same_sizes(left: Quantity, right: Quantity, both: bool, same: Same) -> bool:
    """Whether two quantities of one kind are equal.

    Args:
        both: both sides have a unit or a word.
    """
    bodies = (left.body, right.body)
    if left.unit and right.unit:
        return _converted_or_same(left.unit, right.unit, bodies, same)
    known = left.unit or right.unit
    if known and left.descriptive and right.descriptive and known != UNITS["unit"]:
        return bool(left.things & right.things) and same(*bodies)  # 18 hours and 18 integers
    percent = right.unit == PERCENT and not same.conventions.percent_sign
    if (both or same.conventions.missing_unit) and not percent and same(*bodies):
        return True
    changed = {PERCENT: _hundredth, DEGREE: _in_radians}.get(known) if known else None
    return changed is not None and same(*(changed(side.body) if side.unit else side.body for side in (left, right)))


def _converted_or_same(left: Unit, right: Unit, bodies: tuple[str, str], same: Same) -> bool:
    if left == right:
        return same(*bodies)
    if left[1] != right[1]:
        return False
    ratio = right[0] / left[0]  # 1/100 for m and cm
    a, b = number(bodies[0]), number(bodies[1])
    if a is None or b is None:
        return False
    digits = same.conventions.digits  # 3e8 m/s and 3e5 km/s are equal
    return a.value == b.value * ratio or rounds_to(b.value * ratio, a, digits) or rounds_to(a.value / ratio, b, digits)


def _is_symbol_in(with_unit: str, expression: str) -> bool:
    """Whether the bare letter that one ends with as its unit is a symbol of the other."""
    letter = re.search(r"\s([A-Za-z])(?:\s*\^.*)?$", with_unit)
    symbols = re.sub(r"\\text\s*\{[^{}]*\}", "", expression)
    return bool(letter and re.search(rf"(?<![\\A-Za-z{{]){letter[1]}(?![A-Za-z])", symbols))


def _hundredth(body: str) -> str:
    """`66.7` percent as the decimal 0.667, which may be a rounding."""
    return f"{Decimal(body) / 100:f}" if re.fullmatch(r"-?\d+\.\d+", body) else rf"\frac{{{body}}}{{100}}"


def _in_radians(body: str) -> str:
    return rf"\frac{{({body})\pi}}{{180}}"


_IN_DEGREES = re.compile(r"(?<![\w.^_{])(\d+(?:\.\d+)?|[A-Za-z])\s*\^\{\\circ\}")


def degrees_inside(gold: str, answer: str, same: Same) -> bool | None:
    if r"^{\circ}" not in gold + answer:
        return None
    gold, answer = (re.sub(r"(\\(?:sin|cos|tan|cot|sec|csc))(?=\d)", r"\1 ", text) for text in (gold, answer))
    bare = [text.replace(r"^{\circ}", "") for text in (gold, answer)]
    missing = same.conventions.missing_unit and has_symbols(gold) and (gold == bare[0]) != (answer == bare[1])
    if missing and not re.search(r"\\(?:sin|cos|tan|cot|sec|csc|pi)", bare[0] + bare[1]) and same(*bare):
        return True
    left, right = (_IN_DEGREES.sub(r"(\\frac{\1\\pi}{180})", text) for text in (gold, answer))
    return same(*(text.replace(r"^{\circ}", r"\cdot\frac{\pi}{180}") for text in (left, right)))


def rounded_value(gold: str, answer: str, same: Same) -> bool | None:
    for text, exact in ((answer, gold), (gold, answer)):
        short = number(text)
        if short is not None and number(exact) is None and not has_symbols(exact) and "," not in exact:
            value = constant(exact)
            if value is not None and (value == short.value or short.last is not None):
                rounded = rounds_to(value, short, same.conventions.digits) or printed_by_program(value, short)
                return value == short.value or rounded
            return None
        decimals = [number(decimal) for decimal in re.findall(r"\d+\.\d+(?![\deE])", text)]
        if short is None and len(decimals) == 1 and decimals[0] and not re.search("[,=]", exact + text):
            ratio = constant_ratio(exact, text)  # 0.707c for \frac{c}{\sqrt{2}}
            if ratio is not None and rounds_to(decimals[0].value * ratio, decimals[0], same.conventions.digits):
                return True
    return None
