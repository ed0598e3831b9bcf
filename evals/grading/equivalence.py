"""Is an answer equal to the gold? `equal` decides it; `quick` decides most of it without math-verify.

This is the only place that calls math-verify, which is slow and can hang: only inside a killable worker.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from time import thread_time
from typing import Any

from evals.grading import Conventions
from evals.grading.evaluation import same_value
from evals.grading.expression import DERIVATIVE
from evals.grading.form import words_beside_a_number
from evals.grading.numbers import depth
from evals.grading.rules import RULES
from evals.grading.spelling import clean

# Two values of expressions are equal when they agree to this many digits, relative to their size.
_EXACT_DIGITS, _FLOAT_DIGITS = 25, 12
_SAMPLES = ("0.37", "1.83", "5.29", "-2.61")  # of the first symbol; at negative values, readings may differ


def same_expression(gold: str, answer: str) -> bool:
    """Whether two cleaned LaTeX expressions, equations or relations are mathematically equal.

    What latex2sympy cannot read to its end is equal to nothing. Values are compared relative to their size (math-verify
    compares constants to six decimal places, so that it takes any two tiny numbers for equal), equations at points as
    well, and i is the imaginary unit where it is the only letter; all else is math-verify's decision.
    """
    from math_verify import verify

    left, right = _parse(gold), _parse(answer)
    if left is None or right is None:
        return False
    names = {symbol.name for side in (left, right) for symbol in side.free_symbols}
    if names and names <= {"i"}:
        try:
            left, right = _with_imaginary_unit(left), _with_imaginary_unit(right)
        except ValueError:  # the maximum of 3+4i and 7
            return False
    verdict = _same_values(left, right)
    if verdict is None:
        verdict = bool(verify(left, right, timeout_seconds=None, allow_set_relation_comp=True))
    return verdict


@lru_cache(maxsize=4096)
def _parse(text: str) -> Any | None:
    """The sympy object that latex2sympy reads in an expression, or None when it cannot read all of it."""
    from latex2sympy2_extended import NormalizationConfig, latex2sympy

    # units are ours: latex2sympy takes the c of `\\frac{1}{2}c` for one
    config = NormalizationConfig(basic_latex=True, units=False, malformed_operators=True, nits=True, boxed="none")
    try:
        return latex2sympy(_as_symbols(text), is_real=None, normalization_config=config)
    except (MemoryError, RecursionError):
        raise
    except Exception:  # of many kinds: it is no expression
        return None


_PRIMED = re.compile(r"(?<![\\A-Za-z])([A-Za-z])('+)")
_TIMES_LARGEST = re.compile(r"(?<=[\w)}])\s*(?=\\(?:max|min)(?![A-Za-z]))")
_NUMBERED_E = re.compile(r"(?<![\\A-Za-z])E(?=_)")


def _as_symbols(text: str) -> str:
    r"""Replace by names what latex2sympy would evaluate too early: `\frac{dx}{dt}` (it reads 0), `E_1` (2.718...), and
    write the sign of a product that it takes for a mixed number: `5\max(7)`."""
    text = _TIMES_LARGEST.sub(r"\\cdot ", text)
    text = _PRIMED.sub(lambda primed: f"{primed[1]}_{{d{len(primed[2])}}}", text)
    return _NUMBERED_E.sub(r"\\Xi ", DERIVATIVE.sub(r"\2_{d\1\3}", text))


def _with_imaginary_unit(expression: Any) -> Any:
    """`(1+i)^2` as the number that it is."""
    from sympy import I

    return expression.subs({symbol: I for symbol in expression.free_symbols})


def _same_values(left: Any, right: Any) -> bool | None:
    """Equality of two expressions at points, of equations up to a factor; None where the values are not known."""
    from sympy import Eq, Expr, Float
    from sympy.core.function import AppliedUndef

    equations = isinstance(left, Eq) and isinstance(right, Eq)
    if equations:
        left, right = left.lhs - left.rhs, right.lhs - right.rhs
    if not isinstance(left, Expr) or not isinstance(right, Expr):
        return None
    both = [side.atoms(AppliedUndef) | side.free_symbols for side in (left, right)]
    if bool(both[0]) != bool(both[1]):
        return None
    names = sorted(both[0] | both[1], key=str)
    if not names:
        exact = left.doit(), right.doit()
        if all(side.is_Rational for side in exact):
            return bool(exact[0] == exact[1])  # 2^{1009}+1 is not 2^{1009}
    digits = _FLOAT_DIGITS if left.has(Float) or right.has(Float) else _EXACT_DIGITS
    pairs: list[tuple[Any, Any]] = []
    for sample in _SAMPLES if names else ("1",):
        point = {name: Float(sample, 40) + Float(str(0.37 * index), 40) for index, name in enumerate(names)}
        pairs.append((_number(left, point), _number(right, point)))
    if any(None in pair for pair in pairs):
        return None
    if equations:
        if not all(pairs[0]):
            return False  # 61=61
        pairs = [(a * pairs[0][1], b * pairs[0][0]) for a, b in pairs]
    *positive, last = (bool(abs(a - b) <= max(abs(a), abs(b)) * 10**-digits) for a, b in pairs)
    return (last or None) if positive and all(positive) else all([*positive, last])


def _number(expression: Any, point: dict[Any, Any]) -> Any | None:
    """The numerical value of a sympy expression at a point, to 30 digits, or None."""
    try:
        number = expression.xreplace(point).doit().evalf(30)
    except (ValueError, TypeError, AttributeError):  # an integral without a variable, an order of complex numbers
        return None
    parts = number.as_real_imag() if number.is_number and number.is_finite else (number,)
    return number if len(parts) == 2 and all(part.is_Number for part in parts) else None


LONGEST, DEEPEST = 10_000, 100
IN_PROCESS_S = 2.0  # processor time for a comparison in the calling process, before it goes to a worker
_SHORT = 400  # characters; longer answers are read only in a worker, which has a time limit
DEFAULT = Conventions()


class UnscorableError(Exception):
    """The answer is too large to be read safely; the message says why."""


class UndecidedError(Exception):
    """The comparison needs math-verify, or a worker with its time limit."""


class Comparison:
    """Compares cleaned answers: the first rule that applies decides, then random points, then math-verify.

    Rules receive it and compare the parts of answers with it. `limit_s` is processor time, after which it raises
    UndecidedError at the next comparison of parts (None: no limit). `steps` records (gold, answer, what decided,
    verdict) of every comparison and its parts, the whole one last.
    """

    def __init__(
        self,
        conventions: Conventions = DEFAULT,
        last: Callable[[str, str], bool] | None = None,
        limit_s: float | None = None,
    ) -> None:
        self.conventions = conventions
        self.steps: list[tuple[str, str, str, bool]] = []
        self._last = last or same_expression
        self._until = None if limit_s is None else thread_time() + limit_s

    def __call__(self, gold: str, answer: str) -> bool:
        if self._until is not None and thread_time() > self._until:
            raise UndecidedError
        decided_by, verdict = self._decide(gold, answer)
        self.steps.append((gold, answer, decided_by, verdict))
        return verdict

    def _decide(self, gold: str, answer: str) -> tuple[str, bool]:
        for rule in RULES:
            verdict = rule.decide(gold, answer, self)
            if verdict is not None:
                return rule.name, verdict
        verdict = same_value(gold, answer)
        if verdict is not None:
            return "same_value", verdict
        if words_beside_a_number(gold, answer):  # math-verify says the same, slowly
            return "words_beside_a_number", False
        return "math_verify", self._last(gold, answer)


def equal(gold: str, answer: str, conventions: Conventions = DEFAULT) -> bool:
    """Whether an answer equals the gold.

    May hang or exhaust memory on a hostile answer: call it through `evals.grading.Grader`, which runs it in a process
    that can be killed, unless `quick` already decides.

    Raises:
        UnscorableError: one of them is too long or too deeply nested.
    """
    verdict = _at_once(gold, answer)
    return Comparison(conventions)(clean(gold), clean(answer)) if verdict is None else verdict


def quick(gold: str, answer: str, conventions: Conventions = DEFAULT) -> bool | None:
    """The verdict without math-verify, usually in well under a millisecond; None if it needs math-verify.

    Runs in the calling process, where nothing can be killed, so everything in it is bounded: no sympy; texts of at most
    LONGEST characters, read by patterns of at most quadratic time (a test); arithmetic on numbers below 10^5000 to at
    most 200 digits, functions of arguments below 10^60. Between the comparisons of parts it looks at the clock: after
    IN_PROCESS_S it gives up, and returns None. One step cannot be interrupted.

    Raises:
        UnscorableError: as `equal`.
    """
    verdict = _at_once(gold, answer)
    if verdict is not None:
        return verdict
    left, right = clean(gold), clean(answer)
    if len(left) > _SHORT or len(right) > _SHORT:
        return None
    try:
        return Comparison(conventions, _undecided, IN_PROCESS_S)(left, right)
    except UndecidedError:
        return None


def _at_once(gold: str, answer: str) -> bool | None:
    """The verdict on equal texts, or on an empty one; raises UnscorableError on one that is too large."""
    if gold.strip() and gold == answer:
        return True
    for text in (gold, answer):
        if len(text) > LONGEST:
            raise UnscorableError(f"size: {len(text)} characters, more than {LONGEST}")
        if depth(text) > DEEPEST:
            raise UnscorableError(f"size: nested deeper than {DEEPEST}")
    return None if clean(gold) and clean(answer) else False


def _undecided(gold: str, answer: str) -> bool:
    raise UndecidedError
