r"""Evaluate LaTeX expressions at random points: refute an unequal answer, or confirm an equal one, without sympy.

`same_value` compares two cleaned expressions at seeded random points to 50 digits. It reads a small, unambiguous part
of LaTeX and gives up (None) on everything else; math-verify then decides.

- Two expressions that differ at one positive real point are unequal.
- Two expressions that agree to 30 digits at all points, negative and whole ones included, are equal (for polynomials
  this is the Schwartz-Zippel test). Rational constants are compared exactly.
- A constant without a value (1/0, \log 0) or with parts too large or too small to write equals no ordinary number.
- Where readings differ (`\log` is natural or decimal, `i` a symbol or the imaginary unit) an answer is equal if one
  reading agrees, and unequal only if every reading differs.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from typing import Any

from evals.grading.expression import Node, UnsupportedError, parse, symbols

DIGITS = 50
_EQUAL_DIGITS = 30  # agreement that counts as equality
_SEED = 20_240_917
_POINTS = 12
_FEWEST = 3  # points at which both sides must be real before they count as equal
Point = Mapping[str, Any]

# ---------------------------------------------------------------------------------------------------- arithmetic

_MOST_BITS = 20_000  # of an exact integer
_LARGEST_LOG10 = 5000  # of any other number
_LARGEST_POWER = 10**6  # an exponent or the argument of exp; multiplying out a larger one would never end
_LARGEST_ARGUMENT = 10**60  # of a function; of larger ones the working precision knows nothing, at a high price
_MOST_TERMS = 2000  # of a sum or product
_LARGEST_FACTORIAL = 1500


class UndefinedError(ArithmeticError):
    """The expression has no value at this point."""


class OutOfRangeError(ArithmeticError):
    """A part of the expression is too large, or too near zero, to be written."""


def real(value: Any) -> Any:
    """The value, if it is real (to rounding errors) and known; else None."""
    if value is None or isinstance(value, Fraction):
        return value
    if getattr(value, "imag", 0):
        if abs(value.imag) > abs(value) * 1e-40:
            return None
        value = value.real
    return value


def inexact(value: Any) -> Any:
    from mpmath import mpf

    return mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else value


def _in_range(value: Any) -> Any:
    from mpmath import mp

    if isinstance(value, Fraction):
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > 2 * _MOST_BITS:
            raise OutOfRangeError
        return value
    if not mp.isfinite(value):
        raise UndefinedError
    if value and not -_LARGEST_LOG10 < mp.log10(abs(value)) < _LARGEST_LOG10:
        raise OutOfRangeError
    return value


def _exact_or_not(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Of two fractions exactly, else of mpmath's numbers."""

    def apply(a: Any, b: Any) -> Any:
        if isinstance(a, Fraction) and isinstance(b, Fraction):
            return _in_range(operation(a, b))
        return _in_range(operation(inexact(a), inexact(b)))

    return apply


def _divide(a: Any, b: Any) -> Any:
    if not b:
        raise UndefinedError("division by zero")
    return _exact_or_not(lambda x, y: x / y)(a, b)


def _power(base: Any, exponent: Any) -> Any:
    from mpmath import mp

    if not base and (real(exponent) is None or real(exponent) <= 0):
        raise UndefinedError("0 to the power of 0, or less")
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        whole = int(exponent)
        if base in (0, 1, -1):
            return base ** (whole % 2 if base == -1 else 1)
        if abs(whole) * max(base.numerator.bit_length(), base.denominator.bit_length()) > _MOST_BITS:
            raise OutOfRangeError
        return base**whole
    if abs(inexact(exponent)) > _LARGEST_POWER:
        raise OutOfRangeError
    return _in_range(mp.power(inexact(base), inexact(exponent)))


def _logarithm(value: Any, base: Any = None) -> Any:
    from mpmath import mp

    if not value:
        raise UndefinedError("the logarithm of zero")
    natural = mp.log(inexact(value))
    return natural if base is None else _divide(natural, _logarithm(base))


