"""The allowed values of a setting, stated once in its annotation: `alpha: Annotated[float, Range("> 0")]`.

Both the command line and the equation (`harness.spec.equation.checked`) check values against these annotations. Numbers
are finite.
"""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

from harness.errors import UsageError

_ONE_SIDED = re.compile(r"(>=|>|<=|<) (-?[\d.]+)")
_COMPARE = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
_INTERVAL = re.compile(r"([\[(])(-?[\d.]+), (-?[\d.]+)([\])])")


@dataclass(frozen=True)
class Range:
    """The allowed numbers: one-sided (`"> 0"`, `"<= 1"`) or an interval (`"(0, 1]"`).

    Args:
        text: the range as an error message prints it. reason: printed after it.
    Raises:
        UsageError: the text is neither form.
    """

    text: str
    reason: str = ""

    def __post_init__(self) -> None:
        if not self._bounds():
            raise UsageError(f"range: expected a text like '> 0' or '(0, 1]', got {self.text!r}")

    def _bounds(self) -> list[tuple[str, float]]:
        """(sign, bound) of each side. Empty for a text of neither form."""
        if one_sided := _ONE_SIDED.fullmatch(self.text):
            return [(one_sided[1], float(one_sided[2]))]
        if interval := _INTERVAL.fullmatch(self.text):
            left, low, high, right = interval.groups()
            return [(">=" if left == "[" else ">", float(low)), ("<=" if right == "]" else "<", float(high))]
        return []

    def __contains__(self, value: float) -> bool:
        return all(_COMPARE[sign](value, bound) for sign, bound in self._bounds())

    def __str__(self) -> str:
        text = self.text if len(self._bounds()) == 1 else f"in {self.text}"
        return f"{text} ({self.reason})" if self.reason else text


Positive = Annotated[float, Range("> 0")]
NonNegative = Annotated[float, Range(">= 0")]
Count = Annotated[int, Range(">= 1")]
Processes = Annotated[int, Range("[1, 1024]")]  # or threads, on one machine
Index = Annotated[int, Range(">= 0")]
Share = Annotated[float, Range("(0, 1]")]  # a share above 0


def check_value(key: str, value: object, kind: object) -> None:
    """Raise UsageError with key, value and what was expected, unless `value` fits the annotation `kind`."""
    if expected := unmet(value, kind):
        raise UsageError(f"{key}: expected {expected}, got {value!r}")


def unmet(value: Any, kind: Any) -> str:
    """The range that the annotation expects, if `value` does not fit it, else "".

    Reads `Annotated[kind, Range]`, `Literal`, unions, `tuple[kind, ...]` and plain classes.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        ranges = (part for part in parts[1:] if isinstance(part, Range))
        return unmet(value, parts[0]) or next((str(r) for r in ranges if value not in r), "")
    if origin is Literal:
        return "" if value in parts else "one of " + ", ".join(map(repr, parts))
    if origin is tuple:
        fits = isinstance(value, tuple) and not any(unmet(v, parts[0]) for v in value)
        return "" if fits else f"a list of {_name(parts[0], several=True)}"
    if parts:  # a union
        expected = [unmet(value, part) for part in parts]
        return "" if "" in expected else " or ".join(expected)
    return _unmet_class(value, kind)


def _unmet_class(value: object, kind: type) -> str:
    """`unmet` of a plain class. An int may stand for a float. A bool is no number."""
    if kind in (int, float) and isinstance(value, bool):
        return _name(kind)
    if kind is float and isinstance(value, (int, float)):
        return "" if math.isfinite(value) else "a finite number"
    return "" if isinstance(value, kind) else _name(kind)


def _name(kind: Any, *, several: bool = False) -> str:
    if get_origin(kind) is Annotated:
        return _name(get_args(kind)[0], several=several)
    names = {float: "a number", int: "a whole number", str: "a string", bool: "true or false", type(None): "null"}
    name = names.get(kind, str(kind))
    return name.removeprefix("a ") + "s" if several and name.startswith("a ") else name
