r"""Evaluate LaTeX expressions at random points: refute an unequal answer, or confirm an equal one, without sympy.

`same_value` compares two cleaned expressions at seeded random points to 200 digits. It reads a small, unambiguous part
of LaTeX; what it does not read is not equal.

- Two expressions are equal when they agree to 150 digits at every point, negative and whole ones included, at which
  both have a real value, and these are three at least (for polynomials this is the Schwartz-Zippel test).
- Where 200 digits do not decide, exact values do (`evals.grading.exact`): whole numbers of up to 100,000 digits, sums
  over an index. Beyond that the size, which shows what differs, and the structure, which shows what is equal. An
  answer that is left is wrong where the gold's value is known and its own is not. Else `UndecidedError` is raised.
- What cancels is exactly 0. A constant without a value (1/0, \log 0, 0 \cdot \tan\frac{\pi}{2}), or with parts too
  large to write, equals nothing.
- Where readings differ (`\log` is natural or decimal, `i` a symbol or the imaginary unit) one that agrees is enough.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import inf

from mpmath import mp, mpf

from evals.grading.exact import UnknownError, bounds, exact, normal
from evals.grading.expression import BINDING, INFINITY, Node, UnsupportedError, parse, symbols
from evals.grading.limits import DIGITS_LEFT, Value, evaluations, infinite, integral, limit

DIGITS = 200
MORE_DIGITS = 2_000  # where 200 are lost in sums, and the constants are made of + - * / ^ and roots alone
_SEED = 20_240_917
_POINTS = 12
_FEWEST = 3  # points at which both sides must be real before they count as equal
# Fractions; the imaginary unit; how a logarithm is read; whether inside a limit or integral
Point = Mapping[str, Value]


class UndecidedError(ArithmeticError):
    """The gold is too large for its value to be compared, and has no common structure with the answer."""


class _TooLargeError(ArithmeticError):
    """A value has no 200 digits that are known."""


_UNKNOWN = object()


_MOST_WORK = 150_000  # operations, of all points together
_LARGEST_WRITTEN = mpf(10) ** 10**9
_MOST_TERMS = 200  # terms of a sum or product over an index, where it is not rational
# the largest argument of a function or a power. The working precision knows nothing of larger ones.
_LARGEST_ARGUMENT = mpf(10) ** 60


@lru_cache(maxsize=4)
def _bounds(digits: int) -> tuple[Value, Value, Value]:
    with mp.workdps(digits):
        return mpf(10) ** (50 - digits), mpf(10) ** (20 - digits), mpf(10) ** (digits - 50)


def _equal() -> Value:
    """The relative difference that counts as equality."""
    return _bounds(mp.dps)[0]


def _zero() -> Value:
    """Whether a sum has cancelled, relative to its parts."""
    return _bounds(mp.dps)[1]


def _largest() -> Value:
    """Up to where every digit of a whole number is known. A function's pole is beyond it."""
    return _bounds(mp.dps)[2]


def real(value: Value) -> Value:
    """The value, if it is real (to rounding errors) and known, else None."""
    if value is None or not getattr(value, "imag", 0):
        return None if value is None else mpf(value.real)
    return mpf(value.real) if abs(value.imag) <= abs(value) * _equal() else None


def _sum(a: Value, b: Value) -> Value:
    total = a + b
    if max(abs(a), abs(b)) > _largest() or (a and b and not _zero() < abs(a / b) < 1 / _zero()):
        raise _TooLargeError("digits are lost")
    return total if abs(total) > _zero() * max(abs(a), abs(b)) else mpf(0)


def _power(base: Value, exponent: Value) -> Value:
    if not (base or (real(exponent) or 0) > 0):
        raise ArithmeticError("0 to the power of 0 or less")
    if abs(exponent) > _LARGEST_ARGUMENT:
        raise _TooLargeError("a power")
    return mp.power(base, exponent)


def _logarithm(value: object, base: object = None) -> Value:
    if not value:
        raise ArithmeticError("the logarithm of 0")
    return mp.log(value) if base is None else mp.log(value) / mp.log(base)


def _root(degree: Value, value: Value) -> Value:
    number = real(value)
    if number is not None and number < 0 and degree < _LARGEST_ARGUMENT and degree % 2 == 1:
        return -mp.root(-number, int(degree))  # the real root of a negative number
    return _power(value, mpf(1) / degree)


