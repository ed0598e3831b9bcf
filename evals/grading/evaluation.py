r"""Evaluate LaTeX expressions at random points: refute an unequal answer, or confirm an equal one, without sympy.

`same_value` compares two cleaned expressions at seeded random points to 200 digits. It reads a small, unambiguous part
of LaTeX and gives up (None) on everything else; math-verify then decides.

- Two expressions that differ at one positive real point are unequal.
- Two expressions that agree to 150 digits at all points, negative and whole ones included, are equal (for polynomials
  this is the Schwartz-Zippel test). Longer constants are left to exact arithmetic.
- What cancels is exactly 0. A constant without a value (1/0, \log 0, 0 \cdot \tan\frac{\pi}{2}), or with parts too
  large to write, equals no ordinary number.
- Where readings differ (`\log` is natural or decimal, `i` a symbol or the imaginary unit) an answer is equal if one
  reading agrees, and unequal only if every reading differs.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from mpmath import mp, mpf

from evals.grading.expression import Node, UnsupportedError, parse, symbols

DIGITS = 200
_EQUAL = mpf(10) ** -150  # relative difference that counts as equality
_ZERO = mpf(10) ** -(DIGITS - 20)  # of a sum, relative to its parts: it has cancelled
_SEED = 20_240_917
_POINTS = 12
_FEWEST = 3  # points at which both sides must be real before they count as equal
Point = Mapping[str, Any]

# ---------------------------------------------------------------------------------------------------- arithmetic

_LARGEST = mpf(10) ** 150  # where every digit of a whole number counts; a function's pole is beyond it
_LARGEST_WRITTEN = mpf(10) ** 5000
_LARGEST_ARGUMENT = mpf(10) ** 60  # of a function or a power; of larger ones the working precision knows nothing


class UndefinedError(ArithmeticError):
    """The expression has no value at this point."""


class OutOfRangeError(ArithmeticError):
    """A part of the expression is too large, or too near zero, to be written."""


def real(value: Any) -> Any:
    """The value, if it is real (to rounding errors) and known; else None."""
    if value is None or not getattr(value, "imag", 0):
        return None if value is None else mpf(value.real)
    return mpf(value.real) if abs(value.imag) <= abs(value) * _EQUAL else None


def _sum(a: Any, b: Any) -> Any:
    total = a + b
    if max(abs(a), abs(b)) > _LARGEST or (a and b and not _ZERO < abs(a / b) < 1 / _ZERO):
        raise ArithmeticError("digits are lost")
    return total if abs(total) > _ZERO * max(abs(a), abs(b)) else mpf(0)


def _divide(a: Any, b: Any) -> Any:
    if not b:
        raise UndefinedError("division by zero")
    return a / b


def _power(base: Any, exponent: Any) -> Any:
    if not base:
        if real(exponent) is None or real(exponent) <= 0:
            raise UndefinedError("0 to the power of 0, or less")
        return mpf(0)
    if abs(exponent) > _LARGEST_ARGUMENT:
        raise OutOfRangeError("too large")
    return mp.power(base, exponent)


def _logarithm(value: Any, base: Any = None) -> Any:
    if not value:
        raise UndefinedError("the logarithm of zero")
    return mp.log(value) if base is None else _divide(mp.log(value), _logarithm(base))


def _root(degree: Any, value: Any) -> Any:
    number = real(value)
    if number is not None and number < 0 and degree < _LARGEST_ARGUMENT and degree % 2 == 1:
        return -mp.root(-number, int(degree))  # the real root of a negative number
    return _power(value, _divide(mpf(1), degree))


def _factorial(value: Any) -> Any:
    if abs(value) > _LARGEST_ARGUMENT:
        raise OutOfRangeError("too large")
    if mp.isint(value) and value.real < 0:
        raise UndefinedError("the factorial of a negative number")
    return mp.gamma(value + 1)


def _binomial(above: Any, below: Any) -> Any:
    return _factorial(above) / (_factorial(below) * _factorial(above - below))


def _floor(value: Any) -> Any:
    if real(value) is None or abs(value) > _LARGEST:
        raise ArithmeticError("the floor of a complex number")
    return mp.floor(real(value))


def _function(name: str) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        if abs(value) > _LARGEST_ARGUMENT:
            raise OutOfRangeError("too large")
        result = getattr(mp, name)(value)
        if name[-1] != "h" and name != "exp" and abs(result) > _LARGEST:
            raise UndefinedError("a pole")
        return result if abs(result) > _ZERO else mpf(0)

    return apply


_FUNCTIONS = [f"{name}{h}" for name in ("sin", "cos", "tan", "cot", "sec", "csc") for h in ("", "h")]
OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": _sum,
    "-": lambda a, b: _sum(a, -b),
    "*": lambda a, b: a * b,
    "/": _divide,
    "negative": lambda value: -value,
    "^": _power,
    "!": _factorial,
    "log": lambda base, value: _logarithm(value, base),
    "ln": _logarithm,
    "lg": lambda value: _logarithm(value, mpf(10)),
    "exp": _function("exp"),
    "root": _root,
    "binomial": _binomial,
    "abs": abs,
    "floor": _floor,
    "ceil": lambda value: -_floor(-value),
    "pi": lambda: +mp.pi,
    "e": lambda: +mp.e,
    **{name: _function(name) for name in _FUNCTIONS},
    **{f"arc{name}": _function(f"a{name}") for name in _FUNCTIONS},
}


def _evaluated(tree: Node, point: Point) -> Any:
    kind, *parts = tree
    if kind == "number":
        return mpf(parts[0].numerator) / parts[0].denominator
    if kind == "symbol":
        return point[parts[0]]
    if kind == "log" and len(parts) == 1:
        return _logarithm(_evaluated(parts[0], point), mpf(10) if point.get("log") else None)
    value = OPERATIONS[kind](*(_evaluated(part, point) for part in parts))
    if not mp.isfinite(value):
        raise UndefinedError
    if value and not 1 / _LARGEST_WRITTEN < abs(value) < _LARGEST_WRITTEN:
        raise OutOfRangeError
    return value


_POLE, _BEYOND = object(), object()  # no value at this point; one that is out of range


def _value(tree: Node, point: Point) -> Any:
    """The value at a point; _POLE or _BEYOND where it has none to write, None where it is unknown."""
    try:
        return _evaluated(tree, point)
    except OutOfRangeError:
        return _BEYOND
    except (UndefinedError, ZeroDivisionError):
        return _POLE
    except (ArithmeticError, ValueError, TypeError, NotImplementedError):
        return None


def _number(tree: Node, point: Point) -> Any:
    """The real value at a point, or None."""
    value = _value(tree, point)
    return None if value is _POLE or value is _BEYOND else real(value)


# ---------------------------------------------------------------------------------------------------- comparison


def same_value(gold: str, answer: str) -> bool | None:
    """Whether two cleaned expressions have the same value at all points; None when this cannot be decided here."""
    if r"\infty" in gold + answer:  # arithmetic with it is nothing
        return gold.lstrip("+ ") == answer.lstrip("+ ")
    try:
        left, right = parse(gold), parse(answer)
    except UnsupportedError:
        return None
    units, bases = _readings(left, right)
    verdicts = [_compared(left, right, unit, decimal) for unit in units for decimal in bases]
    if True in verdicts:
        return True
    return False if all(verdict is False for verdict in verdicts) else None


def _readings(left: Node, right: Node) -> tuple[list[bool], list[bool]]:
    r"""Whether i is the imaginary unit, and whether `\log` is the decimal logarithm."""
    names = symbols(left) | symbols(right)
    units = [True] if names <= {"i"} else [True, False] if "i" in names else [False]
    return units, [False, True] if _has_log(left) or _has_log(right) else [False]


def _has_log(tree: Node) -> bool:
    r"""Whether a `\log` without a base occurs."""
    return (tree[0] == "log" and len(tree) == 2) or any(_has_log(part) for part in tree[1:] if isinstance(part, tuple))


def _compared(left: Node, right: Node, imaginary: bool, decimal: bool) -> bool | None:
    names = (symbols(left) | symbols(right)) - ({"i"} if imaginary else set())
    agreed = poles = doubtful = 0
    points = _points(frozenset(names))
    with mp.workdps(DIGITS):
        for number, point in enumerate(points):
            fixed = {**point, "log": decimal, **({"i": mp.mpc(0, 1)} if imaginary else {})}
            a, b = _value(left, fixed), _value(right, fixed)
            poles += b is _POLE and a is not _POLE and a is not None
            verdict = _same(a, b, complex_allowed=imaginary)
            if verdict is False and number % 4 != 2:  # a positive point
                return False
            agreed += verdict is True
            doubtful += verdict is False
    if poles == len(points):
        return False  # 2x+0/0
    return True if not doubtful and agreed >= min(_FEWEST, len(points)) else None


def _same(a: Any, b: Any, complex_allowed: bool) -> bool | None:
    """Equal, different, or None: undefined, complex, or too long to be known to the last digit."""
    if any(value is None or value is _POLE for value in (a, b)):
        return None
    if a is _BEYOND or b is _BEYOND:
        return None if a is b else False
    if not complex_allowed:
        a, b = real(a), real(b)
        if a is None or b is None:
            return None
    size = max(abs(a), abs(b))
    equal = abs(a - b) <= size * _EQUAL
    return None if equal and size > _LARGEST else bool(equal)


@lru_cache(maxsize=1024)
def _points(names: frozenset[str]) -> tuple[dict[str, Any], ...]:
    """Points by number: below 1, above 1, negative, whole, and again; a constant has one."""
    if not names:
        return ({},)
    generator = random.Random(_SEED)
    points = []
    with mp.workdps(DIGITS):
        for number in range(_POINTS):
            point: dict[str, Any] = {}
            for name in sorted(names):
                part = mpf(generator.randrange(10**6, 9 * 10**6)) / (10**7 + 19)  # between 0.1 and 0.9
                whole = mpf(generator.randrange(2, 12))
                point[name] = (part, 1 + 3 * part, -2 * part, whole)[number % 4]
            points.append(point)
    return tuple(points)


def constant(text: str) -> Fraction | None:
    """The real value of a cleaned constant expression, to 160 digits; None when it is not one."""
    try:
        return None if symbols(parse(text)) else constant_ratio(text, "1")
    except UnsupportedError:
        return None


# ----------------------------------------------------------------------------------------------------- equations


def same_equation(gold: Sequence[str], answer: Sequence[str], unknown: str = "", positive: bool = False) -> bool | None:
    r"""Whether two equations, (left, right), are the same up to a constant factor (2x=4 and x=2), which has to be
    positive for inequalities; None: not decided here.

    Differential equations may also be divided through, by whatever holds no derivative, and those that are solved for
    an unknown by whatever does not hold it. `x'`, `\dot{x}` and `\frac{dx}{dt}` are the same derivative.
    """
    try:
        left, right = _same_derivatives([("-", *map(parse, equation)) for equation in (gold, answer)])
    except UnsupportedError:
        return None
    names = symbols(left) | symbols(right)
    if not symbols(left) or not symbols(right) or "i" in names:
        return None
    derivatives = {name for name in names if "'" in name or name == unknown}
    with mp.workdps(DIGITS):
        points = _points(names)
        ratios = [_ratio(left, right, point) for point in points]
        known = [ratio for ratio in ratios if ratio is not None]
        if len(known) < _FEWEST:
            return None
        if positive and min(known) <= 0:
            return False
        if derivatives:  # the ratio may change with all other symbols
            moved = [{**point, **{name: point[name] + 1 for name in derivatives}} for point in points]
            others = [_ratio(left, right, point) for point in moved]
            pairs = [(a, b) for a, b in zip(ratios, others, strict=True) if a and b]
        else:
            pairs = [(known[0], ratio) for ratio in known if known[0]]
        equal = len(pairs) >= _FEWEST and all(_same(a, b, complex_allowed=False) for a, b in pairs)
    return equal


def constant_ratio(gold: str, answer: str) -> Fraction | None:
    """What the first is of the second, where that is the same at all points: 1.0003 for x/3 and 0.3332x."""
    try:
        left, right = parse(gold), parse(answer)
    except UnsupportedError:
        return None
    with mp.workdps(DIGITS):
        known = [_ratio(left, right, point) for point in _points(symbols(left) | symbols(right))]
        if None in known or not all(_same(ratio, known[0], complex_allowed=False) for ratio in known):
            return None
        if known[0] and not mpf(10) ** -60 < abs(known[0]) < _LARGEST:
            return None
        return Fraction(mp.nstr(known[0], 160, min_fixed=-mp.inf, max_fixed=mp.inf))


def _ratio(left: Node, right: Node, point: Point) -> Any:
    a, b = _number(left, point), _number(right, point)
    return a / b if a is not None and b else None


_DERIVATIVE = re.compile(r"(?P<dots>d?dot )?(?P<of>[A-Za-z]+)(?:(?P<primes>'+)|_d(?P<order>\d?)(?P<by>[A-Za-z]))?")


def _same_derivatives(trees: list[Node]) -> list[Node]:
    r"""With one name for `x'`, `\dot{x}` and `\frac{dx}{dt}`; a prime may be by any variable, a dot is by the time."""
    names: dict[str, str] = {}
    variables: set[str] = set()
    for name in frozenset().union(*map(symbols, trees)):
        found = _DERIVATIVE.fullmatch(name)
        if found and (found["dots"] or found["primes"] or found["by"]):
            variables |= {"t"} if found["dots"] else {found["by"]} if found["by"] else set()
            order = len(found["primes"] or "") or (found["dots"] or "").count("d") or int(found["order"] or 1)
            names[name] = found["of"] + "'" * order
    return trees if len(variables) > 1 else [_replaced(tree, "symbol", names) for tree in trees]


def _replaced(tree: Node, kind: str, values: Mapping[Any, Any]) -> Node:
    """The tree with other symbols, or other numbers."""
    if tree[0] == kind:
        return (kind, values.get(tree[1], tree[1]))
    return tuple(_replaced(part, kind, values) if isinstance(part, tuple) else part for part in tree)
