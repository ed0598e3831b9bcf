"""Arithmetic to 50 digits that survives towers of powers: exact fractions, mpmath numbers, and `Huge` numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

_MOST_BITS = 20_000  # of an exact integer; larger ones are `Huge`
_LARGEST_LOG = 10**6
_LARGEST_ARGUMENT = 10**60  # of a function; of larger ones the working precision knows nothing, at a high price


class UndefinedError(ArithmeticError):
    """The expression has no value at this point, or its size is unknown."""


class Huge:
    """A positive number too large to write: 10^10^...^`top`, with `height` tens. Approximate: it can only refute."""

    def __init__(self, height: int, top: Any) -> None:
        from mpmath import mp

        while top > _LARGEST_LOG:
            height, top = height + 1, mp.log10(top)
        self.height, self.top = height, top

    def log10(self) -> Any:
        return self.top if self.height == 1 else Huge(self.height - 1, self.top)

    def differs(self, other: Huge) -> bool:
        if self.height != other.height:
            return abs(self.height - other.height) > 1 or min(self.top, other.top) > 10
        return bool(abs(self.top - other.top) > max(self.top, other.top) * Fraction(1, 10**6))


def real(value: Any) -> Any:
    """The value, if it is real (to rounding errors) and finite; `Huge` is not."""
    if value is None or isinstance(value, Huge):
        return None
    if isinstance(value, Fraction):
        return value
    if hasattr(value, "imag") and value.imag:
        if abs(value.imag) > abs(value) * 1e-40:
            return None
        value = value.real
    return value


def inexact(value: Any) -> Any:
    from mpmath import mpf

    return mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else value


def _add(a: Any, b: Any) -> Any:
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Huge):
            if isinstance(other, Huge):
                return a if a.height * 1e9 + a.top > b.height * 1e9 + b.top else b  # at most twice the larger
            return one
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return _checked(a + b)
    return _finite(inexact(a) + inexact(b))


def _negative(a: Any) -> Any:
    if isinstance(a, Huge):
        raise UndefinedError("a huge negative number")
    return -a


def _subtract(a: Any, b: Any) -> Any:
    if isinstance(a, Huge) and not isinstance(b, Huge):
        return a
    return _add(a, _negative(b))


def _multiply(a: Any, b: Any) -> Any:
    if isinstance(a, Huge) or isinstance(b, Huge):
        return _power_of_ten(_add(_log10(a), _log10(b)))
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return _checked(a * b)
    return _finite(inexact(a) * inexact(b))


def divide(a: Any, b: Any) -> Any:
    if isinstance(b, Huge):
        raise UndefinedError("division by a huge number")
    if isinstance(a, Huge):
        return _power_of_ten(_subtract(_log10(a), _log10(b)))
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a / b
    if not b:
        raise UndefinedError("division by zero")
    return _finite(inexact(a) / inexact(b))


def _power(base: Any, exponent: Any) -> Any:
    from mpmath import mp

    if isinstance(base, Huge) or isinstance(exponent, Huge):
        if not isinstance(base, Huge) and base in (0, 1):
            return base
        return _power_of_ten(_multiply(_log10(base), exponent))
    if isinstance(exponent, Fraction) and exponent.denominator == 1 and isinstance(base, Fraction):
        whole = int(exponent)
        if not base and whole <= 0:
            raise UndefinedError("0 to the power of 0, or less")
        if abs(base) == 1 or not base:
            return base ** (whole % 2 if base == -1 else 1)
        if abs(whole) * max(base.numerator.bit_length(), base.denominator.bit_length()) <= _MOST_BITS:
            return base**whole
        return _power_of_ten(_multiply(_log10(base), exponent))
    if not base and not isinstance(exponent, Fraction):
        raise UndefinedError("a power of zero")
    if abs(inexact(exponent)) > _LARGEST_LOG:  # multiplying it out would never end
        return _power_of_ten(_multiply(_log10(base), exponent))
    return _finite(mp.power(inexact(base), inexact(exponent)))


def _log10(value: Any) -> Any:
    from mpmath import mp

    if isinstance(value, Huge):
        return value.log10()
    if isinstance(value, Fraction):
        if value <= 0:
            raise UndefinedError("the size of a negative power")
        return (mp.log(value.numerator) - mp.log(value.denominator)) / mp.log(10)
    if real(value) is None or real(value) <= 0:
        raise UndefinedError("the size of a complex number")
    return mp.log10(value)


def _power_of_ten(exponent: Any) -> Any:
    from mpmath import mp

    if isinstance(exponent, Huge):
        return Huge(exponent.height + 1, exponent.top)
    exponent = inexact(exponent)
    if exponent < 5000:
        if exponent < -5000:
            raise UndefinedError("a number near zero")
        return mp.power(10, exponent) * (1 + mp.mpf(10) ** -20)  # not exact: may refute, must not confirm
    return Huge(1, exponent)


def _checked(value: Fraction) -> Any:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) <= 2 * _MOST_BITS:
        return value
    raise UndefinedError("too many digits")


def _finite(value: Any) -> Any:
    from mpmath import mp

    if not mp.isfinite(value):
        raise UndefinedError("infinite")
    if abs(value) > mp.mpf(10) ** 5000:
        return _power_of_ten(mp.log10(real(value) or -1))
    return value


def logarithm_of(value: Any) -> Any:
    from mpmath import mp

    if isinstance(value, Huge):
        return _multiply(value.log10(), mp.log(10))
    if not value:
        raise UndefinedError("the logarithm of zero")
    return mp.log(inexact(value))


def _logarithm(base: Any, value: Any) -> Any:
    return divide(logarithm_of(value), logarithm_of(base))


def _root(degree: Any, value: Any) -> Any:
    from mpmath import mp

    if isinstance(value, Fraction) and isinstance(degree, Fraction) and degree.denominator == 1:
        if value >= 0 and (exact := _exact_root(value, int(degree))) is not None:
            return exact
        if value < 0 and degree % 2:  # the real root of a negative number
            return _negative(_root(degree, -value))
    if not isinstance(value, (Fraction, Huge)) and real(value) is not None and value.real < 0 and degree % 2 == 1:
        if degree > _LARGEST_LOG:
            raise UndefinedError("a root of too high a degree")
        return -mp.root(-value.real, int(degree))
    return _power(value, divide(Fraction(1), degree))


def _exact_root(value: Fraction, degree: int) -> Fraction | None:
    if degree != 2:
        return None
    from math import isqrt

    above, below = isqrt(value.numerator), isqrt(value.denominator)
    return Fraction(above, below) if above**2 == value.numerator and below**2 == value.denominator else None


def _factorial(value: Any) -> Any:
    from math import factorial

    from mpmath import mp

    if isinstance(value, Huge):  # log10(n!) is n log10(n) to within a part in log n
        return _power_of_ten(_multiply(value, value.log10()))
    if isinstance(value, Fraction) and value.denominator == 1:
        if value < 0:
            raise UndefinedError("the factorial of a negative number")
        if value <= 1500:
            return Fraction(factorial(int(value)))
    if real(value) is None or real(value) < -_LARGEST_LOG:
        raise UndefinedError("the factorial of a complex number, or far below zero")
    if real(value) > 1500:
        return _power_of_ten(mp.loggamma(inexact(value) + 1) / mp.log(10))
    return _finite(mp.gamma(inexact(value) + 1))


def _double_factorial(value: Any) -> Any:
    """Of a whole number, the product of every second number down from it."""
    from math import prod

    if not isinstance(value, Fraction) or value.denominator != 1 or not 0 <= value <= 1500:
        raise UndefinedError("the double factorial of what is not a whole number, or large")
    return Fraction(prod(range(int(value), 0, -2)))


def _binomial(above: Any, below: Any) -> Any:
    from math import comb

    from mpmath import mp

    if isinstance(above, Fraction) and isinstance(below, Fraction) and above.denominator == below.denominator == 1:
        if not 0 <= below <= above or above > 20_000:
            raise UndefinedError("a binomial coefficient out of range")
        return _checked(Fraction(comb(int(above), int(below))))
    if any(real(one) is None or abs(real(one)) > _LARGEST_LOG for one in (above, below)):
        raise UndefinedError("a binomial coefficient of complex or large numbers")
    return _finite(mp.binomial(inexact(above), inexact(below)))


def _floor(value: Any) -> Any:
    from mpmath import mp

    if isinstance(value, Fraction):
        return Fraction(value.numerator // value.denominator)
    if isinstance(value, Huge) or real(value) is None:
        raise UndefinedError("the floor of a complex or huge number")
    return Fraction(int(mp.floor(real(value))))


def _remainder(a: Any, b: Any) -> Any:
    if not all(isinstance(one, Fraction) and one.denominator == 1 for one in (a, b)) or b <= 0:
        raise UndefinedError("a remainder of what is not whole")
    return a % b


def _function(name: str) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        from mpmath import mp

        if isinstance(value, Huge) or abs(value) > (_LARGEST_LOG if name.endswith("h") else _LARGEST_ARGUMENT):
            raise UndefinedError("a function of a huge number")
        return _finite(getattr(mp, name)(inexact(value)))

    return apply


def _exponential(value: Any) -> Any:
    from mpmath import mp

    return _power(mp.e + 0, value)


def _constant(name: str) -> Callable[[], Any]:
    def value() -> Any:
        from mpmath import mp

        return getattr(mp, name) + 0

    return value


_CIRCULAR = ("sin", "cos", "tan", "cot", "sec", "csc")
_HYPERBOLIC = ("sinh", "cosh", "tanh", "coth", "sech", "csch")
OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": _add,
    "-": _subtract,
    "negative": _negative,
    "*": _multiply,
    "/": divide,
    "^": _power,
    "!": _factorial,
    "!!": _double_factorial,
    "log": _logarithm,
    "ln": logarithm_of,
    "lg": lambda value: _logarithm(Fraction(10), value),
    "root": _root,
    "binomial": _binomial,
    "mod": _remainder,
    "exp": _exponential,
    "abs": lambda value: value if isinstance(value, Huge) else abs(value),
    "floor": _floor,
    "ceil": lambda value: _negative(_floor(_negative(value))),
    "pi": _constant("pi"),
    "e": _constant("e"),
    **{name: _function(name) for name in (*_CIRCULAR, *_HYPERBOLIC)},
    **{f"arc{name}": _function(f"a{name}") for name in (*_CIRCULAR, *_HYPERBOLIC)},
}