def _factorial(value: Value) -> Value:
    if abs(value) > _LARGEST_ARGUMENT:
        raise _TooLargeError("a factorial")
    return mp.gamma(value + 1)


def _double_factorial(value: Value) -> Value:
    if abs(value) > _LARGEST_ARGUMENT:
        raise _TooLargeError("a factorial")
    return mp.fac2(value)


def _binomial(above: Value, below: Value) -> Value:
    return _factorial(above) / (_factorial(below) * _factorial(above - below))


def _floor(value: Value) -> Value:
    if real(value) is None:
        raise ArithmeticError("the floor of a complex number")
    if abs(value) > _largest():
        raise _TooLargeError("a floor")
    return mp.floor(real(value))


def _largest_of(choose: Callable[..., Value]) -> Callable[..., Value]:
    def apply(*values: Value) -> Value:
        if any(real(value) is None for value in values):
            raise ArithmeticError("complex numbers have no order")
        return choose(*map(real, values))

    return apply


def _function(name: str) -> Callable[[Value], Value]:
    def apply(value: Value) -> Value:
        if abs(value) > _LARGEST_ARGUMENT:
            raise _TooLargeError("an argument")
        result = getattr(mp, name)(value)
        if name[-1] != "h" and name != "exp" and abs(result) > _largest():
            raise ArithmeticError("a pole")
        return result if abs(result) > _zero() else mpf(0)

    return apply


_FUNCTIONS = [f"{name}{h}" for name in ("sin", "cos", "tan", "cot", "sec", "csc") for h in ("", "h")]
OPERATIONS: dict[str, Callable[..., Value]] = {
    "+": _sum,
    "-": lambda a, b: _sum(a, -b),
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "negative": lambda value: -value,
    "^": _power,
    "!": _factorial,
    "!!": _double_factorial,
    "log": lambda base, value: _logarithm(value, base),
    "ln": _logarithm,
    "lg": lambda value: _logarithm(value, mpf(10)),
    "exp": _function("exp"),
    "root": _root,
    "binomial": _binomial,
    "abs": abs,
    "max": _largest_of(max),
    "min": _largest_of(min),
    "floor": _floor,
    "ceil": lambda value: -_floor(-value),
    "pi": lambda: +mp.pi,
    "e": lambda: +mp.e,
    **{name: _function(name) for name in _FUNCTIONS},
    **{f"arc{name}": _function(f"a{name}") for name in _FUNCTIONS},
}


def _evaluated(tree: Node, point: Point) -> Value:
    kind, *parts = tree
    if kind == "number":
        return mpf(parts[0].numerator) / parts[0].denominator
    if kind == "symbol":
        value = point[parts[0]]
        return mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else value
    if kind == "log" and len(parts) == 1:
        return _logarithm(_evaluated(parts[0], point), mpf(10) if point.get("log") else None)
    if kind in ("sum", "prod"):
        return _over_an_index(tree, point)
    if kind in BINDING:
        return _of_analysis(tree, point)
    if kind in WHOLE:
        value = exact(tree, _rational(point))
        if value is None:
            raise ArithmeticError("no whole numbers")
        return mpf(value.numerator)
    if kind not in OPERATIONS:
        raise ArithmeticError("no value")
    value = OPERATIONS[kind](*(_evaluated(part, point) for part in parts))
    if not mp.isfinite(value):
        raise ArithmeticError("infinite")
    if value and not 1 / _LARGEST_WRITTEN < abs(value) < _LARGEST_WRITTEN:
        raise _TooLargeError("to be written")
    return value


def _over_an_index(tree: Node, point: Point) -> Value:
    if (known := exact(tree, _rational(point))) is not None:
        return mpf(known.numerator) / known.denominator
    kind, name, *ends, term = tree
    first = exact(ends[0], _rational(point))
    if ends[1] == INFINITY and first is not None and first.denominator == 1:
        return infinite(kind, lambda index: _evaluated(term, {**point, name: Fraction(index)}), int(first))
    last = exact(ends[1], _rational(point))
    if first is None or last is None or first.denominator != 1 or last.denominator != 1:
        raise ArithmeticError("an index is whole")
    if not -1 <= last - first < _MOST_TERMS:
        raise _TooLargeError("too many terms")
    total = mpf(kind == "prod")
    for index in range(int(first), int(last) + 1):
        value = _evaluated(term, {**point, name: Fraction(index)})
        total = OPERATIONS["+" if kind == "sum" else "*"](total, value)
    return total