def _root(degree: Any, value: Any) -> Any:
    from math import isqrt

    from mpmath import mp

    if isinstance(value, Fraction) and degree == 2 and value >= 0:
        root = Fraction(isqrt(value.numerator), isqrt(value.denominator))
        if root**2 == value:
            return root
    number = real(value)
    if number is not None and number < 0 and degree % 2 == 1 and degree <= _LARGEST_POWER:
        return -mp.root(-inexact(number), int(degree))  # the real root of a negative number
    return _power(value, _divide(Fraction(1), degree))


def _whole(*values: Any) -> list[int]:
    """The values as integers."""
    if not all(isinstance(value, Fraction) and value.denominator == 1 for value in values):
        raise NotImplementedError("of what is not whole")
    return [int(value) for value in values]


def _factorial(value: Any, step: int = 1) -> Any:
    from math import prod

    from mpmath import mp

    if not isinstance(value, Fraction) or value.denominator != 1:
        if step > 1 or abs(inexact(value)) > _LARGEST_FACTORIAL:
            raise NotImplementedError
        return _in_range(mp.gamma(inexact(value) + 1))
    if value < 0:
        raise UndefinedError("the factorial of a negative number")
    if value > _LARGEST_FACTORIAL:
        raise OutOfRangeError
    return Fraction(prod(range(int(value), 0, -step)))


def _binomial(above: Any, below: Any) -> Any:
    from math import comb

    n, k = _whole(above, below)
    if not 0 <= k <= n:
        raise NotImplementedError("a binomial coefficient beyond the triangle")
    if min(k, n - k) * n.bit_length() > _MOST_BITS:
        raise OutOfRangeError
    return Fraction(comb(n, k))


def _floor(value: Any) -> Fraction:
    from mpmath import mp

    if real(value) is None:
        raise NotImplementedError("the floor of a complex number")
    return Fraction(int(mp.floor(inexact(real(value)))) if not isinstance(value, Fraction) else value.__floor__())


def _remainder(a: Any, b: Any) -> Fraction:
    dividend, divisor = _whole(a, b)
    if divisor <= 0:
        raise UndefinedError("a remainder by zero or less")
    return Fraction(dividend % divisor)


def _function(name: str) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        from mpmath import mp

        if abs(value) > (_LARGEST_POWER if name.endswith("h") or name == "exp" else _LARGEST_ARGUMENT):
            raise OutOfRangeError
        return _in_range(getattr(mp, name)(inexact(value)))

    return apply


def _constant(name: str) -> Callable[[], Any]:
    def value() -> Any:
        from mpmath import mp

        return getattr(mp, name) + 0

    return value


_FUNCTIONS = [f"{name}{h}" for name in ("sin", "cos", "tan", "cot", "sec", "csc") for h in ("", "h")]
OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": _exact_or_not(lambda a, b: a + b),
    "-": _exact_or_not(lambda a, b: a - b),
    "*": _exact_or_not(lambda a, b: a * b),
    "/": _divide,
    "negative": lambda value: -value,
    "^": _power,
    "!": _factorial,
    "!!": lambda value: _factorial(value, 2),
    "log": lambda base, value: _logarithm(value, base),
    "ln": _logarithm,
    "lg": lambda value: _logarithm(value, Fraction(10)),
    "exp": _function("exp"),
    "root": _root,
    "binomial": _binomial,
    "mod": _remainder,
    "abs": abs,
    "floor": _floor,
    "ceil": lambda value: -_floor(-value),
    "pi": _constant("pi"),
    "e": _constant("e"),
    **{name: _function(name) for name in _FUNCTIONS},
    **{f"arc{name}": _function(f"a{name}") for name in _FUNCTIONS},
}


