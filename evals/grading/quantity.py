r"""A number with a unit or a counted thing: `5\text{ cm}`, `28\%`, `74^\circ`, `125 miles`.

The table of units; how a quantity is read; the rules on units, degrees, mixed numbers and decimals that round.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from evals.grading import Same
from evals.grading.evaluation import constant, within_rounding
from evals.grading.numbers import MORE_FOR_DECIMAL, has_symbols, number, rounds_to, split, spoken, without_separators

PERCENT, DEGREE = "%", "degree"

Unit = tuple[tuple[str, int], ...]  # sorted (symbol, exponent) pairs; () when a part is not known

# symbol: names = what it is in others. Symbols keep their case (m is not M), names do not.
_TABLE = """
m: meter metre | in: inch inches = 127/5000 m | ft: foot feet = 12 in | yd: yard = 3 ft | mi: mile = 5280 ft
au: | pc: parsec | ly: lightyear | Å: angstrom = 1/10000000000 m | rad: radian
s: sec second | min: minute = 60 s | h: hr hour = 60 min | d: day = 24 h | wk: week = 7 d | mo: month | yr: year
g: gram gm | t: ton tonne = 1000000 g | lb: pound = 45359237/100000 g | oz: ounce = 1/16 lb | mol: mole
L: l liter litre = 1/1000 m^3 | gal: gallon | M: molar = 1 mol L^-1 | K: kelvin | Hz: hertz = 1 s^-1
N: newton = 1000 g m s^-2 | J: joule = 1 N m | erg: = 1/10000000 J | Wh: = 3600 J | eV: electronvolt | cal: calorie
W: watt = 1 J s^-1 | A: ampere amp | C: coulomb = 1 A s | V: volt = 1 W A^-1 | ohm: = 1 V A^-1 | F: farad = 1 C V^-1
H: henry = 1 V s A^-1 | T: tesla = 1 V s m^-2 | Pa: pascal = 1 N m^-2 | bar: = 100000 Pa | atm: atmosphere = 101325 Pa
dollar: usd | cent: = 1/100 dollar | dB: decibel | yuan: rmb | euro: | rupee: rs | unit: | cup: | tbsp: tablespoon
"""
_PREFIXES = {"G": "giga 9", "M": "mega 6", "k": "kilo 3", "d": "deci -1", "c": "centi -2", "m": "milli -3"}
_PREFIXES |= {"u": "micro -6", "n": "nano -9", "p": "pico -12"}
_WITH_PREFIX = "m s g mol L M Hz N J Wh eV cal W A C V ohm F H T Pa bar pc"  # as symbols; all as words
_OFTEN = "km dm cm mm nm ms kg mg mL ml kHz MHz kJ MJ kW MW"  # also in `5cm`; not so `5mV`
_Size = tuple[Fraction, dict[str, int]]  # of a unit: so many products of powers of base units
SYMBOLS: dict[str, str] = {}
_NAMES: dict[str, str] = {}
_SIZES: dict[str, _Size] = {}
_PREFIXED: set[str] = set()


def _size(parts: Iterable[tuple[str, int]]) -> _Size:
    """Of a product of powers of known units."""
    total, kind = Fraction(1), dict[str, int]()
    for symbol, power in parts:
        factor, bases = _SIZES.get(symbol, (1, {symbol: 1}))
        total *= factor**power
        for base, times in bases.items():
            kind[base] = kind.get(base, 0) + times * power
    return total, {base: power for base, power in kind.items() if power}


def _add(symbol: str, names: Iterable[str], size: _Size) -> None:
    SYMBOLS[symbol], _SIZES[symbol] = symbol, size
    for name in (symbol, *names):
        (_NAMES if len(name) > 2 else SYMBOLS).setdefault(name.lower() if len(name) > 2 else name, symbol)
        if len(name) > 1:
            _NAMES.setdefault(name.lower() + "s", symbol)


def _read_table() -> None:
    """The table's units, then all of them with a prefix."""
    for entry in _TABLE.strip().replace("\n", "|").split("|"):
        head, _, definition = entry.partition("=")
        symbol, _, names = head.strip().partition(":")
        amount, *others = definition.split() or ["1"]
        total, kind = _size((one.partition("^")[0], int(one.partition("^")[2] or 1)) for one in others)
        _add(symbol, names.split(), (total * Fraction(amount), kind if others else {symbol: 1}))
    for symbol, own in [(symbol, [n for n, one in _NAMES.items() if one == symbol]) for symbol in _SIZES]:
        for sign, (name, power) in ((sign, prefix.split()) for sign, prefix in _PREFIXES.items()):
            factor, kind = _SIZES[symbol]
            _PREFIXED.add(sign + symbol)
            _SIZES.setdefault(sign + symbol, (factor * Fraction(10) ** int(power), kind))
            _NAMES.update({f"{name}{one}": sign + symbol for one in (*own, symbol.lower())})
            usual = sign not in "cd" or symbol in "mgL"
            if symbol in _WITH_PREFIX.split() and usual and sign + symbol not in ("pm", "pH"):
                _add(sign + symbol, [sign + "l"] * (symbol == "L"), _SIZES[sign + symbol])