def _of_analysis(tree: Node, point: Point) -> Value:
    """A limit or an integral."""
    kind, name, *ends, term = tree
    places = [_place(end, point) for end in ends]

    def function(value: object) -> Value:
        try:
            with mp.workdps(max(mp.dps, 3 * DIGITS_LEFT)):  # places near an end, of which a sum would lose the digits
                return _evaluated(term, {**point, name: value, "inside": True})
        except _TooLargeError as error:
            raise ArithmeticError("no digits are known") from error

    if kind == "int":
        low, high = map(real, places)
        if low is None or high is None:
            raise ArithmeticError("a path between complex numbers")
        return integral(function, low, high, alone=not (_binds(term) or point.get("inside")))
    return limit(function, places[0], kind.removeprefix("lim"))


def _place(tree: Node, point: Point) -> Value:
    if tree == INFINITY:
        return mp.inf
    return -mp.inf if tree == ("negative", INFINITY) else _evaluated(tree, point)


def _rational(point: Point) -> dict[str, Fraction]:
    return {name: value for name, value in point.items() if isinstance(value, Fraction)}


def _number(tree: Node, point: Point, imaginary: bool = False) -> Value:
    """The value at a point, a real one unless `imaginary`, or None where there is none, `_UNKNOWN` where its digits are
    not known."""
    try:
        value = _evaluated(tree, point)
    except (_TooLargeError, OverflowError):
        return _UNKNOWN
    except (ArithmeticError, ValueError, TypeError, NotImplementedError):
        return None
    return value if imaginary else real(value)


def same_value(gold: str, answer: str) -> bool:
    """Whether two cleaned expressions have the same value at all points. False where that is not known."""
    try:
        left, right = parse(gold), parse(answer)
    except UnsupportedError:  # as arithmetic with infinity is
        return r"\infty" in gold and gold.lstrip("+ ") == answer.lstrip("+ ")
    names = symbols(left) | symbols(right)
    units = [True] if names <= {"i"} else [True, False] if "i" in names else [False]
    bases = [False, True] if _has_log(left) or _has_log(right) else [False]
    return any(_agree(left, right, unit, decimal) for unit in units for decimal in bases)


def same_at(gold: str, answer: str, point: Mapping[str, Fraction]) -> bool:
    """Whether two cleaned expressions have the same real value at one point."""
    try:
        left, right = parse(gold), parse(answer)
    except UnsupportedError:
        return False
    if not symbols(left) | symbols(right) <= point.keys():
        return False
    with mp.workdps(DIGITS):
        return _same(_number(left, point), _number(right, point)) is True


WHOLE = ("gcd", "lcm", "bmod")  # functions of whole numbers alone
_INDEXED = ("sum", "prod", "!!", *WHOLE)  # compared at whole numbers
_ARITHMETIC = frozenset(["+", "-", "*", "/", "negative", "^", "root"])


def _has(tree: Node, kinds: tuple[str, ...]) -> bool:
    """Whether one of these operations occurs."""
    return tree[0] in kinds or any(_has(part, kinds) for part in tree[1:] if isinstance(part, tuple))


def _binds(tree: Node) -> bool:
    return _has(tree, tuple(BINDING))


def _work(tree: Node, inside: bool = False) -> int:
    """How many operations one value takes at most."""
    kind, *parts = tree
    if kind not in BINDING:
        return 1 + sum(_work(part, inside) for part in parts if isinstance(part, tuple))
    _, *ends, term = parts
    if kind in ("sum", "prod") and ends[1] != INFINITY:
        return 1 + (_MOST_TERMS if inside else 1) * _work(term, inside)
    return sum(map(_work, ends)) + evaluations(kind, not (inside or _binds(term))) * _work(term, True)


def _to_fewer_digits(tree: Node) -> bool:
    """Whether an integral or an infinite sum occurs, whose value is known to fewer digits."""
    kind, *parts = tree
    return (
        kind == "int"
        or (kind in ("sum", "prod") and parts[2] == INFINITY)
        or any(_to_fewer_digits(part) for part in parts if isinstance(part, tuple))
    )


