"""A reading of files as a composition: one choice in each dimension of how people make one number of an evaluation.

A choice costs bits, as in a description: 0 for the ordinary one, few for what many people do, and log2 of their number
more for one of many that are alike. A composition costs the sum, and `STEP` more for each choice after the first. So
simple readings come before long ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Name = Literal[
    "not found", "another model", "another metric", "another denominator", "another checkpoint", "selection", "seeds",
    "grader", "format", "labels", "gain by grading", "truncation",
]  # fmt: skip
Dimension = Literal[
    "source", "part", "kept", "taken", "verdict", "unlabelled", "metric", "average", "checkpoint", "seeds", "against",
    "rounding",
]  # fmt: skip
TABLE: tuple[Dimension, ...] = (
    "source", "part", "kept", "taken", "verdict", "unlabelled", "metric", "average"
)  # fmt: skip
"""The dimensions that make a table of scores, by seed and checkpoint; those after them make one number of it."""
ENDS: tuple[Dimension, ...] = ("checkpoint", "seeds", "against", "rounding")
MOST_STEPS = 3  # dimensions in which a composition is not the ordinary one
MOST_BITS = 13.0
STEP = 1.5
WEIGHTIEST: tuple[Name, ...] = (
    "selection", "seeds", "another model", "another checkpoint", "another denominator", "another metric"
)  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """One choice in a dimension.

    Attributes:
        what: it is, for the code that computes it. argument: such as a column, or k. value: of that column.
        bits: its cost. words: for a sentence, or "" for the ordinary one. cause: that it is if it was printed, or None.
    """

    dimension: Dimension
    what: str = ""
    argument: str | float = ""
    value: str = ""
    bits: float = 0.0
    words: str = ""
    cause: Name | None = "another metric"


@dataclass(frozen=True)
class Composition:
    """Choices, one in each dimension that is not the ordinary one, in the order of the dimensions."""

    choices: tuple[Choice, ...] = ()

    @property
    def bits(self) -> float:
        """Its cost."""
        return sum(choice.bits for choice in self.choices) + STEP * max(len(self.choices) - 1, 0)

    @property
    def words(self) -> str:
        """The words in a sentence, or "" for the ordinary number."""
        return ", ".join(choice.words for choice in self.choices if choice.words)

    @property
    def cause(self) -> Name | None:
        """The weightiest of its choices' causes, or None if nothing is to be said of it."""
        causes = {choice.cause for choice in self.choices if choice.words}
        return next((name for name in WEIGHTIEST if name in causes), None)

    def chose(self, dimension: Dimension) -> Choice:
        """The choice in a dimension."""
        return next((choice for choice in self.choices if choice.dimension == dimension), Choice(dimension))


Grammar = Mapping[Dimension, Sequence[Choice]]
"""The choices beside the ordinary one that some files have, by dimension."""


def among(count: int, bits: float) -> float:
    """The cost of one of so many choices that are alike."""
    return bits + math.log2(max(count, 1))


def compositions(grammar: Grammar, dimensions: Sequence[Dimension]) -> list[Composition]:
    """All of at most `MOST_STEPS` steps and `MOST_BITS` in these dimensions, the simplest first."""

    def grown(at: int, choices: tuple[Choice, ...], bits: float) -> Iterator[tuple[float, tuple[Choice, ...]]]:
        yield bits, choices
        if len(choices) == MOST_STEPS:
            return
        for number in range(at, len(dimensions)):
            for choice in grammar.get(dimensions[number], ()):
                more = bits + choice.bits + (STEP if choices else 0)
                if more <= MOST_BITS:
                    yield from grown(number + 1, (*choices, choice), more)

    return [
        Composition(choices) for _, choices in sorted(grown(0, (), 0.0), key=lambda entry: (entry[0], len(entry[1])))
    ]
