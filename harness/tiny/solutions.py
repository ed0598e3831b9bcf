"""Right solutions of the tiny training problems: what supervised fine-tuning learns from."""

from __future__ import annotations

import random
from itertools import islice

from harness.tiny import problems


def train_solutions(n: int, seed: int) -> list[dict[str, str]]:
    """The problems of ``problems.train_problems(n, seed)``, each with a right solution: `id`, `problem`, `solution`.

    The route is drawn as in the base model's mixture from those that are right for the problem: by name always is,
    told order is for a chain told in order.
    """
    if n < 1:
        raise ValueError(f"n: got {n}, expected at least 1")
    words = random.Random(f"tiny solutions {seed}")
    drawn = problems.draws(random.Random(f"tiny train {seed}"), "train", problems.TRAIN_SHAPES)
    return [
        {"id": f"tiny_train_{seed}_{i}", "problem": problem.text, "solution": write_solution(problem, words)}
        for i, problem in enumerate(islice(drawn, n))
    ]


def write_solution(problem: problems.Problem, rng: random.Random) -> str:
    """A right solution with every step written out."""
    told_order_is_right = problems.worked(problem.start, problem.told_steps)[-1] == int(problem.answer)
    routes = {route: w for route, w in problems.ROUTES.items() if route == "by name" or told_order_is_right}
    return problems.write_answer(problem, problems.pick(rng, routes), "right", rng)