def _has_log(tree: Node) -> bool:
    r"""Whether a `\log` without a base occurs."""
    return (tree[0] == "log" and len(tree) == 2) or any(_has_log(part) for part in tree[1:] if isinstance(part, tuple))


def _agree(left: Node, right: Node, imaginary: bool, decimal: bool) -> bool:
    both: Node = ("-", left, right)
    fixed = {"log": decimal, **({"i": mp.mpc(0, 1)} if imaginary else {})}
    indexed = _has(both, _INDEXED)
    points = _points(symbols(both).difference(fixed), indexed)
    if (_work(left) + _work(right)) * len(points) > _MOST_WORK and _binds(both):
        return False
    known = True  # where it is undecided, the gold's value is known and the answer's is not
    verdicts: list[Value] = []
    with mp.workdps(DIGITS_LEFT if _to_fewer_digits(both) else DIGITS):
        for point in points:
            values = {**point, **fixed}
            a, b = _number(left, values, imaginary), _number(right, values, imaginary)
            verdicts.append(_verdict(left, right, a, b, point))
            if verdicts[-1] is _UNKNOWN:
                if _apart(_size(left, a, point), _size(right, b, point)):
                    return False
                known = known and b is _UNKNOWN and _to_the_last_digit(left, a, point)
    if False in verdicts:
        return False
    if verdicts.count(True) >= min(_FEWEST, len(points)):
        return True
    undecided = _UNKNOWN in verdicts
    if (undecided or indexed) and normal(left) == normal(right):
        return True
    same = _same_to_more_digits(both, fixed, imaginary) if undecided and not points[0] else None
    if undecided and same is None and not known:
        raise UndecidedError("size: the values are too large to be compared, and their structures differ")
    return same is True


def _verdict(left: Node, right: Node, a: Value, b: Value, point: Point) -> Value:
    """Whether two trees with the values a and b are equal at a point. None without a value, `_UNKNOWN` where the
    values are too large."""
    verdict = _same(a, b)
    if verdict is not None or a is None or b is None:
        return verdict
    values = exact(left, point), exact(right, point)
    return _UNKNOWN if None in values else values[0] == values[1]


def _same_to_more_digits(both: Node, fixed: Point, imaginary: bool) -> bool | None:
    if not _algebraic(both):
        return None
    with mp.workdps(MORE_DIGITS):
        return _same(*(_number(side, fixed, imaginary) for side in both[1:]))


def _size(tree: Node, value: Value, point: Point) -> tuple[float, float] | None:
    """Between which powers of ten a value lies, or None where that is not known."""
    if value is not _UNKNOWN:
        size = float(mp.log10(abs(value))) if value else -inf
        return size, size
    try:
        return bounds(tree[1] if tree[0] == "negative" else tree, _rational(point))
    except UnknownError:
        return None


def _to_the_last_digit(tree: Node, value: Value, point: Point) -> bool:
    """Whether the value of a tree is known as far as a comparison asks."""
    return (value is not _UNKNOWN and abs(value) <= _largest()) or exact(tree, _rational(point)) is not None


def _apart(first: tuple[float, float] | None, second: tuple[float, float] | None) -> bool:
    """Whether one of two values is certainly the larger one, by a power of ten and more than rounding loses."""
    if first is None or second is None:
        return False
    (_, small), (large, _) = sorted((first, second))
    return large - small > 1 + 1e-9 * min(abs(small), 1e300)


def _algebraic(tree: Node) -> bool:
    """Whether it is made of numbers by arithmetic and roots alone, which take no time at any precision."""
    return tree[0] == "number" or (tree[0] in _ARITHMETIC and all(map(_algebraic, tree[1:])))


def _same(a: Value, b: Value) -> bool | None:
    """Equal, different, or None: without a value, or too long to be known to the last digit."""
    if a is None or b is None or a is _UNKNOWN or b is _UNKNOWN:
        return None
    size = max(abs(a), abs(b))
    equal = bool(abs(a - b) <= size * _equal())
    return None if equal and size > _largest() else equal


