"""The first tiny problem family: a chain of letters in short sentences, with the strategies that a base model mixes.

A problem and, for it, each strategy of the base model: a route (how the chain is searched) and a finish (how well):

    K is 7. K plus 5 is B. B times 3 is T. What is T?

    route            finish   answer
    told order       right    so 7 + 5 = 12 then 12 * 3 = 36 \\boxed{36}
    by name          right    first 7 is K now 7 + 5 = 12 is B next 12 * 3 = 36 is T \\boxed{36}
    either           mended   so 7 + 5 = 13 wait 7 + 5 = 12 then 12 * 3 = 36 \\boxed{36}
    either           guess    \\boxed{36}                        (no chain: a small model mostly guesses incorrectly)
    either           stop     so 7 + 5 = 12 \\boxed{12}           (the last step is skipped)
    either           slip     so 7 + 5 = 13 then 13 * 3 = 39 \\boxed{39}
    either           no box   so 7 + 5 = 12 then 12 * 3 = 36 answer 36

Told order takes the sentences in the given order. It is short, common, and correct if the chain is told forwards.
By name is longer, rarer and more often flawed, but also correct for a chain told backwards, where told order is not:

    B times 3 is T. K plus 5 is B. K is 7. What is T?
    told order                so 7 * 3 = 21 then 21 + 5 = 26 \\boxed{26}        (incorrect)
    by name                   first 7 is K now 7 + 5 = 12 is B next 12 * 3 = 36 is T \\boxed{36}

The answers that the base model was trained on sample route and finish without looking at the problem: this leaves
reinforcement learning something to choose, and a policy that collapses onto told order loses pass@k on ``tiny_rare``.
Numbers stay within 0..50. Standard library only. Every random choice takes a ``random.Random``.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import ClassVar

from harness.data.tiny.problem_family import Family, pick

NAMES = tuple("BCDEFGHKMNPRTW")
LARGEST = 50
OPERATORS = {"+": "plus", "-": "minus", "*": "times"}
FACTORS = {"+": range(2, 10), "-": range(2, 10), "*": range(2, 5)}

ROUTES = {"told order": 0.55, "by name": 0.45}
OPENERS = {"told order": "so", "by name": "first"}  # one word each: the choice of route is the first token
STEP_WORDS = {"told order": ("so", "then"), "by name": ("now", "next")}

Operation = tuple[str, int]  # operator and number, such as ("+", 5)


@dataclass(frozen=True)
class Problem:
    """``names[0]`` is ``start``. ``names[i+1]`` is ``steps[i]`` applied to ``names[i]``. The last name is asked for."""

    start: int
    steps: tuple[Operation, ...]
    names: tuple[str, ...]
    backwards: bool  # the sentences are told last to first

    @property
    def text(self) -> str:
        sentences = [f"{self.names[0]} is {self.start}."]
        for i, (operator, number) in enumerate(self.steps):
            sentences.append(f"{self.names[i]} {OPERATORS[operator]} {number} is {self.names[i + 1]}.")
        return " ".join(sentences[::-1] if self.backwards else sentences) + f" What is {self.names[-1]}?"

    @property
    def answer(self) -> str:
        return str(worked(self.start, self.steps)[-1])

    @property
    def told_steps(self) -> tuple[Operation, ...]:
        """The steps in the order in which the sentences tell them."""
        return self.steps[::-1] if self.backwards else self.steps

    @property
    def canonical(self) -> str:
        """The arithmetic alone: two problems that differ in names or in the order of telling are the same."""
        return f"{self.start} " + " ".join(f"{operator}{number}" for operator, number in self.steps)


def apply(value: int, step: Operation) -> int:
    """One step: ``apply(7, ("+", 5)) == 12``."""
    operator, number = step
    return {"+": value + number, "-": value - number, "*": value * number}[operator]


def worked(start: int, steps: tuple[Operation, ...]) -> list[int]:
    """The value after each step."""
    values, value = [], start
    for step in steps:
        value = apply(value, step)
        values.append(value)
    return values


def in_range(values: list[int]) -> bool:
    return all(0 <= value <= LARGEST for value in values)


def sample_problem(rng: random.Random, n_steps: int, backwards: bool) -> Problem:
    """A problem whose numbers stay within 0..50. Told backwards, told order gives another number within 0..50."""
    names = tuple(rng.sample(NAMES, n_steps + 1))
    while True:
        operators = [rng.choice("+-*") for _ in range(n_steps)]
        steps = tuple((operator, rng.choice(FACTORS[operator])) for operator in operators)
        problem = Problem(rng.randint(2, 12), steps, names, backwards)
        values, in_told_order = worked(problem.start, steps), worked(problem.start, problem.told_steps)
        if in_range(values) and in_range(in_told_order) and (values[-1] != in_told_order[-1]) == backwards:
            return problem


def write_answer(problem: Problem, route: str, rng: random.Random) -> str:
    """The answer that a route without an error writes for a problem. ``rng`` chooses the step words."""
    by_name = route == "by name"
    words = [f"{OPENERS[route]} {problem.start} is {problem.names[0]}"] if by_name else []
    value = problem.start
    for i, step in enumerate(problem.steps if by_name else problem.told_steps):
        word = rng.choice(STEP_WORDS[route]) if words else OPENERS[route]
        result = apply(value, step)
        named = f" is {problem.names[i + 1]}" if by_name else ""
        words.append(f"{word} {value} {step[0]} {step[1]} = {result}{named}")
        value = result
    return " ".join([*words, f"\\boxed{{{value}}}"])


class Chain(Family[Problem]):
    """The family "tiny". The rare shape is told backwards."""

    SEED = NAME = "tiny"
    TRAIN_SHAPES: ClassVar = {(2, False): 0.32, (3, False): 0.37, (4, False): 0.31}
    RARE = (3, True)
    EVAL_SHAPES: ClassVar = {"tiny_short": (2, False), "tiny_long": (4, False), "tiny_rare": RARE}

    def sample_problem(self, rng: random.Random, length: int, rare: bool) -> Problem:
        return sample_problem(rng, length, rare)

    def solution(self, problem: Problem, rng: random.Random) -> str:
        told_order_is_correct = worked(problem.start, problem.told_steps)[-1] == int(problem.answer)
        routes = {route: w for route, w in ROUTES.items() if route == "by name" or told_order_is_correct}
        return write_answer(problem, pick(rng, routes), rng)

    def pieces(self) -> list[str]:
        starts = [*OPENERS.values(), "\\boxed{"]  # possible starts of an answer
        numbers = [str(n) for n in range(LARGEST + 1)]
        words = ["is", "What is", "wait", "answer", *OPERATORS, *OPERATORS.values(), "="]
        words += dict.fromkeys([*starts, *(word for words in STEP_WORDS.values() for word in words)])
        spaced = [*words, *NAMES, *numbers]
        return [*(" " + piece for piece in spaced), *starts, *NAMES, *numbers, ".", "?", "}"]


FAMILY = Chain()