def _evaluated(tree: Node, point: Point) -> Any:
    kind, *parts = tree
    if kind == "number":
        return parts[0]
    if kind == "symbol":
        return point[parts[0]]
    if kind == "log" and len(parts) == 1:
        return _logarithm(_evaluated(parts[0], point), Fraction(10) if point.get("log") else None)
    if kind in ("sum", "prod"):
        return _series(kind, *parts, point=point)
    return OPERATIONS[kind](*(_evaluated(part, point) for part in parts))


def _series(kind: str, name: str, low: Node, high: Node, body: Node, *, point: Point) -> Any:
    """A sum or product over whole numbers."""
    first, last = _whole(_evaluated(low, point), _evaluated(high, point))
    if last < first - 1:
        raise NotImplementedError("a sum below the empty one")
    if last - first > _MOST_TERMS:
        raise OutOfRangeError
    total: Any = Fraction(kind == "prod")
    for index in range(first, last + 1):
        total = OPERATIONS["+" if kind == "sum" else "*"](total, _evaluated(body, {**point, name: Fraction(index)}))
    return total


class _NoNumber:
    """The value of what has none: a pole, or a part that is out of range."""


_NO_NUMBER, _POLE = _NoNumber(), _NoNumber()  # of a constant, or out of range anywhere; undefined at one point


def _value(tree: Node, point: Point) -> Any:
    """The value at a point; None where it is unknown."""
    try:
        return _evaluated(tree, point)
    except OutOfRangeError:
        return _NO_NUMBER
    except (UndefinedError, ZeroDivisionError):
        return _POLE if symbols(tree) - {"i"} else _NO_NUMBER
    except (ArithmeticError, ValueError, TypeError, NotImplementedError):
        return None


def _number(tree: Node, point: Point) -> Any:
    """The real value at a point, or None."""
    value = _value(tree, point)
    return None if isinstance(value, _NoNumber) else real(value)


# ---------------------------------------------------------------------------------------------------- comparison


def same_value(gold: str, answer: str, *, natural_log: bool = True) -> bool | None:
    r"""Whether two cleaned expressions have the same value at all points; None when this cannot be decided here.

    `natural_log`: `\log` may be the natural logarithm; otherwise it is the decimal one.
    """
    if r"\infty" in gold + answer:
        return _same_infinity(gold, answer)
    try:
        left, right = parse(gold), parse(answer)
    except UnsupportedError:
        return None
    verdicts = [_compared(left, right, reading) for reading in _readings(left, right, natural_log)]
    if True in verdicts:
        return True
    return False if all(verdict is False for verdict in verdicts) else None


_INFINITE = re.compile(r"([-+]?)\s*\\infty")


def _same_infinity(gold: str, answer: str) -> bool | None:
    r"""`\infty` and `+\infty` are the same, and no constant is."""
    sides = [_INFINITE.fullmatch(text) for text in (gold, answer)]
    if sides[0] and sides[1]:
        return (sides[0][1] == "-") == (sides[1][1] == "-")
    return False if any(sides) and r"\infty" not in (answer if sides[0] else gold) else None


_Reading = tuple[bool, bool]  # i is the imaginary unit; \log is the decimal logarithm


def _readings(left: Node, right: Node, natural_log: bool) -> list[_Reading]:
    both = symbols(left) | symbols(right)
    units = [True] if both <= {"i"} else [True, False] if "i" in both else [False]
    bases = [False, True][not natural_log :] if _has_log(left) or _has_log(right) else [False]
    return [(unit, base) for unit in units for base in bases]


def _has_log(tree: Node) -> bool:
    r"""Whether a `\log` without a base occurs."""
    return (tree[0] == "log" and len(tree) == 2) or any(_has_log(part) for part in tree[1:] if isinstance(part, tuple))


