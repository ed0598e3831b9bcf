r"""Values exactly, and expressions by their structure: where 200 digits are not enough to know a value.

`exact` gives the rational value of a tree at rational points, whose digits are counted before they are computed. Larger
expressions are compared by `normal`: equal where both have the same terms, factors and exponents in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil, comb, factorial, floor, gcd, inf, lcm, lgamma, log, log10, prod
from typing import Any

from evals.grading.expression import Node

MOST_DIGITS = 100_000
_MOST_OF_A_FRACTION = 5_000  # digits of a numerator or denominator, which have to be reduced
_MOST_WORK = 250_000  # digits, of all numbers together
_MOST_FACTORIAL = 25_000  # 99,094 digits
_MOST_TERMS = 2_100  # terms of a sum or product over an index, because contests sum up to the year
_MOST_BITS_OF_A_ROOT = 1_500


class UnknownError(ArithmeticError):
    """The value is not rational, does not exist, or has too many digits."""


def exact(tree: Node, point: Mapping[str, Fraction]) -> Fraction | None:
    """The rational value at a point, or None where there is none, or none of at most MOST_DIGITS digits."""
    try:
        return _Exact().value(tree, point)
    except (ArithmeticError, KeyError):
        return None


class _Exact:
    """Computes a value, at most MOST_WORK digits in all."""

    def __init__(self) -> None:
        self._work = 0.0

    def value(self, tree: Node, point: Mapping[str, Fraction]) -> Fraction:
        kind, *parts = tree
        if kind == "number":
            return Fraction(parts[0])
        if kind == "symbol":
            return point[parts[0]]
        if kind in ("sum", "prod"):
            return self._over_an_index(kind, parts, point)
        if kind not in _OPERATIONS:
            raise UnknownError
        values = [self.value(part, point) for part in parts]
        self._count(*values)
        return _OPERATIONS[kind](*values)

    def _count(self, *values: Fraction) -> None:
        for value in values:
            digits = _digits(value)
            if digits > MOST_DIGITS or (value.denominator > 1 and digits > _MOST_OF_A_FRACTION):
                raise UnknownError
            self._work += 10 + digits * (1 if value.denominator == 1 else 20)
        if self._work > _MOST_WORK:
            raise UnknownError

    def _over_an_index(self, kind: str, parts: list[Any], point: Mapping[str, Fraction]) -> Fraction:
        name, start, end, term = parts
        first, last = self.value(start, point), self.value(end, point)
        if first.denominator != 1 or last.denominator != 1 or not -1 <= last - first < _MOST_TERMS:
            raise UnknownError
        total = Fraction(kind == "prod")
        for index in range(int(first), int(last) + 1):
            value = self.value(term, {**point, name: Fraction(index)})
            self._count(total, value)
            total = total + value if kind == "sum" else total * value
        return total


def _digits(value: Fraction) -> float:
    return max(value.numerator.bit_length(), value.denominator.bit_length()) * log10(2)


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        if base < 0:
            raise UnknownError
        return _power(_root(Fraction(exponent.denominator), base), Fraction(exponent.numerator))
    if not base and exponent <= 0:
        raise UnknownError
    if base in (0, 1, -1):
        return base if exponent % 2 else abs(base)
    if _digits(base) * abs(exponent) > (MOST_DIGITS if base.denominator == 1 and exponent > 0 else _MOST_OF_A_FRACTION):
        raise UnknownError
    return base ** int(exponent)


def _factorial(n: Fraction) -> Fraction:
    if n.denominator != 1 or not 0 <= n <= _MOST_FACTORIAL:
        raise UnknownError
    return Fraction(factorial(int(n)))


def _double_factorial(n: Fraction) -> Fraction:
    if n.denominator != 1 or not 0 <= n <= _MOST_FACTORIAL:
        raise UnknownError
    return Fraction(prod(range(int(n), 0, -2)))


def _root(degree: Fraction, value: Fraction) -> Fraction:
    """A perfect power has its real root."""
    n = int(degree)
    if degree != n or not 1 <= n <= 64 or (value < 0 and n % 2 == 0):
        raise UnknownError
    above, below = (_whole_root(abs(part), n) for part in (value.numerator, value.denominator))
    return Fraction(above, below) * (1 if value >= 0 else -1)


def _whole_root(value: int, n: int) -> int:
    if value.bit_length() > _MOST_BITS_OF_A_ROOT:
        raise UnknownError
    low, high = 0, 1 << (value.bit_length() // n + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**n <= value else (low, middle - 1)
    if low**n != value:
        raise UnknownError
    return low


def _binomial(above: Fraction, below: Fraction) -> Fraction:
    if above.denominator != 1 or below.denominator != 1 or not 0 <= below <= above < 10**6:
        raise UnknownError
    n, k = int(above), int(min(below, above - below))
    if (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log(10) > _MOST_OF_A_FRACTION:
        raise UnknownError
    return Fraction(comb(n, k))


def _whole(compute: Callable[..., int]) -> Callable[..., Fraction]:
    def apply(*values: Fraction) -> Fraction:
        if any(value.denominator != 1 for value in values):
            raise UnknownError
        return Fraction(compute(*map(int, values)))

    return apply


_OPERATIONS: dict[str, Callable[..., Fraction]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "negative": lambda a: -a,
    "^": _power,
    "!": _factorial,
    "!!": _double_factorial,
    "abs": abs,
    "floor": lambda a: Fraction(floor(a)),
    "ceil": lambda a: Fraction(ceil(a)),
    "binomial": _binomial,
    "root": _root,
    "max": max,
    "min": min,
    "gcd": _whole(gcd),
    "lcm": _whole(lcm),
    "bmod": _whole(lambda a, b: a % b),
}


Normal = Any  # a Fraction, or nested tuples of an operation and its sorted parts


def normal(tree: Node) -> Normal:
    """The structure of a tree: sums as terms with rational factors, products as factors with exponents, both sorted.
    Numbers are computed. Two trees of one structure are equal wherever they have a value."""
    kind, *parts = tree
    if (value := exact(tree, {})) is not None:
        return value
    if kind in ("+", "-", "negative"):
        return _sum(tree)
    if kind in ("*", "/", "^"):
        return _product(tree)
    return (kind, *(normal(part) if isinstance(part, tuple) else part for part in parts))


def _order(structure: Normal) -> str:
    """A text for each structure; of large numbers in base 16, which takes no time."""
    if isinstance(structure, Fraction):
        return f"{structure.numerator:x}/{structure.denominator:x}"
    return f"({' '.join(map(_order, structure))})" if isinstance(structure, tuple) else str(structure)


def _sum(tree: Node) -> Normal:
    terms: dict[Normal, Fraction] = {}

    def add(tree: Node, sign: int) -> None:
        kind, *parts = tree
        if kind in ("+", "-"):
            add(parts[0], sign)
            add(parts[1], sign if kind == "+" else -sign)
        elif kind == "negative":
            add(parts[0], -sign)
        else:
            factor, rest = _split(normal(tree))
            terms[rest] = terms.get(rest, Fraction(0)) + sign * factor

    add(tree, 1)
    known = sorted(((rest, factor) for rest, factor in terms.items() if factor), key=_order)
    if not known:
        return Fraction(0)
    return _joined(known[0][1], known[0][0]) if len(known) == 1 else ("sum", tuple(known))


def _split(structure: Normal) -> tuple[Fraction, Normal]:
    """A rational factor and the rest, `()` for a number."""
    if isinstance(structure, Fraction):
        return structure, ()
    if structure[0] == "product":
        return structure[1], ("product", Fraction(1), structure[2]) if structure[2] else ()
    return Fraction(1), ("product", Fraction(1), ((structure, Fraction(1)),))


def _joined(factor: Fraction, rest: Normal) -> Normal:
    if rest == () or not factor:
        return factor
    alone = factor == 1 and len(rest[2]) == 1 and rest[2][0][1] == 1
    return rest[2][0][0] if alone else ("product", factor, rest[2])


def _product(tree: Node) -> Normal:
    factor = Fraction(1)
    powers: dict[Normal, list[Normal]] = {}

    def multiply(tree: Node, exponent: Node) -> None:
        nonlocal factor
        kind, *parts = tree
        times = exact(exponent, {})
        whole = times is not None and times.denominator == 1  # \\sqrt{x^2} is not x
        if whole and kind in ("*", "/"):
            multiply(parts[0], exponent)
            multiply(parts[1], exponent if kind == "*" else ("negative", exponent))
            return
        if kind == "^" and (whole or (exact(parts[0], {}) or 0) > 0):
            multiply(parts[0], ("*", parts[1], exponent))
            return
        if whole and kind == "negative":
            multiply(("number", Fraction(-1)), exponent)
            multiply(parts[0], exponent)
            return
        value = exact(("^", tree, exponent), {})
        if value is not None:
            factor *= value
            return
        base = normal(tree)
        for prime, n in _primes(base):
            powers.setdefault(prime, []).append(exponent if n == 1 else ("*", ("number", Fraction(n)), exponent))

    multiply(tree, ("number", Fraction(1)))
    known = []
    for base, exponents in powers.items():
        total = exponents[0]
        for next_exponent in exponents[1:]:
            total = ("+", total, next_exponent)
        known.append((base, normal(total)))
    if known and factor not in (0, 1, -1):
        factor, known = _absorbed(factor, known)
    known = [(base, exponent) for base, exponent in known if exponent != 0]
    if not factor or not known:
        return factor
    return ("product", factor, tuple(sorted(known, key=_order)))


def _primes(base: Normal) -> list[tuple[Normal, int]]:
    """A whole number by its small primes, so that `4^a` and `2^{2a}` are one. Anything else as it is."""
    if not isinstance(base, Fraction) or base.denominator != 1 or not 1 < base < 10**6:
        return [(base, 1)]
    left, powers = int(base), []
    for prime in range(2, 1000):
        times = 0
        while left % prime == 0:
            left, times = left // prime, times + 1
        if times:
            powers.append((Fraction(prime), times))
    return [*powers, (Fraction(left), 1)] if left > 1 else powers


def _absorbed(factor: Fraction, known: list[tuple[Normal, Normal]]) -> tuple[Fraction, list[tuple[Normal, Normal]]]:
    """`2 \\cdot 2^a` as `2^{a+1}`: what a factor holds of a prime that has a power."""
    out = []
    for base, exponent in known:
        if isinstance(base, Fraction) and base > 1 and isinstance(exponent, Fraction):
            times = 0
            while factor.numerator % base.numerator == 0 and times < 10_000:
                factor, times = factor / base, times + 1
            while factor.denominator % base.numerator == 0 and times > -10_000:
                factor, times = factor * base, times - 1
            exponent += times
        out.append((base, exponent))
    return factor, out


def bounds(tree: Node, point: Mapping[str, Fraction]) -> tuple[float, float]:
    """Between which powers of ten a value lies, such as a tower of powers.

    Raises:
        UnknownError: it is not made of positive rational values by `+ * / ^ !` and roots.
    """
    kind, *parts = tree
    if (value := exact(tree, point)) is not None and value > 0:
        size = log10(value.numerator) - log10(value.denominator)
        return size, size
    if kind == "root":
        return bounds(("^", parts[1], ("/", ("number", Fraction(1)), parts[0])), point)
    if kind not in ("+", "*", "/", "^", "!"):
        raise UnknownError
    (low, high), *rest = (bounds(part, point) for part in parts)
    if kind == "!":
        if low < 1:
            raise UnknownError
        return _ten(low) * (low - 0.5), _ten(high) * high  # (n/e)^n < n! < n^n
    other_low, other_high = rest[0]
    if kind == "+":
        return max(low, other_low), max(high, other_high) + 0.5
    if kind == "^":
        corners = [size and size * _ten(power) for size in (low, high) for power in (other_low, other_high)]
        return min(corners), max(corners)
    return (low + other_low, high + other_high) if kind == "*" else (low - other_high, high - other_low)


def _ten(power: float) -> float:
    return 10**power if power < 300 else inf
