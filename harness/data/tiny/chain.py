"""The first tiny problem family: a chain of letters in short sentences, with the strategies that a base model mixes.

A problem and, for it, each strategy (``ROUTES``: how the chain is searched) and each finish (``FINISHES``: how well):

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

Supervised answers sample route and finish (``ROUTES``, ``FINISHES``) without looking at the problem: this leaves
reinforcement learning something to choose, and a policy that collapses onto told order loses pass@k on ``tiny_rare``.
Numbers stay within 0..50. Standard library only; every random choice takes a ``random.Random``.
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
FINISHES = {
    "told order": {"right": 0.47, "mended": 0.08, "guess": 0.14, "stop": 0.13, "slip": 0.09, "no box": 0.09},
    "by name": {"right": 0.39, "mended": 0.07, "guess": 0.16, "stop": 0.17, "slip": 0.12, "no box": 0.09},
}
OPENERS = {"told order": "so", "by name": "first"}  # one word each: the choice of route is the first token
STEP_WORDS = {"told order": ("so", "then"), "by name": ("now", "next")}

Step = tuple[str, int]  # operator and number, such as ("+", 5)

PRACTICE_ROUTES = {"told order": 0.4, "by name": 0.6}


@dataclass(frozen=True)
class Problem:
    """``names[0]`` is ``start``; ``names[i+1]`` is ``steps[i]`` applied to ``names[i]``; the last name is asked for."""

    start: int
    steps: tuple[Step, ...]
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
    def told_steps(self) -> tuple[Step, ...]:
        """The steps in the order in which the sentences tell them."""
        return self.steps[::-1] if self.backwards else self.steps

    @property
    def canonical(self) -> str:
        """The arithmetic alone: two problems that differ in names or in the order of telling are the same."""
        return f"{self.start} " + " ".join(f"{operator}{number}" for operator, number in self.steps)


def apply(value: int, step: Step) -> int:
    """One step: ``apply(7, ("+", 5)) == 12``."""
    operator, number = step
    return {"+": value + number, "-": value - number, "*": value * number}[operator]


def worked(start: int, steps: tuple[Step, ...]) -> list[int]:
    """The value after each step."""
    values, value = [], start
    for step in steps:
        value = apply(value, step)
        values.append(value)
    return values


def in_range(values: list[int]) -> bool:
    return all(0 <= value <= LARGEST for value in values)


def sample_problem(rng: random.Random, n_steps: int, backwards: bool) -> Problem:
    """A problem whose numbers stay within 0..50; told backwards, told order gives another number within 0..50."""
    names = tuple(rng.sample(NAMES, n_steps + 1))
    while True:
        operators = [rng.choice("+-*") for _ in range(n_steps)]
        steps = tuple((operator, rng.choice(FACTORS[operator])) for operator in operators)
        problem = Problem(rng.randint(2, 12), steps, names, backwards)
        values, in_told_order = worked(problem.start, steps), worked(problem.start, problem.told_steps)
        if in_range(values) and in_range(in_told_order) and (values[-1] != in_told_order[-1]) == backwards:
            return problem


def possible_slips(start: int, steps: tuple[Step, ...]) -> list[tuple[int, int]]:
    """Every (step index, incorrect value): off by one or by ten, such that the following values stay within 0..50.

    Never empty for a chain within 0..50: at the last step, one of value - 1 and value + 1 is in range.
    """
    return [
        (i, value + error)
        for i, value in enumerate(worked(start, steps))
        for error in (-10, -1, 1, 10)
        if in_range([value + error, *worked(value + error, steps[i + 1 :])])
    ]


def write_answer(problem: Problem, route: str, finish: str, rng: random.Random) -> str:
    """The answer that a strategy writes for a problem; ``rng`` chooses the step words and the slips."""
    by_name = route == "by name"
    steps = problem.steps if by_name else problem.told_steps
    if finish == "guess":
        return f"\\boxed{{{worked(problem.start, steps)[-1]}}}"
    if finish == "stop":
        steps = steps[:-1]
    slip_at, wrong = rng.choice(possible_slips(problem.start, steps)) if finish in ("slip", "mended") else (None, 0)

    words = [f"{OPENERS[route]} {problem.start} is {problem.names[0]}"] if by_name else []
    value = problem.start
    for i, step in enumerate(steps):
        result = apply(value, step)
        word = rng.choice(STEP_WORDS[route]) if words else OPENERS[route]
        left = f"{value} {step[0]} {step[1]}"
        named = f" is {problem.names[i + 1]}" if by_name else ""
        if i == slip_at:
            words.append(f"{word} {left} = {wrong}{named}")
            if finish == "slip":
                value = wrong
                continue
            word = "wait"
        words.append(f"{word} {left} = {result}{named}")
        value = result
    words.append(f"answer {value}" if finish == "no box" else f"\\boxed{{{value}}}")
    return " ".join(words)


class Chain(Family[Problem]):
    """The family "tiny"; the rare shape is told backwards."""

    SEED = NAME = "tiny"
    SUPERVISED_SHAPES: ClassVar = {(n, backwards): 1.0 for n in (2, 3, 4) for backwards in (False, True)}
    TRAIN_SHAPES: ClassVar = {(2, False): 0.32, (3, False): 0.37, (4, False): 0.31}
    RARE = (3, True)
    EVAL_SHAPES: ClassVar = {"tiny_short": (2, False), "tiny_long": (4, False), "tiny_rare": RARE}

    def sample_problem(self, rng: random.Random, length: int, rare: bool) -> Problem:
        return sample_problem(rng, length, rare)

    def practice_answer(self, problem: Problem, rng: random.Random) -> str:
        return write_answer(problem, pick(rng, PRACTICE_ROUTES), "right", rng)

    def mixture_answer(self, problem: Problem, rng: random.Random) -> str:
        route = pick(rng, ROUTES)
        return write_answer(problem, route, pick(rng, FINISHES[route]), rng)

    def solution(self, problem: Problem, rng: random.Random) -> str:
        told_order_is_correct = worked(problem.start, problem.told_steps)[-1] == int(problem.answer)
        routes = {route: w for route, w in ROUTES.items() if route == "by name" or told_order_is_correct}
        return write_answer(problem, pick(rng, routes), "right", rng)

    def pieces(self) -> list[str]:
        starts = [*OPENERS.values(), "\\boxed{"]  # possible starts of an answer
        numbers = [str(n) for n in range(LARGEST + 1)]
        words = ["is", "What is", "wait", "answer", *OPERATORS, *OPERATORS.values(), "="]
        words += dict.fromkeys([*starts, *(word for words in STEP_WORDS.values() for word in words)])
        spaced = [*words, *NAMES, *numbers]
        return [*(" " + piece for piece in spaced), *starts, *NAMES, *numbers, ".", "?", "}"]


FAMILY = Chain()
