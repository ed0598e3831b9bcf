"""The only answer checker: from a gold answer and a response to a verdict.

extraction.py   the answer inside a response, by a stated policy, and inside a bare answer, which may be a sentence
reasoning.py    the part of a response behind its thoughts
letters.py      the letter of a multiple choice that a response states, the policy `letter`
spelling.py     the normal form: one table of rewrites for equivalent notations, LaTeX for what is written as code
rules.py        the one table of rules: the first that applies decides. Their code is in
form.py relations.py quantity.py collection.py reals.py piecewise.py
                words and form; equations; units and decimals; several or named values; sets of reals; cases
counted.py      words behind a number
asides.py       a parenthesis behind an answer: the closed list of forms that are dropped
conclusion.py   what a sentence or a derivation concludes: the closed list of forms that are read
numbers.py      brackets and plain numbers of an answer
expression.py evaluation.py exact.py limits.py
                parse unambiguous LaTeX; compare values at random points, and exactly; limits, integrals, series
equivalence.py  whether two answers are equal: rules, else evaluation
classes.py      which answers to one problem are equal
grader.py       `Grader`: many answers, in order; and explanations of verdicts
verdicts.py     the five verdicts and their table

The package is long because each family of equal spellings (`tests/evals/grading/families.txt`) and each kind of text
that must not ride along is a rule or a list of words of its own: a symbolic engine that knows them all needs clocks and
workers, and accepts more that is wrong (results/grader.md).

Here is what a grader is told: which answers count as equal where mathematics leaves a choice, each a switch with a
stated default.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from evals.grading.grader import Explanation, Grade, Grader, Progress

__all__ = ["Conventions", "Explanation", "Gold", "Grade", "Grader", "Progress", "Response", "Same"]

Gold = str | tuple[str, ...]  # each of several is right
# with its gold, its finish reason or None, and whether its prompt began the thought
Response = tuple[Gold, str, str | None] | tuple[Gold, str, str | None, bool]


MOST_DIGITS = 1000


@dataclass(frozen=True)
class Conventions:
    """The grader's conventions, for `Grader(conventions=...)`.

    Fields:
        digits: significant digits that a decimal must have to stand for an exact value (`0.333` for 1/3), >= 1.
            Trailing zeros are not counted. An integer is never a rounding. The same holds for decimals inside an
            expression (`0.333x` for `\\frac{x}{3}`). With three digits more a decimal may be cut off, not rounded, and
            may, as `1.23457e9`, stand for a longer integer.
        decimal_comma: `1000,99` is also the decimal 1000.99, when the other answer is a decimal with a point.
        missing_unit: a unit may be missing: `120` for `120^\\circ`, `5` for `5 cm`, `28` for `28%`. Golds differ: of
            the 121 problems of MATH's test split that ask for degrees, 71 golds have the sign and 50 have not.
        percent_sign: a percent sign of the answer may be dropped: `42\\%` for 42, where the gold has none.
    """

    digits: int = 3
    decimal_comma: bool = True
    missing_unit: bool = True
    percent_sign: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.digits <= MOST_DIGITS:
            raise ValueError(f"digits is {self.digits!r}. Expected a whole number >= 1 and <= {MOST_DIGITS}")


class Same(Protocol):
    """Compares two cleaned answers, under conventions (`evals.grading.equivalence.Comparison`)."""

    @property
    def conventions(self) -> Conventions: ...

    def __call__(self, gold: str, answer: str) -> bool: ...


def __getattr__(name: str) -> object:
    """Import the grader on first use, so that importing `evals.grading.extraction` alone stays fast."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    loaded: object = getattr(import_module(f"{__name__}.grader"), name)
    return loaded