_read_table()

_COMPOUND = {name: ((distance, 1), ("h", -1)) for name, distance in (("mph", "mi"), ("kmph", "km"), ("kph", "km"))}
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
            powers[last] += sign * (int(part["power"]) - 1)
        elif name.lower() in _COMPOUND:
            powers |= _COMPOUND[name.lower()]
        elif symbol := SYMBOLS.get(name) or _NAMES.get(name.lower()):
            powers[symbol] = powers.get(symbol, 0) + sign * power
            last, power = symbol, 1
        else:
            return ()
    return tuple(sorted(powers.items()))


def converted(one: Unit, other: Unit) -> Fraction | None:
    """How many of `other` one of `one` is: 100 for m and cm, 5/18 for km/h and m/s; None for different kinds."""
    (total, kind), (unit_, same_kind) = _size(one), _size(other)
    return total / unit_ if kind == same_kind else None


# words for any count
_ANY_COUNT = """way possibility solution value number total integer unit time point different possible more
in all the of per and square cubic"""


def things(text: str) -> frozenset[str]:
    r"""The counted or measured thing, each word in the singular or as its symbol: `\text{red balls}`, `apples`,
    `cm`."""
    words = re.findall(r"[a-z]+", text.replace("\\text", " ").replace("\\cdot", " ").lower())
    named = {_NAMES.get(word) or SYMBOLS.get(word) or _singular(word) for word in words}
    return frozenset(named - {_singular(word) for word in _ANY_COUNT.split()})


def _singular(word: str) -> str:
    return re.sub(r"ie$", "y", word.removesuffix("s"))


_EXPONENT = r"(?:\s*\^\s*(?:\{\s*){0,2}-?\d(?:\s*\}){0,2})?"
_PERCENT = re.compile(
    r"\s*(?:\\?%|(?:\\text\s*\{\s*)?\b(?:percent(?:age)?s?|per\s+cent|pct)\b\.?\s*\}?)\s*$", re.IGNORECASE
)
_DEGREE = re.compile(
    r"\s*(?:\^\{\\circ\}\s*(?P<scale>[CFK]|\\text\s*\{\s*[CFK]\s*\})?"
    r"|(?:\\text\s*\{\s*)?\bdeg(?:rees?)?(?:\s*(?P<named>[CF]|Celsius|Fahrenheit))?\b\s*\}?)\s*$"
)
_TEXT = re.compile(rf"(?:\s*(?:(?:\\cdot|/)\s*)?\\text\s*\{{(?:[^{{}}]|\{{[^{{}}]*\}})*\}}{_EXPONENT})+\s*$")
_BRACED = re.compile(rf"(?<=[\d}}])\s*\{{\s*[A-Za-z]+\s*\}}{_EXPONENT}\s*$")
_UNKNOWN = re.compile(r"(?<=\d)\s*\{\s*[a-z]{3,}\s*\}\s*$")  # after a number alone
_WORDS = re.compile(
    r"(?:(?<=[\d.})])|(?<=\\pi(?=\s)))\s*(?:(?:square|sq\.?|cubic|cu\.?)?\s*[A-Za-z]{2,}(?:\s*(?:/|per)\s*[A-Za-z]+)?"
    rf"|\s+[KJNWVAmsg]|\s+[A-Za-z]+\s*/\s*[A-Za-z]+){_EXPONENT}\s*$"
)
# a product of units after a number, one of them to a negative power or below a slash: letters alone are algebra
_PRODUCT = re.compile(
    r"(?<=\d)\s+(?=[^\d]*(?:\^\{-\d|/))[A-Za-z]+(?:\^\{-?\d\})?"
    r"(?:(?:\s*(?:\\cdot|[*/])[\s(]*|\s+)[A-Za-z]+(?:\^\{-?\d\})?)+\)?\s*$"
)
_COUNTED = re.compile(
    r"(\S*\d(?:\s+(?:thousand|million|billion|trillion))?)\s+((?!\S*ths?\b)(?:[a-z]{4,}|[a-z]{3,}\s+[a-z]{3,}))"
)
_NOT_COUNTED = re.compile(
    r"\b(?:dozens?|hundred|thousand|[mb]illion|trillion|and|not|half|halves|quarters"
    r"|remainder|maybe|perhaps|possibly)\b"
)

