r"""A number with a unit or a counted thing: `5\text{ cm}`, `28\%`, `74^\circ`, `125 miles`.

The table of units; how a quantity is read; the rules on units, degrees, mixed numbers and decimals that round.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from evals.grading.conventions import Same
from evals.grading.evaluation import constant, within_rounding
from evals.grading.numbers import MORE_FOR_DECIMAL, has_symbols, number, rounds_to, split, spoken, without_separators

PERCENT, DEGREE = "%", "degree"

Unit = tuple[tuple[str, int], ...]  # sorted (symbol, exponent) pairs; () when a part is not known

# symbol: names. Symbols keep their case (m is not M), names do not.
_TABLE = """
m: meter metre | dm: decimeter decimetre | cm: cms centimeter centimetre | mm: millimeter millimetre
km: kms kilometer kilometre | nm: nanometer
in: inch inches | ft: foot feet | yd: yard | mi: mile | au: | pc: parsec | ly: lightyear | rad: radian
s: sec secs second | ms: millisecond | min: mins minute | h: hr hrs hour | d: day | wk: week | mo: month | yr: yrs year
g: gram gm | kg: kgs kilogram | mg: milligram | t: ton tonne | lb: lbs pound | oz: ounce | mol: mole | M: molar
L: l liter litre | mL: ml milliliter | gal: gallon | Hz: hertz | kHz: kilohertz | MHz: megahertz
N: newton | J: joule | kJ: kilojoule | erg: | eV: electronvolt
cal: calorie | kcal: kilocalorie
W: watt | kW: kilowatt | MW: megawatt | MJ: megajoule | V: volt | ohm:
A: ampere | C: coulomb | F: farad | H: henry | T: tesla
K: kelvin | Pa: pascal | kPa: kilopascal | MPa: megapascal | atm: atmosphere
dollar: usd | cent: | yuan: rmb | euro: | rupee: rs | unit:
Å: angstrom
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


# how many of the second unit the first one is, exactly
_RATIOS = """
km m 1000 | m cm 100 | dm cm 10 | cm mm 10 | mm nm 1000000
yd ft 3 | ft in 12 | mi ft 5280 | wk d 7 | d h 24 | h min 60
min s 60 | s ms 1000 | t kg 1000 | kg g 1000 | g mg 1000 | lb oz 16 | L mL 1000 | kHz Hz 1000 | MHz kHz 1000
MJ kJ 1000 | kJ J 1000 | kcal cal 1000 | MW kW 1000 | kW W 1000 | MPa kPa 1000 | kPa Pa 1000 | dollar cent 100
"""
_IN: dict[str, tuple[str, Fraction]] = {}  # in terms of the smallest unit of its kind
for _one in reversed(_RATIOS.replace("\n", "|").split("|")):
    if _one.strip():
        _large, _small, _times = _one.split()
        _base, _factor = _IN.get(_small, (_small, Fraction(1)))
        _IN[_large] = (_base, _factor * int(_times))


def converted(one: Unit, other: Unit) -> Fraction | None:
    """How many of `other` one of `one` is: 100 for m and cm, 5/18 for km/h and m/s; None for different kinds."""
    totals: list[Fraction] = []
    kinds: list[dict[str, int]] = []
    for unit_ in (one, other):
        total, kind = Fraction(1), dict[str, int]()
        for symbol, power in unit_:
            base, factor = _IN.get(symbol, (symbol, Fraction(1)))
            total *= factor**power
            kind[base] = kind.get(base, 0) + power
        totals.append(total)
        kinds.append({base: power for base, power in kind.items() if power})
    return totals[0] / totals[1] if kinds[0] == kinds[1] else None


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
    r"|(?:\\text\s*\{\s*)?\bdeg(?:rees?)?\b(?:\s+(?P<named>[CF]|Celsius|Fahrenheit))?\s*\}?)\s*$"
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
    r"(?:(?:\s*\\cdot\s*|\s*/\s*|\s+)[A-Za-z]+(?:\^\{-?\d\})?)+\s*$"
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
    if (match := _DEGREE.search(text)) and not re.search(r"\\(?:sin|cos|tan|cot|sec|csc)", text):
        scale = re.sub(r"\\text|[{}\s]", "", match["scale"] or "") or (match["named"] or "")[:1]
        return _quantity(text[: match.start()], ((DEGREE + scale, 1),), DEGREE)
    if match := _TEXT.search(text):
        return _quantity(text[: match.start()], unit(match[0]), match[0])
    if (match := _UNKNOWN.search(text)) and number(text[: match.start()]):
        return _quantity(text[: match.start()], unit(match[0]), match[0])
    for form in (_BRACED, _WORDS, _PRODUCT):
        if (match := form.search(text)) and _is_constant(text[: match.start()]) and (known := unit(match[0])):
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


def with_symbol(text: str, known: Unit) -> str | None:
    """The number of `3h` or `5m`, if what follows it is that unit's symbol; else None. Alone, `5m` is algebra."""
    match = re.fullmatch(r"(.*\d)\s*([A-Za-z]+)", text)
    return match[1] if match and number(match[1]) and SYMBOLS.get(match[2]) and unit(match[2]) == known else None


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
    if left and left.unit and right is None and (body := with_symbol(answer, left.unit)):
        right = Quantity(body, left.unit, left.things)
    if right and right.unit and left is None and (body := with_symbol(gold, right.unit)):
        left = Quantity(body, right.unit, right.things)
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
        return ratio is not None and same(
            bodies[0], rf"({bodies[1]}) \cdot \frac{{{ratio.numerator}}}{{{ratio.denominator}}}"
        )
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
            close = abs(long - short.value) <= abs(long) / 10**12
            return close or rounds_to(long, short, same.conventions.digits)
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