def _compared(left: Node, right: Node, reading: _Reading) -> bool | None:
    from mpmath import mp

    imaginary, decimal = reading
    names = (symbols(left) | symbols(right)) - ({"i"} if imaginary else set())
    agreed = poles = 0
    doubtful = False
    points = _points(frozenset(names))
    for number, point in enumerate(points):
        fixed = {**point, "log": decimal, **({"i": mp.mpc(0, 1)} if imaginary else {})}
        with mp.workdps(DIGITS):
            a, b = _value(left, fixed), _value(right, fixed)
            verdict = _same(a, b, complex_allowed=imaginary)
            if a is b is _NO_NUMBER and _differ_in_size(left, right, fixed):
                return False
        poles += b is _POLE and a not in (None, _POLE)
        if verdict is None:
            continue
        if not verdict and _close(a, b):
            with mp.workdps(4 * DIGITS):  # the difference may be a rounding error
                a, b = _value(left, fixed), _value(right, fixed)
                verdict = bool(_same(a, b, complex_allowed=imaginary)) or _both_vanish(a, b)
        if not verdict and _positive(number):
            return False
        agreed += verdict
        doubtful = doubtful or not verdict
    if poles == len(points):
        return False  # 2x+0/0
    return True if not doubtful and agreed >= min(_FEWEST, _POINTS if names else 1) else None


def _same(a: Any, b: Any, complex_allowed: bool) -> bool | None:
    """Equal, different, or None: undefined or complex."""
    from mpmath import mpf

    if a is None or b is None or _POLE in (a, b) or a is b is _NO_NUMBER:
        return None
    if a is _NO_NUMBER or b is _NO_NUMBER:
        return False
    if not complex_allowed:
        a, b = real(a), real(b)
        if a is None or b is None:
            return None
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a == b
    a, b = inexact(a), inexact(b)
    return bool(abs(a - b) <= max(abs(a), abs(b)) * mpf(10) ** -_EQUAL_DIGITS)


def _close(a: Any, b: Any) -> bool:
    """Whether two different values are so close, or so small, that rounding errors may be all there is."""
    if isinstance(a, _NoNumber) or isinstance(b, _NoNumber):
        return False
    a, b = inexact(a), inexact(b)
    return bool(abs(a - b) <= max(abs(a), abs(b)) * 1e-6) or max(abs(a), abs(b)) < 1e-30


def _both_vanish(a: Any, b: Any) -> bool:
    if any(value is None or isinstance(value, _NoNumber) for value in (a, b)):
        return False
    return bool(max(abs(inexact(a)), abs(inexact(b))) < 10.0 ** -(3 * DIGITS))


def _differ_in_size(left: Node, right: Node, point: Point) -> bool:
    """Whether two values that are out of range have different logarithms."""
    sizes = []
    for tree in (left, right):
        try:
            size = _logarithm_of_size(tree, point)
        except (ArithmeticError, ValueError, TypeError, NotImplementedError):
            return False
        sizes.append(size)
    return bool(abs(sizes[0] - sizes[1]) > max(map(abs, sizes)) * 1e-20)


def _logarithm_of_size(tree: Node, point: Point) -> Any:
    from mpmath import mp

    if tree[0] == "^":
        return inexact(_evaluated(tree[2], point)) * _logarithm_of_size(tree[1], point)
    if tree[0] == "!":
        return mp.loggamma(inexact(_evaluated(tree[1], point)) + 1)
    return mp.log(abs(inexact(_evaluated(tree, point))))


def _positive(number: int) -> bool:
    return number % 4 != 2


@lru_cache(maxsize=1024)
def _points(names: frozenset[str]) -> tuple[dict[str, Any], ...]:
    """Points by number: below 1, above 1, negative, whole, and again; a constant has one."""
    if not names:
        return ({},)
    generator = random.Random(_SEED)
    points = []
    for number in range(_POINTS):
        kind = number % 4
        point: dict[str, Any] = {}
        for name in sorted(names):
            part = Fraction(generator.randrange(10**6, 9 * 10**6), 10**7 + 19)  # between 0.1 and 0.9
            whole = Fraction(generator.randrange(2, 12))
            point[name] = (part, 1 + 3 * part, -2 * part, whole)[kind]
        points.append(point)
    return tuple(points)


