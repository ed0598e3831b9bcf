"""The parts that the tiny families share: which problems train and evaluate, and their rows.

A family says how a problem is sampled and answered. Every random choice takes a ``random.Random``.
"""

from __future__ import annotations

import hashlib
import random
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import islice
from typing import ClassVar, Generic, Protocol, TypeVar

T = TypeVar("T")
Shape = tuple[int, bool]  # the length of a problem, and whether it is of the rare kind

EVAL_SIZE = 48
RARE_SHARE = 0.05
"""Of the shape ``RARE`` in training. With few, a policy may collapse onto the common strategy, which costs accuracy on
the rare tier; with many, the other strategy becomes dominant."""


class Problem(Protocol):
    """A problem of either family."""

    @property
    def text(self) -> str: ...

    @property
    def answer(self) -> str: ...

    @property
    def canonical(self) -> str:
        """Two problems with the same text here are the same problem."""


P = TypeVar("P", bound=Problem)


def pick(rng: random.Random, weights: dict[T, float]) -> T:
    """One key of ``weights``, with probability proportional to its weight."""
    return rng.choices(list(weights), weights=list(weights.values()))[0]


def split_of(problem: Problem) -> str:
    """``"eval"``, ``"train"`` or ``"supervised"`` (what the base model was trained on), by a hash of the problem:
    disjoint for all seeds."""
    bucket = hashlib.sha256(problem.canonical.encode()).digest()[0]
    if bucket < 64:
        return "eval"
    return "train" if bucket < 160 else "supervised"


def row(identifier: str, problem: Problem) -> dict[str, str]:
    return {"id": identifier, "problem": problem.text, "answer": problem.answer}


class Family(ABC, Generic[P]):
    """A family of problems.

    Attributes:
        SEED: the first words of the seed of every random choice. NAME: the first word of its names.
        TRAIN_SHAPES: the weight of each shape. RARE: the shape that few training problems have.
        EVAL_SHAPES: the shape of each evaluation tier.
    """

    SEED: ClassVar[str]
    NAME: ClassVar[str]
    TRAIN_SHAPES: ClassVar[dict[Shape, float]]
    RARE: ClassVar[Shape]
    EVAL_SHAPES: ClassVar[dict[str, Shape]]

    @abstractmethod
    def sample_problem(self, rng: random.Random, length: int, rare: bool) -> P:
        """A problem of this shape."""

    @abstractmethod
    def solution(self, problem: P, rng: random.Random) -> str:
        """A correct answer. The route is sampled from those that are correct for the problem."""

    @abstractmethod
    def pieces(self) -> list[str]:
        """Every word, name, sign and number of the family, in each form (with a space before it, or without)."""

    @property
    def validation(self) -> str:
        """The name of the validation set."""
        return f"{self.NAME}_validation"

    def sample_problems(self, rng: random.Random, split: str, shapes: dict[Shape, float]) -> Iterator[P]:
        """Endless problems of one split, their shape sampled by the weights of ``shapes``."""
        while True:
            problem = self.sample_problem(rng, *pick(rng, shapes))
            if split_of(problem) == split:
                yield problem

    def train_problems(self, n: int, seed: int) -> list[dict[str, str]]:
        """``n`` problems for reinforcement learning: rows of ``id``, ``problem``, ``answer``.

        Raises:
            ValueError: ``n`` < 1.
        """
        return [row(f"{self.NAME}_train_{seed}_{i}", problem) for i, problem in enumerate(self._train(n, seed))]

    def train_solutions(self, n: int, seed: int) -> list[dict[str, str]]:
        """The problems of ``train_problems`` with the same arguments, each with a correct solution: rows of ``id``,
        ``problem``, ``solution``."""
        rng = random.Random(f"{self.SEED} solutions {seed}")
        problems = enumerate(self._train(n, seed))
        return [
            {"id": f"{self.NAME}_train_{seed}_{i}", "problem": p.text, "solution": self.solution(p, rng)}
            for i, p in problems
        ]

    def _train(self, n: int, seed: int) -> Iterator[P]:
        if n < 1:
            raise ValueError(f"n: got {n}, expected at least 1")
        shapes = {shape: weight * (1 - RARE_SHARE) for shape, weight in self.TRAIN_SHAPES.items()}
        shapes[self.RARE] = RARE_SHARE
        return islice(self.sample_problems(random.Random(f"{self.SEED} train {seed}"), "train", shapes), n)

    def eval_problems(self, tier: str) -> list[dict[str, str]]:
        """The ``EVAL_SIZE`` distinct problems of a tier, always the same."""
        problems = self._distinct("eval", tier, EVAL_SIZE).values()
        return [row(f"{tier}_{i}", problem) for i, problem in enumerate(problems)]

    def validation_problems(self) -> list[dict[str, str]]:
        """``EVAL_SIZE`` more problems, the tiers in turn, none of them an evaluation problem: settings are tuned on
        them."""
        used = {canonical for tier in self.EVAL_SHAPES for canonical in self._distinct("eval", tier, EVAL_SIZE)}
        chosen: dict[str, P] = {}
        for tier in self.EVAL_SHAPES:
            size = EVAL_SIZE // len(self.EVAL_SHAPES)
            chosen.update(self._distinct("validation", tier, size, frozenset(used | chosen.keys())))
        return [row(f"{self.validation}_{i}", problem) for i, problem in enumerate(chosen.values())]

    def _distinct(self, use: str, tier: str, size: int, used: frozenset[str] = frozenset()) -> dict[str, P]:
        """The first ``size`` different problems of a tier that are not in ``used``, by their canonical text."""
        distinct: dict[str, P] = {}
        rng = random.Random(f"{self.SEED} {use} {tier}")
        for problem in self.sample_problems(rng, "eval", {self.EVAL_SHAPES[tier]: 1.0}):
            if problem.canonical not in used:
                distinct.setdefault(problem.canonical, problem)
            if len(distinct) == size:
                break
        return distinct