# arithmetic in words, which is not evaluated here: `5 squared`, `5\text{ minus one}`, `7 less than x`, `5 tenths`
ARITHMETIC = re.compile(
    r"(?:[\d})\]]\s*[\sa-z]*?|\\text\s*\{[^{}]*?)\b(?:squared|cubed|factorial|modulo|choose|plus|minus|over|times(?=\s+[a-z\d])"
    r"|(?:more|less|fewer|greater) than|halves|thirds|quarters"
    r"|(?:four|fif|six|seven|eigh|nin|ten|hundred|thousand|million)ths)\b"
)


@dataclass(frozen=True)
class Quantity:
    """A cleaned answer without its unit; the unit, or () if unknown; and the counted things."""

    body: str
    unit: Unit
    things: frozenset[str] = frozenset()


def quantity(text: str) -> Quantity | None:
    """The quantity in a cleaned answer, or None if it does not end in a unit.

    A bare word counts as a unit only after a plain number and when the table knows it (`3s` is algebra, `3 miles` is
    not); `\\text{...}` after something that can be measured is always taken for a unit, known or not.
    """
    if together := _together(text):
        return together
    bare = re.sub(r"\\text\s*\{[^{}]*\}(?:\s*\^\s*\{?\s*-?\d\s*\}?)?", "", text)
    if len(split(bare, ",;")) > 1 and not re.search(r"\d,\d{3}(?:\.\d+)?\D*$", bare):
        return None  # a list, whose items may have units
    if match := _PERCENT.search(text):
        return _quantity(text[: match.start()], ((PERCENT, 1),), PERCENT)
    if (match := _DEGREE.search(text)) and not re.search(r"\\(?:sin|cos|tan|cot|sec|csc|cis)", text):
        scale = re.sub(r"\\text|[{}\s]", "", match["scale"] or "") or (match["named"] or "")[:1]
        return _quantity(text[: match.start()], ((DEGREE + scale, 1),), DEGREE)
    if match := _TEXT.search(text):
        return _quantity(text[: match.start()], unit(match[0]), match[0])
    if (match := _UNKNOWN.search(text)) and number(text[: match.start()]):
        return _quantity(text[: match.start()], unit(match[0]), match[0])
    for form in (_BRACED, _WORDS, _PRODUCT):
        if (match := form.search(text)) and _is_constant(text[: match.start()]) and (known := unit(match[0])):
            if match[0] in _PREFIXED and match[0] not in _OFTEN.split():
                return None  # a product of symbols
            return _quantity(text[: match.start()], known, match[0])
    counted = _COUNTED.fullmatch(text)
    if counted and not _NOT_COUNTED.search(counted[2]) and (number(counted[1]) or spoken(counted[1])):
        return _quantity(counted[1], (), counted[2])
    return None