def constant(text: str) -> Fraction | None:
    """The real value of a cleaned constant expression, exact or to 30 digits; None when it is not one."""
    from mpmath import mp

    try:
        tree = parse(text)
    except UnsupportedError:
        return None
    if symbols(tree):
        return None
    with mp.workdps(DIGITS):
        number = _number(tree, {})
        if number is None or isinstance(number, Fraction):
            return number
        return Fraction(mp.nstr(number, 35, strip_zeros=False, min_fixed=-60, max_fixed=60))


# ----------------------------------------------------------------------------------------------------- equations

Equation = tuple[str, str]  # its sides


def same_equation(gold: Equation, answer: Equation, positive: bool = False) -> bool | None:
    r"""Whether two equations are the same up to a (positive) constant factor (2x=4 and x=2); None: not decided here.

    Differential equations may also be divided through: linear in the same derivative, they must give it the same value.
    `x'`, `\dot{x}` and `\frac{dx}{dt}` are the same derivative.
    Other equations that are linear in the same symbol and give it different values are different.
    """
    try:
        sides = _same_derivatives([(parse(left), parse(right)) for left, right in (gold, answer)])
    except UnsupportedError:
        return None
    names = [symbols(left) | symbols(right) for left, right in sides]
    if not all(names) or "i" in names[0] | names[1]:
        return None
    from mpmath import mp

    with mp.workdps(DIGITS):
        points = _points(names[0] | names[1])
        both = [[_number(("-", *pair), point) for pair in sides] for point in points]
        ratios = [_divide(a, b) for a, b in both if a is not None and b]
        if len(ratios) < _FEWEST:
            return None
        if ratios[0] and all(_same(ratio, ratios[0], complex_allowed=False) for ratio in ratios):
            return bool(not positive or ratios[0] > 0)
        for name in sorted(names[0] & names[1], key=_is_derivative, reverse=True):
            roots = [[_linear_root(pair, name, point) for pair in sides] for point in points]
            agree = [_same(a, b, complex_allowed=False) for a, b in roots if a is not None and b is not None]
            if len(agree) >= _FEWEST:
                return (_is_derivative(name) and not positive) or None if all(agree) else False
    return None if positive else False


_DERIVATIVE = re.compile(r"(?P<dots>d?dot )?(?P<of>[A-Za-z]+)(?:(?P<primes>'+)|_d(?P<order>\d?)(?P<by>[A-Za-z]))?")


def _is_derivative(name: str) -> bool:
    return "'" in name or "dot " in name or re.search(r"_d\d?[a-z]", name) is not None


def _same_derivatives(sides: list[tuple[Node, Node]]) -> list[tuple[Node, Node]]:
    r"""The equations with one name for `x'`, `\dot{x}` and `\frac{dx}{dt}`, if all derivatives are by one variable.

    A prime may be by any variable, a dot is by the time t.
    """
    names: dict[str, str] = {}
    variables: set[str] = set()
    for name in frozenset().union(*(symbols(tree) for pair in sides for tree in pair)):
        found = _DERIVATIVE.fullmatch(name) if _is_derivative(name) else None
        if found:
            dots, of, primes, order, by = found.group("dots", "of", "primes", "order", "by")
            variables |= {"t"} if dots else {by} if by else set()
            times = len(primes) if primes else dots.count("d") if dots else int(order or 1)
            names[name] = of + "'" * times
    if len(variables) > 1:
        return sides
    return [(_renamed(left, names), _renamed(right, names)) for left, right in sides]


def _renamed(tree: Node, names: Mapping[str, str]) -> Node:
    if tree[0] == "symbol":
        return ("symbol", names.get(tree[1], tree[1]))
    return tuple(_renamed(part, names) if isinstance(part, tuple) else part for part in tree)


