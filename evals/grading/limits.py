r"""Limits, infinite sums and products, and integrals as numbers: each is computed in two ways, which must agree.

The three functions state the forms that are read. A value that two ways do not share is no value, and equals nothing: a
series that diverges, `\lim_{x\to 0} |x|/x`, `\int_1^\infty dx/x`. How often a term is evaluated is bounded, never how
long it takes, so that a verdict is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from mpmath import mp, mpf

Value = Any  # a number of mpmath, which has no types. None where it is not defined
Function = Callable[[Value], Value]
AGREED = 35  # digits that two ways must share
DIGITS_LEFT = 80  # the digits of a value that is known to AGREED digits and compared to fewer
_WORKING = 250  # digits of the terms of a series, of which extrapolation loses up to 100
_MOST_TERMS = 200
_MEANS, _ORDERS = (120, 150), (48, 60)  # the two extrapolations: how many partial results, and powers of 1/N
_NODES = (32, 24)  # the two quadratures: over the whole, and over each of two unequal parts
_PART = mpf(5) / 13
_LIMIT_DIGITS, _LIMIT_POINTS = 300, 6
_STEPS = (-40, -50)  # powers of ten, of the two distances from a place
_FAR = 10_000
_TANH_SINH = 1_500  # evaluations, about


def evaluations(kind: str, alone: bool) -> int:
    """How often at most the term of a limit, an integral or an infinite sum is evaluated."""
    if kind == "int":
        return _NODES[0] + 2 * _NODES[1] + alone * _TANH_SINH
    return 2 * len(_STEPS) * _LIMIT_POINTS if kind.startswith("lim") else _MOST_TERMS + 1


class NoValueError(ArithmeticError):
    """Two ways to compute it disagree: it does not exist, or it is not read here."""


def limit(function: Function, place: Value, side: str) -> Value:
    """The limit at a place, `mp.inf` and `-mp.inf` included, of a function with a power series there (in 1/x at
    infinity). `side` is "+", "-" or "" for both.

    It extrapolates from six points near the place, at two distances and from each side.
    """
    with mp.workdps(_LIMIT_DIGITS):
        signs = [1 if place > 0 else -1] if mp.isinf(place) else {"+": [1], "-": [-1], "": [1, -1]}[side]
        estimates, scale = [], mpf(0)
        for sign in signs:
            for power in _STEPS:
                steps = [sign * k * mpf(10) ** power for k in range(1, _LIMIT_POINTS + 1)]
                values = [function(1 / step if mp.isinf(place) else place + step) for step in steps]
                scale = max(scale, *map(abs, values))
                # Lagrange's polynomial through (k h, value), at 0
                weights = [(-1) ** (k + 1) * mp.binomial(_LIMIT_POINTS, k) for k in range(1, _LIMIT_POINTS + 1)]
                estimates.append(sum(w * v for w, v in zip(weights, values, strict=True)))
        return _agreed(estimates, scale, 150)


def infinite(kind: str, term: Callable[[int], Value], first: int) -> Value:
    """The sum or product of infinitely many terms, by number, where one of these ways is certain:

    - the terms vanish within 200 (1/k!), or each is the one before times a number below 1 (geometric series).
    - of a sum whose terms alternate and go to 0, the repeated means of its partial sums.
    - Richardson's extrapolation of partial results, where what is left falls as 1/N^2 or 1/N.
    """
    with mp.workdps(_WORKING):
        terms = [term(first + k) for k in range(_MOST_TERMS + 1)]
        unit = mpf(kind == "prod")
        distances = [abs(value - unit) for value in terms]
        partial = [terms[0]]
        for value in terms[1:]:
            partial.append(partial[-1] * value if unit else partial[-1] + value)
        half, last = distances[_MOST_TERMS // 2], distances[-1]
        size = max(abs(partial[-1]), max(distances), mpf(10) ** -AGREED)
        if last < size * mpf(10) ** -(AGREED + 10) and last <= half / 2:
            return _agreed([partial[-1], partial[-11]], size)
        late = terms[_MOST_TERMS // 2 :]
        ratio = late[1] / late[0] if late[0] and not unit else mpf(1)
        if abs(ratio) < 1 and all(abs(b - ratio * a) <= abs(b) * mpf(10) ** -100 for a, b in pairwise(late)):
            return partial[-1] + terms[-1] * ratio / (1 - ratio)
        if not unit and all(a * b < 0 for a, b in pairwise(late)) and last < mpf("0.8") * half:
            return _agreed([_weighted(_mean_weights(n, mp.dps), partial[-n:]) for n in _MEANS], size)
        if last < mpf("0.3") * half:
            estimates = [_weighted(_richardson_weights(n, mp.dps), partial[n : 2 * n + 1]) for n in _ORDERS]
            return _agreed(estimates, size)
        raise NoValueError("no convergence that is seen")


def integral(function: Function, low: Value, high: Value, alone: bool) -> Value:
    """The integral between two places: by Gauss and Legendre, whole and in two unequal parts, where it is smooth and
    finite, else, if it stands alone and in no other one, by tanh-sinh in these parts, whose error must be small."""
    if low == high:
        return mpf(0)
    finite = mp.isfinite(low) and mp.isfinite(high)
    if finite:
        at = low + (high - low) * _PART
        try:
            whole, scale = _gauss(function, low, high, _NODES[0])
            parts = [_gauss(function, a, b, _NODES[1])[0] for a, b in ((low, at), (at, high))]
            return _agreed([whole, sum(parts)], scale)
        except NoValueError:
            if not alone:
                raise
    elif not alone:
        raise NoValueError("an infinite integral of an integral")
    places = [low, at, high] if finite else [low, high]
    value, error = mp.quad(function if finite else _cut_off(function), places, error=True, maxdegree=7)
    if not mp.isfinite(value) or error > max(abs(value), 1) * mpf(10) ** -AGREED:
        raise NoValueError("an integral that is not smooth")
    return value


def _gauss(function: Function, low: Value, high: Value, nodes: int) -> tuple[Value, Value]:
    """The integral, and that of the absolute value."""
    middle, half = (low + high) / 2, (high - low) / 2
    values = [half * w * function(middle + half * x) for x, w in _legendre(nodes, DIGITS_LEFT)]
    return mp.fsum(values), mp.fsum(map(abs, values))


def _cut_off(function: Function) -> Function:
    """0 far out, on the sides where it is tiny there: e^{-x^2}, whose size at 10^60 cannot be written."""
    tiny = {sign: abs(function(sign * _FAR)) < mpf(10) ** -100 for sign in (1, -1)}
    return lambda value: mpf(0) if abs(value) > _FAR and tiny[1 if value > 0 else -1] else function(value)


def _agreed(estimates: Sequence[Value], scale: object, digits: int = AGREED) -> Value:
    """The value that all ways share, 0 where it has cancelled. `scale` is the size of what it was computed from."""
    small = scale * mpf(10) ** -digits
    if not all(mp.isfinite(value) and abs(value - estimates[0]) <= small for value in estimates):
        raise NoValueError("two ways disagree")
    return estimates[-1] if abs(estimates[-1]) > small else mpf(0)


@lru_cache(maxsize=8)
def _mean_weights(count: int, digits: int) -> list[Value]:
    """The weights of Euler's transformation, the means of neighbours again and again: binomial coefficients over
    2^n."""
    return [mp.binomial(count - 1, k) / mpf(2) ** (count - 1) for k in range(count)]


@lru_cache(maxsize=8)
def _richardson_weights(order: int, digits: int) -> list[Value]:
    """The weights of Lagrange's polynomial in 1/N through N = order+1, ..., 2*order+1, at 1/N = 0."""
    at = range(order + 1, 2 * order + 2)
    return [mp.fprod(mpf(n) / (n - node) for node in at if node != n) for n in at]


def _weighted(weights: Sequence[Value], values: Sequence[Value]) -> Value:
    return mp.fsum(weight * value for weight, value in zip(weights, values, strict=True))


@lru_cache(maxsize=8)
def _legendre(n: int, digits: int) -> list[tuple[Value, Value]]:
    """Nodes and weights of Gauss and Legendre on [-1, 1], by Newton's method."""
    with mp.workdps(digits):
        nodes = []
        for k in range(1, n // 2 + 1):
            x = mp.cos(mp.pi * (k - mpf(1) / 4) / (n + mpf(1) / 2))
            for _ in range(digits.bit_length() + 2):  # each step doubles the digits
                before, now = mpf(1), x
                for degree in range(2, n + 1):
                    before, now = now, ((2 * degree - 1) * x * now - (degree - 1) * before) / degree
                slope = n * (x * now - before) / (x * x - 1)
                x -= now / slope
            weight = 2 / ((1 - x * x) * slope * slope)
            nodes += [(x, weight), (-x, weight)]
    return nodes