@lru_cache(maxsize=1024)
def _points(names: frozenset[str], whole: bool = False) -> tuple[dict[str, Fraction], ...]:
    """Points by number: below 1, above 1, negative, whole, and again, or all of them whole. A constant has one."""
    if not names:
        return ({},)
    generator = random.Random(_SEED)
    points = []
    for number in range(_POINTS):
        point = {}
        for name in sorted(names):
            part = Fraction(generator.randrange(10**6, 9 * 10**6), 10**7 + 19)  # between 0.1 and 0.9
            integer = Fraction(generator.randrange(2, 12))
            point[name] = (part, 1 + 3 * part, -2 * part, integer)[3 if whole else number % 4] + (whole and number)
        points.append(point)
    return tuple(points)


def constant(text: str) -> Fraction | None:
    """The real value of a cleaned constant expression, exact if rational, else to 160 digits, or None when it is
    none."""
    try:
        tree = parse(text)
    except UnsupportedError:
        return None
    value = None if symbols(tree) else exact(tree, {})
    return constant_ratio(text, "1") if value is None and not symbols(tree) else value


def same_equation(gold: Sequence[str], answer: Sequence[str], unknown: str = "", positive: bool = False) -> bool | None:
    r"""Whether two equations, (left, right), are the same up to a constant factor (2x=4 and x=2), which has to be
    positive for inequalities. None: not decided here.

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
    derivatives = {name for name in names if "'" in name} | (names & {unknown})
    with mp.workdps(DIGITS):
        points = _points(names)
        ratios = _ratios(left, right, points)
        known = [ratio for ratio in ratios if ratio is not None]
        if len(known) < _FEWEST:
            return None
        if positive and min(known) <= 0:
            return False
        if derivatives:  # the ratio may change with all other symbols
            moved = [{**point, **{name: point[name] + 1 for name in derivatives}} for point in points]
            pairs = [*filter(all, zip(ratios, _ratios(left, right, moved), strict=True))]
        else:
            pairs = [(known[0], ratio) for ratio in known if known[0]]
        return len(pairs) >= _FEWEST and all(_same(a, b) for a, b in pairs)


def constant_ratio(gold: str, answer: str) -> Fraction | None:
    """The ratio of the first to the second, where it is the same at all points: 1.0003 for x/3 and 0.3332x."""
    try:
        left, right = parse(gold), parse(answer)
    except UnsupportedError:
        return None
    with mp.workdps(DIGITS):
        known = _ratios(left, right, _points(symbols(left) | symbols(right)))
        if None in known or not all(_same(ratio, known[0]) for ratio in known):
            return None
        if known[0] and not mpf(10) ** -60 < abs(known[0]) < _largest():
            return None
        return Fraction(mp.nstr(known[0], 160, min_fixed=-mp.inf, max_fixed=mp.inf))


def _ratios(left: Node, right: Node, points: Iterable[Point]) -> list[Value]:
    """The ratio of two trees at each point. None where it is not known."""
    pairs = [(_number(left, point), _number(right, point)) for point in points]
    return [None if a is None or not b or a is _UNKNOWN or b is _UNKNOWN else a / b for a, b in pairs]


_DERIVATIVE = re.compile(r"(?P<dots>d?dot )?(?P<of>[A-Za-z]+)(?:(?P<primes>'+)|_d(?P<order>\d?)(?P<by>[A-Za-z]))?")


def _same_derivatives(trees: list[Node]) -> list[Node]:
    r"""With one name for `x'`, `\dot{x}` and `\frac{dx}{dt}`. A prime may be by any variable, a dot is by the time."""
    names: dict[str, str] = {}
    variables: set[str] = set()
    for name in frozenset().union(*map(symbols, trees)):
        match = _DERIVATIVE.fullmatch(name)
        if match and (match["dots"] or match["primes"] or match["by"]):
            variables |= {"t"} if match["dots"] else {match["by"]} if match["by"] else set()
            order = len(match["primes"] or "") or (match["dots"] or "").count("d") or int(match["order"] or 1)
            names[name] = match["of"] + "'" * order
    return trees if len(variables) > 1 else [_replaced(tree, "symbol", names) for tree in trees]


def _replaced(tree: Node, kind: str, values: Mapping[Value, Value]) -> Node:
    """The tree with other symbols, or other numbers."""
    if tree[0] == kind:
        return (kind, values.get(tree[1], tree[1]))
    return tuple(_replaced(part, kind, values) if isinstance(part, tuple) else part for part in tree)
