"""What a grader is told: which answers count as equal where mathematics leaves a choice, and its limits for one answer.

Each choice is a switch with a stated default. The limits are those of the grader, `rlvr grade` and trainings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

LIMIT_S = 10.0  # of processor time
MEMORY_MB = 1024


@dataclass(frozen=True)
class Conventions:
    """The grader's conventions, for `Grader(conventions=...)`.

    Fields:
        digits: significant digits that a decimal must have to stand for an exact value (`0.333` for 1/3), >= 1.
            Trailing zeros are not counted; an integer is never a rounding. The same holds for decimals inside an
            expression (`0.333x` for `\\frac{x}{3}`). With three digits more a decimal may be cut off, not rounded, and
            may, as `1.23457e9`, stand for a longer integer.
        decimal_comma: `1000,99` is also the decimal 1000.99, when the other answer is a decimal with a point.
        words: a number in words is that number (`twenty-five`, `three fourths`, `7th`).
        natural_log: `\\log` is also the natural logarithm.
        missing_unit: a unit may be missing: `120` for `120^\\circ`, `5` for `5 cm`, `28` for `28%`. Golds differ: of
            the 121 problems of MATH's test split that ask for degrees, 71 golds have the sign and 50 have not.
        upright_letter: `\\text{D}` is `D`, also where no choice is marked as `(D)` is. MATH's test split has 11 golds
            like `\\text{D}` and 5 like `D`.
    """

    digits: int = 3
    decimal_comma: bool = True
    words: bool = True
    natural_log: bool = True
    missing_unit: bool = True
    upright_letter: bool = True

    def __post_init__(self) -> None:
        if self.digits < 1:
            raise ValueError(f"digits is {self.digits!r}; expected a whole number >= 1")


class Same(Protocol):
    """Compares two cleaned answers, under conventions (`evals.grading.equivalence.Comparison`)."""

    @property
    def conventions(self) -> Conventions: ...

    def __call__(self, gold: str, answer: str) -> bool: ...
