r"""Evaluate LaTeX expressions at random points: refute an unequal answer, or confirm an equal one, without sympy.

`same_value` compares two cleaned expressions at seeded random points to 50 digits. It reads a small, unambiguous part
of LaTeX and gives up (None) on everything else; math-verify then decides.

- Two expressions that differ at one positive real point are unequal. So are a number and a tower of powers: numbers too
  large to write are compared by their iterated logarithms, in microseconds.
- Two expressions that agree to 30 digits at all points, negative and whole ones included, are equal (for polynomials
  this is the Schwartz-Zippel test). Rational constants are compared exactly.
- Where readings differ (`\log` is natural or decimal, `i` a symbol or the imaginary unit) an answer is equal if one
  reading agrees, and unequal only if every reading differs.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any

from evals.grading.arithmetic import OPERATIONS, Huge, UndefinedError, divide, inexact, logarithm_of, real
from evals.grading.expression import Node, UnsupportedError, parse, symbols

DIGITS = 50
_EQUAL_DIGITS = 30  # agreement that counts as equality
_SEED = 20_240_917
_POINTS = 12
_FEWEST = 3  # points at which both sides must be real before they count as equal


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
    return False if any(sides) and constant(answer if sides[0] else gold) is not None else None


def same_equation(gold: tuple[str, str], answer: tuple[str, str], positive: bool = False) -> bool | None:
    """Whether two equations are the same up to a (positive) constant factor (2x=4 and x=2); None: not decided here.

    They differ where a solution of the gold does not solve the answer.
    """
    try:
        sides = [(parse(left), parse(right)) for left, right in (gold, answer)]
    except UnsupportedError:
        return None
    names = [symbols(left) | symbols(right) for left, right in sides]
    if names[0] != names[1] or not names[0] or "i" in names[0]:
        return None
    from mpmath import mp, mpf

    ratios = []
    with mp.workdps(DIGITS):
        for point in _points(frozenset(names[0])):
            differences = [real(_difference(*pair, point)) for pair in sides]
            if None not in differences and differences[1]:
                ratios.append(mpf(1) * inexact(differences[0]) / inexact(differences[1]))
        if len(ratios) < _FEWEST or not ratios[0]:
            return None
        spread = max(abs(ratio - ratios[0]) for ratio in ratios)
        if spread <= abs(ratios[0]) * mpf(10) ** -_EQUAL_DIGITS:
            return not positive or ratios[0] > 0
        return False if _solution_refutes(sides[0], sides[1], frozenset(names[0])) else None


def solved(left: str, right: str, names: Sequence[str], value: str) -> bool:
    """Whether an equation that is linear in one of `names`, which `value` lacks, gives `value` for it.

    Linear: of its differences at three values of that name the second difference vanishes. So the solution is known at
    a point without algebra, and the value must be it at all points.
    """
    try:
        sides, answer = (parse(left), parse(right)), parse(value)
    except UnsupportedError:
        return False
    both, own = symbols(sides[0]) | symbols(sides[1]), symbols(answer)
    if not own or "i" in both or len(both - own) != 1 or own - both or not both - own <= set(names):
        return False
    from mpmath import mp, mpf

    (name,) = both - own
    agreed = 0
    with mp.workdps(DIGITS):
        tiny = mpf(10) ** -_EQUAL_DIGITS
        for point in _points(own):
            at = [real(_difference(*sides, {**point, name: Fraction(number)})) for number in (0, 1, 2)]
            given = real(_value(answer, point))
            if given is None or None in at:
                continue
            low, middle, high = (inexact(difference) for difference in at)
            slope, size = middle - low, abs(low) + abs(middle) + abs(high)
            if not slope or abs(high - 2 * middle + low) > size * tiny:
                return False
            root = -low / slope
            if abs(root - inexact(given)) > (abs(root) + abs(inexact(given))) * tiny:
                return False
            agreed += 1
    return agreed >= _FEWEST


_Equation = tuple[Node, Node]
_GRID = [Fraction(step, 2) + Fraction(1, 7) for step in range(-24, 25)]
_HALVINGS = 120


def _solution_refutes(gold: _Equation, answer: _Equation, names: frozenset[str]) -> bool:
    """Whether a real solution of the gold, all symbols but one of which are chosen, does not solve the answer."""
    from mpmath import mpf

    free = max(names)
    for number, point in enumerate(_points(names)):
        if not _positive(number) or (root := _root_near(gold, point, free)) is None:
            continue
        at = {**point, free: root}
        if _missed(gold, at) < mpf(10) ** -20 and _missed(answer, at) > mpf(10) ** -10:
            return True
    return False


def _root_near(equation: _Equation, point: dict[str, Any], free: str) -> Any | None:
    """A value of `free` at which the sides cross, by bisection between two values of the grid."""
    from mpmath import mpf

    def difference(value: Any) -> Any | None:
        return real(_difference(*equation, {**point, free: value}))

    known = [(value, gap) for value in _GRID if (gap := difference(value)) is not None]
    for (low, below), (high, above) in pairwise(known):
        if (below > 0) != (above > 0):
            a, b = inexact(low), inexact(high)
            for _ in range(_HALVINGS):
                middle = (a + b) / mpf(2)
                gap = difference(middle)
                if gap is None:
                    return None
                a, b = (middle, b) if (gap > 0) == (below > 0) else (a, middle)
            return a
    return None


def _missed(equation: _Equation, point: dict[str, Any]) -> Any:
    """The relative difference of the sides at a point; 0 if unknown."""
    left, right = (real(_value(side, point)) for side in equation)
    if left is None or right is None:
        return 0
    left, right = inexact(left), inexact(right)
    return abs(left - right) / (1 + abs(left) + abs(right))


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
        number = real(_value(tree, {}))
        if number is None or isinstance(number, Fraction):
            return number
        return Fraction(mp.nstr(number, 35, strip_zeros=False, min_fixed=-60, max_fixed=60))


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
    if not 0 < len(halves) <= _MOST_DECIMALS or symbols(left) != symbols(right):
        return False
    nearby = [(_moved(right, number, half), _moved(right, number, -half)) for number, half in halves]
    from mpmath import mp, mpf

    agreed = 0
    for point in _points(names - {"i"} if names == {"i"} else names):
        fixed = {**point, "log": 0, **({"i": mp.mpc(0, 1)} if names == {"i"} else {})}
        with mp.workdps(DIGITS):
            a, b = _value(left, fixed), _value(right, fixed)
            off = [(_value(more, fixed), _value(less, fixed)) for more, less in nearby]
            if any(isinstance(each, Huge) or each is None for each in (a, b, *chain(*off))):
                continue
            a, b = inexact(a), inexact(b)
            most = sum(max(abs(inexact(each) - b) for each in pair) for pair in off)
            if abs(a - b) > most * (1 + mpf(10) ** -_EQUAL_DIGITS) or most > abs(a) * mpf(10) ** (1 - digits):
                return False
            agreed += 1
    return agreed >= (_FEWEST if names - {"i"} else 1)


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


# ----------------------------------------------------------------------------------------------------------- comparison

_Reading = tuple[bool, bool]  # i is the imaginary unit; \log is the decimal logarithm


def _readings(left: Node, right: Node, natural_log: bool) -> list[_Reading]:
    both = symbols(left) | symbols(right)
    units = [True] if both <= {"i"} else [True, False] if "i" in both else [False]
    bases = [False, True][not natural_log :] if _has(left, "log") or _has(right, "log") else [False]
    return [(unit, base) for unit in units for base in bases]


def _compared(left: Node, right: Node, reading: _Reading) -> bool | None:
    from mpmath import mp

    imaginary, decimal = reading
    names = (symbols(left) | symbols(right)) - ({"i"} if imaginary else set())
    agreed = 0
    doubtful = False
    for number, point in enumerate(_points(frozenset(names))):
        fixed = {**point, "log": 10 if decimal else 0, **({"i": mp.mpc(0, 1)} if imaginary else {})}
        with mp.workdps(DIGITS):
            a, b = _value(left, fixed), _value(right, fixed)
            verdict = _same(a, b, complex_allowed=imaginary)
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
    return True if not doubtful and agreed >= min(_FEWEST, _POINTS if names else 1) else None


def _same(a: Any, b: Any, complex_allowed: bool) -> bool | None:
    """Equal, different, or None: undefined or complex, or too large to be known equal."""
    from mpmath import mpf

    if a is None or b is None:
        return None
    if isinstance(a, Huge) or isinstance(b, Huge):
        if isinstance(a, Huge) and isinstance(b, Huge):
            return False if a.differs(b) else None
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
    if isinstance(a, Huge) or isinstance(b, Huge):
        return False
    a, b = inexact(a), inexact(b)
    return bool(abs(a - b) <= max(abs(a), abs(b)) * 1e-6) or max(abs(a), abs(b)) < 1e-30


def _both_vanish(a: Any, b: Any) -> bool:
    if None in (a, b) or isinstance(a, Huge) or isinstance(b, Huge):
        return False
    return bool(max(abs(inexact(a)), abs(inexact(b))) < 10.0 ** -(3 * DIGITS))


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


# ----------------------------------------------------------------------------------------------------------- evaluation


def _difference(left: Node, right: Node, point: dict[str, Any]) -> Any | None:
    return _value(("-", left, right), point)


def _value(tree: Node, point: dict[str, Any]) -> Any | None:
    """The value at a point, or None where it has none."""
    try:
        return _evaluated(tree, point)
    except (ArithmeticError, ValueError, TypeError, NotImplementedError):  # undefined here: a pole, 0^0, ...
        return None


def _evaluated(tree: Node, point: dict[str, Any]) -> Any:
    kind, *parts = tree
    if kind == "number":
        return parts[0]
    if kind == "symbol":
        return point[parts[0]]
    if kind == "log" and len(parts) == 1:
        argument = _evaluated(parts[0], point)
        natural = logarithm_of(argument)
        return divide(natural, logarithm_of(Fraction(10))) if point.get("log") else natural
    if kind in ("sum", "prod"):
        return _series(kind, *parts, point=point)
    return OPERATIONS[kind](*(_evaluated(part, point) for part in parts))


_MOST_TERMS = 500


def _series(kind: str, name: str, low: Node, high: Node, body: Node, *, point: dict[str, Any]) -> Any:
    """A sum or product over whole numbers; undefined where a bound is none, and below the empty one."""
    first, last = (_evaluated(bound, point) for bound in (low, high))
    if not all(isinstance(bound, Fraction) and bound.denominator == 1 for bound in (first, last)):
        raise UndefinedError("a sum between bounds that are not whole")
    if not -1 <= last - first < _MOST_TERMS:
        raise UndefinedError("a sum of too many terms, or of fewer than none")
    total: Any = Fraction(kind == "prod")
    for index in range(int(first), int(last) + 1):
        total = OPERATIONS["+" if kind == "sum" else "*"](total, _evaluated(body, {**point, name: Fraction(index)}))
    return total


def _has(tree: Node, kind: str) -> bool:
    """Whether an operation without a base of its own occurs."""
    parts: Sequence[Any] = tree[1:]
    return (tree[0] == kind and len(parts) == 1) or any(_has(part, kind) for part in parts if isinstance(part, tuple))
