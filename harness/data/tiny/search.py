r"""The second tiny problem family: find the signs that make an equation true, by trying them (countdown-like search).

    Signs of 3 ? 5 ? 2 = 13?            + is 1, - is 2, * is 3; worked from left to right; one answer is correct

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

Supervised answers sample route and finish without looking at the problem, which leaves reinforcement learning
something to choose. Standard library only; every random choice takes a ``random.Random``.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product

from harness.data.tiny.chain import LARGEST, apply, in_range, pick, row

SIGNS = "+-*"
CODES = {sign: str(i) for i, sign in enumerate(SIGNS, 1)}

ROUTES = {"in turn": 0.5, "at random": 0.5}
FINISHES = {"found": 0.30, "give up": 0.28, "guess": 0.16, "false": 0.15, "no box": 0.11}

Signs = tuple[str, ...]
Shape = tuple[int, bool]
"""How many signs, and whether the first one is * (the case that ``in turn`` reaches last)."""

SUPERVISED_SHAPES: dict[Shape, float] = {(1, False): 1.0, (1, True): 0.5, (2, False): 2.0, (2, True): 1.5}
TRAIN_SHAPES: dict[Shape, float] = {(1, False): 0.35, (2, False): 0.65}
RARE: Shape = (2, True)
VALIDATION = "search_validation"
EVAL_SHAPES: dict[str, Shape] = {"search_short": (1, False), "search_long": (2, False), "search_rare": RARE}
EVAL_SIZE = 48


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


def code(signs: Signs) -> str:
    """The answer for signs: one digit per sign, such as "32" for * and -."""
    return "".join(CODES[sign] for sign in signs)


def attempt(numbers: tuple[int, ...], signs: Signs) -> tuple[str, int | None]:
    """(what a try says, its value): ``("3 + 5 = 8 + 2 = 10", 10)``; the value is None once it leaves 0..50."""
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


def write_answer(problem: Problem, route: str, finish: str, rng: random.Random) -> str:
    """The answer that a strategy writes; ``rng`` orders the tries and chooses where a finish stops.

    Raises:
        ValueError: ``route`` is not in ``ROUTES`` or ``finish`` is not in ``FINISHES``.
    """
    if route not in ROUTES:
        raise ValueError(f"route: got {route!r}, expected one of {list(ROUTES)}")
    if finish not in FINISHES:
        raise ValueError(f"finish: got {finish!r}, expected one of {list(FINISHES)}")
    order = list(product(SIGNS, repeat=len(problem.signs)))
    if finish == "guess":
        return f"\\boxed{{{code(rng.choice(order))}}}"
    if route == "at random":
        rng.shuffle(order)
    tries = order[: order.index(problem.signs) + 1]
    failed = len(tries) - 1
    if finish in ("give up", "false") and failed:
        tries = tries[: rng.randint(1, min(failed, 3))]  # otherwise the first try is correct
    words = [f"try {attempt(problem.numbers, signs)[0]} no" for signs in tries]
    if finish == "false" or tries[-1] == problem.signs:
        words[-1] = words[-1].removesuffix("no") + "yes"
    last = code(tries[-1])
    return " ".join([*words, f"signs {last}" if finish == "no box" else f"\\boxed{{{last}}}"])


def split_of(problem: Problem) -> str:
    """``"eval"``, ``"train"`` or ``"supervised"``, by a hash of the equation: disjoint for all seeds."""
    bucket = hashlib.sha256(problem.text.encode()).digest()[0]
    if bucket < 64:
        return "eval"
    return "train" if bucket < 160 else "supervised"


def sample_problems(rng: random.Random, split: str, shapes: dict[Shape, float]) -> Iterator[Problem]:
    """Endless problems of one split, their shape sampled by the weights of ``shapes``."""
    while True:
        problem = sample_problem(rng, *pick(rng, shapes))
        if split_of(problem) == split:
            yield problem


def practice_pairs(seed: int) -> Iterator[tuple[str, str]]:
    """Endless (problem, answer text) pairs to learn the steps: either route, always until the answer is found."""
    rng = random.Random(f"tiny search practice {seed}")
    for problem in sample_problems(rng, "supervised", SUPERVISED_SHAPES):
        yield problem.text, write_answer(problem, pick(rng, ROUTES), "found", rng)


def supervised_pairs(seed: int) -> Iterator[tuple[str, str]]:
    """Endless (problem, answer text) pairs that make the base model: the mixture of ``ROUTES`` and ``FINISHES``."""
    rng = random.Random(f"tiny search supervised {seed}")
    for problem in sample_problems(rng, "supervised", SUPERVISED_SHAPES):
        yield problem.text, write_answer(problem, pick(rng, ROUTES), pick(rng, FINISHES), rng)


def train_problems(n: int, seed: int, *, rare: float = 0.05) -> list[dict[str, str]]:
    """``n`` problems for reinforcement learning: rows of ``id``, ``problem``, ``answer``.

    Args:
        rare: the share whose first sign is *, in [0, 1].
    Raises:
        ValueError: ``n`` < 1, or ``rare`` outside [0, 1].
    """
    return [
        row(f"search_train_{seed}_{i}", problem.text, problem.answer) for i, problem in enumerate(_train(n, seed, rare))
    ]


def train_solutions(n: int, seed: int, *, rare: float = 0.05) -> list[dict[str, str]]:
    """The problems of ``train_problems``, each with a correct solution: rows of ``id``, ``problem``, ``solution``."""
    words = random.Random(f"tiny search solutions {seed}")
    return [
        {
            "id": f"search_train_{seed}_{i}",
            "problem": problem.text,
            "solution": write_answer(problem, pick(words, ROUTES), "found", words),
        }
        for i, problem in enumerate(_train(n, seed, rare))
    ]


def _train(n: int, seed: int, rare: float) -> Iterator[Problem]:
    if n < 1:
        raise ValueError(f"n: got {n}, expected at least 1")
    if not 0 <= rare <= 1:
        raise ValueError(f"rare: got {rare}, expected a share in [0, 1]")
    shapes = {shape: weight * (1 - rare) for shape, weight in TRAIN_SHAPES.items()} | {RARE: rare}
    return islice(sample_problems(random.Random(f"tiny search train {seed}"), "train", shapes), n)


def eval_problems(tier: str) -> list[dict[str, str]]:
    """The ``EVAL_SIZE`` distinct problems of a tier, always the same.

    Raises:
        ValueError: ``tier`` is not one of ``EVAL_SHAPES``.
    """
    if tier not in EVAL_SHAPES:
        raise ValueError(f"tier: got {tier!r}, expected one of {list(EVAL_SHAPES)}")
    problems = _distinct(f"tiny search eval {tier}", tier, EVAL_SIZE).values()
    return [row(f"{tier}_{i}", problem.text, problem.answer) for i, problem in enumerate(problems)]


def validation_problems() -> list[dict[str, str]]:
    """``EVAL_SIZE`` more problems, tiers in turn, none of them an evaluation problem: settings are tuned on them."""
    used = {text for tier in EVAL_SHAPES for text in _distinct(f"tiny search eval {tier}", tier, EVAL_SIZE)}
    chosen: dict[str, Problem] = {}
    each = EVAL_SIZE // len(EVAL_SHAPES)
    for tier in EVAL_SHAPES:
        chosen.update(_distinct(f"tiny search validation {tier}", tier, each, frozenset(used | chosen.keys())))
    return [row(f"{VALIDATION}_{i}", problem.text, problem.answer) for i, problem in enumerate(chosen.values())]


def _distinct(seed: str, tier: str, size: int, used: frozenset[str] = frozenset()) -> dict[str, Problem]:
    """The first ``size`` different problems of a tier that are not in ``used``, by their text."""
    distinct: dict[str, Problem] = {}
    for problem in sample_problems(random.Random(seed), "eval", {EVAL_SHAPES[tier]: 1.0}):
        if problem.text not in used:
            distinct.setdefault(problem.text, problem)
        if len(distinct) == size:
            break
    return distinct


def pieces() -> list[str]:
    """Every word, sign and number of the family, in the forms (with a space before it, without) that it has."""
    spaced = ["?", "=", *SIGNS, "try", "no", "yes", "out", "signs", "\\boxed{", *map(str, range(LARGEST + 1))]
    starts = ["Signs of", "try", "\\boxed{", "?", "}", *map(str, range(LARGEST + 1))]
    return [*(" " + piece for piece in spaced), *starts]