_AMOUNTS = re.compile(
    r"(?:\d+(?:\.\d+)?\s*(?:\\text\s*\{\s*[A-Za-z]+\s*\}|[A-Za-z]{2,}|[hd](?![A-Za-z]))(?:\s*,\s*|\s*)){2,}"
)
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)[\s{]*(?:\\text[\s{]*)?([A-Za-z]+)")


def _together(text: str) -> Quantity | None:
    """`3 hours 20 minutes` as 200 minutes: amounts of one kind, each in a smaller unit than the one before it."""
    if not _AMOUNTS.fullmatch(text):
        return None
    total, before = Fraction(0), None
    for amount, name in _AMOUNT.findall(text):
        known = unit(name)
        ratio = converted(before, known) if before else Fraction(1)
        if not known or ratio is None or (before and ratio <= 1):
            return None
        total, before = total * ratio + Fraction(amount), known
    return Quantity(str(total), before or (), frozenset(symbol for symbol, _ in before or ()))


def _with_symbol(text: str, other: Quantity | None) -> Quantity | None:
    """`3h` or `5 L`, if what follows the number is the symbol of a unit of the other's kind. Alone, `5L` is algebra."""
    match = re.fullmatch(r"(.*?\d\}?)\s*([A-Za-z][A-Za-z\s*/]*)", text)
    if other is None or not other.unit or match is None or number(match[1]) is None:
        return None
    known = unit(match[2])
    return Quantity(match[1], known, other.things) if known and converted(known, other.unit) is not None else None


def bare_amount(text: str) -> str:
    """A cleaned answer without its unit, if it has one."""
    amount = quantity(text)
    return text if amount is None else amount.body


def _is_constant(text: str) -> bool:
    """Numbers and roots, but no letters."""
    return number(text) is not None or not re.search(r"[A-Za-z]", re.sub(r"\\(?:frac|sqrt|pi|cdot|times)", "", text))


def _quantity(body: str, known: Unit, written: str) -> Quantity | None:
    body = without_separators(body.strip())
    said = things(written) or frozenset(symbol for symbol, _ in known)
    return Quantity(body, known, said) if re.search(r"[\w)}\]|!]$", body) else None


def arithmetic_in_words(_: str, answer: str, same: Same) -> bool | None:
    r"""`5\text{ squared}`, `4 plus one`, `5 tenths` are neither 5 nor 4: unevaluated arithmetic equals nothing."""
    return False if ARITHMETIC.search(answer) else None


def same_quantity(gold: str, answer: str, same: Same) -> bool | None:
    r"""The number decides when a unit is missing (a convention) or unknown; two known units must be the same
    (`5 cm` is not `5 m`, but `500 cm` is), and two things that are counted as well (`3 boys` is not `3 girls`, but
    `90 red balls` is `90 balls`).

    `28\%` is 28 and 0.28; `135^\circ` is 135 and 3\pi/4.
    """
    left, right = quantity(gold), quantity(answer)
    if left is None and right is None:
        return None
    if (left is None) != (right is None) and _is_symbol_in(*((gold, answer) if left else (answer, gold))):
        return None  # the s of 8\pi s^2 is a side, and no second
    left, right = left or _with_symbol(gold, right), right or _with_symbol(answer, left)
    bodies = (left.body if left else gold, right.body if right else answer)
    units = [q.unit for q in (left, right) if q and q.unit]
    if len(units) == 2 and units[0] != units[1]:
        if sorted(units) == _ANGLES:  # 45^\circ and \pi/4 radians
            turned = (
                rf"\frac{{({body})\pi}}{{180}}" if u == _ANGLES[0] else body
                for u, body in zip(units, bodies, strict=True)
            )
            return same(*turned)
        ratio = converted(units[1], units[0])
        return ratio is not None and _same_amount(bodies, ratio, same)
    if len(units) == 2:
        return same(*bodies)
    if left and right and left.things and right.things and not left.things & right.things:
        return False
    strict = not same.conventions.missing_unit and (left is None or right is None)
    if not strict and same(*bodies):
        return True
    for unit, factor in ((PERCENT, r"\frac{{{}}}{{100}}"), (DEGREE, r"\frac{{({})\pi}}{{180}}")):
        if units == [((unit, 1),)]:
            scaled = [
                (_hundredth(q.body, unit) or factor.format(_digits(q.body))) if q and q.unit else body
                for q, body in zip((left, right), bodies, strict=True)
            ]
            return same(*scaled)
    return False


def _same_amount(bodies: tuple[str, str], ratio: Fraction, same: Same) -> bool:
    """The first is the second times the ratio, exactly, or one of them rounds the other to the digits that it shows."""
    if same(bodies[0], rf"({bodies[1]}) \cdot \frac{{{ratio.numerator}}}{{{ratio.denominator}}}"):
        return True
    left, right = number(bodies[0]), number(bodies[1])
    if left is None or right is None:
        return False
    digits, exact = same.conventions.digits, left.value == right.value * ratio  # 3e8 m/s and 3e5 km/s
    return exact or rounds_to(right.value * ratio, left, digits) or rounds_to(left.value / ratio, right, digits)


_ANGLES = [((DEGREE, 1),), (("rad", 1),)]


def _is_symbol_in(with_unit: str, other: str) -> bool:
    """Whether the bare letter that one ends with as its unit is a symbol of the other."""
    letter = re.search(r"\s([A-Za-z])(?:\s*\^.*)?$", with_unit)
    return bool(
        letter and re.search(rf"(?<![\\A-Za-z{{]){letter[1]}(?![A-Za-z])", re.sub(r"\\text\s*\{[^{}]*\}", "", other))
    )


def _hundredth(body: str, unit: str) -> str | None:
    """`66.7` percent as the decimal 0.667, which may be a rounding; None for other units and for what is no decimal."""
    value = number(body)
    if unit != PERCENT or value is None or value.last is None or value.digits > _MOST_DIGITS:
        return None
    return f"{Decimal(value.value.numerator) / Decimal(value.value.denominator) / 100:f}"


_MOST_DIGITS = 20  # fewer than Decimal's 28, so that the quotient is exact


def _digits(body: str) -> str:
    """A number without a period (`66.\\overline{6}`), which cannot stand inside a fraction."""
    value = number(body)
    return body if value is None or "\\" not in body else f"({value.value})"


_IN_DEGREES = re.compile(r"(?<![\w.^_{])(\d+(?:\.\d+)?|[A-Za-z])\s*\^\{\\circ\}")


def degrees_inside(gold: str, answer: str, same: Same) -> bool | None:
    r"""`\sin(90^\circ-x)`: a degree inside an expression is \pi/180; all signs may be missing, as in `180-2x`."""
    if r"^{\circ}" not in gold + answer:
        return None
    gold, answer = (re.sub(r"(\\(?:sin|cos|tan|cot|sec|csc))(?=\d)", r"\1 ", text) for text in (gold, answer))
    signs = [r"^{\circ}" in text for text in (gold, answer)]
    if not all(signs) and same.conventions.missing_unit and has_symbols(gold) and has_symbols(answer):
        bare = [text.replace(r"^{\circ}", "") for text in (gold, answer)]
        if not re.search(r"\\(?:sin|cos|tan|cot|sec|csc|pi)", bare[0] + bare[1]) and same(*bare):
            return True
    left, right = (_IN_DEGREES.sub(r"(\\frac{\1\\pi}{180})", text) for text in (gold, answer))
    return same(*(text.replace(r"^{\circ}", r"\cdot\frac{\pi}{180}") for text in (left, right)))


def grouped_digits(gold: str, answer: str, same: Same) -> bool | None:
    r"""`2^{20}` and `1,048,576`: a number whose digits stand in groups, beside an expression. It may also be a list."""
    digits = without_separators(gold), without_separators(answer)
    if digits == (gold, answer) or (number(gold) and number(answer)) or len(split(gold + "," + answer, ",;")) > 5:
        return None
    other = answer if digits[0] != gold else gold
    return (len(split(other, ",;")) == 1 and same(*digits)) or None


_MIXED = re.compile(r"(?<![\w}^_.{])(\d+)\s*\\frac\{(\d+)\}\{(\d+)\}(?![\d{^!])")


def mixed_number(gold: str, answer: str, same: Same) -> bool | None:
    r"""`1\frac{1}{2}` is one and a half, and `1\frac{1}{2}x` that many x; math-verify multiplies."""
    left, right = (_MIXED.sub(r"(\1+\\frac{\2}{\3})", text) for text in (gold, answer))
    return same(left, right) if (left, right) != (gold, answer) else None


def rounded_value(gold: str, answer: str, same: Same) -> bool | None:
    r"""`2\sqrt{13}` against `7.2111`: a decimal that rounds the exact value, with enough digits."""
    for short, exact in ((number(answer), gold), (number(gold), answer)):
        if short is not None and short.last is not None and number(exact) is None and not has_symbols(exact):
            long = constant(exact)
            if long is None:
                return None
            return long == short.value or rounds_to(long, short, same.conventions.digits)
    return None


_DECIMAL = re.compile(r"\d\.\d")


def rounded_inside(gold: str, answer: str, same: Same) -> bool | None:
    r"""`0.333x` against `\frac{x}{3}`: the decimals inside an expression may round what they stand for."""
    for rounded, exact in ((answer, gold), (gold, answer)):
        if _DECIMAL.search(rounded) and number(rounded) is None:
            digits = same.conventions.digits + MORE_FOR_DECIMAL * bool(_DECIMAL.search(exact))
            if within_rounding(exact, rounded, digits):
                return True
    return None
