r"""The second tiny problem family: find the signs that make an equation true, by trying them (countdown-like search).

    Signs of 3 ? 5 ? 2 = 13?            + is 1, - is 2, * is 3. Worked from left to right. One answer is correct

    finish   answer
    found    try 3 + 5 = 8 + 2 = 10 no try 3 * 5 = 15 - 2 = 13 yes \boxed{32}
    give up  try 3 + 5 = 8 + 2 = 10 no \boxed{11}           (boxes the last try although it failed)
    guess    \boxed{21}                                      (no try at all)
    false    try 3 + 5 = 8 + 2 = 10 yes \boxed{11}           (accepts a try that failed)
    no box   try 3 * 5 = 15 - 2 = 13 yes signs 32

A try that leaves 0..50 stops there with "out". Two routes decide the order of the tries: ``in turn`` (all signs in the
order + - *, the first sign slowest) and ``at random`` (any order, no try twice). Both find the answer if the response
is long enough. In turn is quick where the first sign is + or -, as in most training problems, and slow where it is *,
as in ``search_rare``: a policy that collapses onto it loses pass@k there.

The answers that the base model was trained on sample route and finish without looking at the problem, which leaves
reinforcement learning something to choose. Standard library only. Every random choice takes a ``random.Random``.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

from harness.data.tiny.chain import LARGEST, apply, in_range
from harness.data.tiny.problem_family import Family, pick

SIGNS = "+-*"
CODES = {sign: str(i) for i, sign in enumerate(SIGNS, 1)}

ROUTES = {"in turn": 0.5, "at random": 0.5}

Signs = tuple[str, ...]


@dataclass(frozen=True)
class Problem:
    """Numbers with a gap between any two, the number that they make, and the signs that fill the gaps."""

    numbers: tuple[int, ...]
    target: int
    signs: Signs

    @property
    def text(self) -> str:
        return f"Signs of {' ? '.join(map(str, self.numbers))} = {self.target}?"

    @property
    def answer(self) -> str:
        return code(self.signs)

    @property
    def canonical(self) -> str:
        """The equation."""
        return self.text


def code(signs: Signs) -> str:
    """The answer for signs: one digit per sign, such as "32" for * and -."""
    return "".join(CODES[sign] for sign in signs)


def attempt(numbers: tuple[int, ...], signs: Signs) -> tuple[str, int | None]:
    """(what a try says, its value): ``("3 + 5 = 8 + 2 = 10", 10)``. The value is None once it leaves 0..50."""
    value, text = numbers[0], str(numbers[0])
    for sign, number in zip(signs, numbers[1:], strict=True):
        value = apply(value, (sign, number))
        if not in_range([value]):
            return f"{text} {sign} {number} out", None
        text += f" {sign} {number} = {value}"
    return text, value


def solutions(numbers: tuple[int, ...], target: int) -> list[Signs]:
    """Every choice of signs that makes the target with all values within 0..50."""
    return [s for s in product(SIGNS, repeat=len(numbers) - 1) if attempt(numbers, s)[1] == target]


def sample_problem(rng: random.Random, gaps: int, times_first: bool) -> Problem:
    """A problem with exactly one solution, whose first sign is * or is not."""
    while True:
        first = rng.randint(2, 24 if gaps == 1 and not times_first else 12)
        numbers = (first, *(rng.randint(2, 9) for _ in range(gaps)))
        signs = tuple(rng.choice(SIGNS) for _ in range(gaps))
        target = attempt(numbers, signs)[1]
        if (signs[0] == "*") == times_first and target is not None and solutions(numbers, target) == [signs]:
            return Problem(numbers, target, signs)


def write_answer(problem: Problem, route: str, rng: random.Random) -> str:
    """The answer that finds the signs on this route. ``rng`` orders the tries."""
    order = list(product(SIGNS, repeat=len(problem.signs)))
    if route == "at random":
        rng.shuffle(order)
    tries = order[: order.index(problem.signs) + 1]
    words = [f"try {attempt(problem.numbers, signs)[0]} no" for signs in tries]
    words[-1] = words[-1].removesuffix("no") + "yes"
    return " ".join([*words, f"\\boxed{{{problem.answer}}}"])


class Search(Family[Problem]):
    """The family "tiny_search". The rare shape has * as its first sign, which ``in turn`` reaches last."""

    SEED, NAME = "tiny search", "search"
    TRAIN_SHAPES: ClassVar = {(1, False): 0.35, (2, False): 0.65}
    RARE = (2, True)
    EVAL_SHAPES: ClassVar = {"search_short": (1, False), "search_long": (2, False), "search_rare": RARE}

    def sample_problem(self, rng: random.Random, length: int, rare: bool) -> Problem:
        return sample_problem(rng, length, rare)

    def solution(self, problem: Problem, rng: random.Random) -> str:
        return write_answer(problem, pick(rng, ROUTES), rng)

    def pieces(self) -> list[str]:
        spaced = ["?", "=", *SIGNS, "try", "no", "yes", "out", "signs", "\\boxed{", *map(str, range(LARGEST + 1))]
        starts = ["Signs of", "try", "\\boxed{", "?", "}", *map(str, range(LARGEST + 1))]
        return [*(" " + piece for piece in spaced), *starts]


FAMILY = Search()