def _linear_root(equation: tuple[Node, Node], name: str, point: Point) -> Any:
    """The value of one symbol that solves an equation which is linear in it; None if it is not.

    Linear: the second difference at 0, 1, 2 vanishes. So the solution is known at a point without algebra.
    """
    from mpmath import mpf

    values = [_number(("-", *equation), {**point, name: Fraction(at)}) for at in (0, 1, 2)]
    if None in values:
        return None
    low, middle, high = map(inexact, values)
    slope, size = middle - low, abs(low) + abs(middle) + abs(high)
    return -low / slope if slope and abs(high - 2 * middle + low) <= size * mpf(10) ** -_EQUAL_DIGITS else None


def solved(equation: Equation, names: Sequence[str], value: str) -> bool:
    """Whether an equation that is linear in one of `names`, which `value` lacks, gives `value` for it."""
    try:
        sides, answer = (parse(equation[0]), parse(equation[1])), parse(value)
    except UnsupportedError:
        return False
    every, given = symbols(sides[0]) | symbols(sides[1]), symbols(answer)
    unknown = every - given
    if not given or "i" in every or len(unknown) != 1 or given - every or not unknown <= set(names):
        return False
    from mpmath import mp

    with mp.workdps(DIGITS):
        both = [(_linear_root(sides, next(iter(unknown)), point), _number(answer, point)) for point in _points(given)]
        known = [pair for pair in both if None not in pair]
        return len(known) >= _FEWEST and all(_same(a, b, complex_allowed=False) for a, b in known)


# ------------------------------------------------------------------------------------------------------ rounding

_MOST_DECIMALS = 8  # each is evaluated twice at every point


def within_rounding(exact: str, rounded: str, digits: int) -> bool:
    """Whether an expression has another's values up to the rounding of its decimals.

    A decimal of at least `digits` significant digits may be off by half a unit of its last one; the others are exact.
    What this changes, summed over the decimals, must be less than the least of those decimals can be off, relatively.
    """
    try:
        left, right = parse(exact), parse(rounded)
    except UnsupportedError:
        return False
    halves, names = _halves(right, digits), symbols(left) | symbols(right)
    if not 0 < len(halves) <= _MOST_DECIMALS or symbols(left) != symbols(right) or "i" in names:
        return False
    nearby = [(_moved(right, number, half), _moved(right, number, -half)) for number, half in halves]
    from mpmath import mp, mpf

    agreed = 0
    with mp.workdps(DIGITS):
        for point in _points(names):
            a, b, *off = (_number(tree, point) for tree in (left, right, *chain(*nearby)))
            if None in (a, b, *off):
                continue
            a, b, *off = map(inexact, (a, b, *off))
            most = sum(max(abs(more - b), abs(less - b)) for more, less in zip(off[::2], off[1::2], strict=True))
            if abs(a - b) > most * (1 + mpf(10) ** -_EQUAL_DIGITS) or most > abs(a) * mpf(10) ** (1 - digits):
                return False
            agreed += 1
    return agreed >= (_FEWEST if names else 1)


def _halves(tree: Node, digits: int) -> set[tuple[Fraction, Fraction]]:
    """The decimals of at least so many significant digits in a tree, with half a unit of their last digit."""
    if tree[0] != "number":
        return set().union(*(_halves(part, digits) for part in tree[1:] if isinstance(part, tuple)))
    places = next((n for n in range(60) if (tree[1] * 10**n).denominator == 1), 0)
    return {(tree[1], Fraction(1, 2 * 10**places))} if places and len(str(tree[1] * 10**places)) >= digits else set()


def _moved(tree: Node, number: Fraction, by: Fraction) -> Node:
    """The tree with `by` added to a number, wherever it stands."""
    if tree == ("number", number):
        return ("number", number + by)
    return tuple(_moved(part, number, by) if isinstance(part, tuple) else part for part in tree)
