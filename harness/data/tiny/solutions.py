"""Right solutions of the tiny training problems: what supervised fine-tuning learns from."""

from __future__ import annotations

import random

from harness.data.tiny import problems


def train_solutions(n: int, seed: int, *, backwards: float = 0.05) -> list[dict[str, str]]:
    """The problems of ``problems.train_problems`` with the same arguments, each with a right solution: rows of ``id``,
    ``problem``, ``solution``.

    The route is drawn as in the base model's mixture from those that are right for the problem: by name always is,
    told order is for a chain told in order.
    """
    told = problems.train_problems(n, seed, backwards=backwards)
    shapes = {shape: weight * (1 - backwards) for shape, weight in problems.TRAIN_SHAPES.items()}
    drawn = problems.draws(random.Random(f"tiny train {seed}"), "train", {**shapes, problems.BACKWARDS: backwards})
    words = random.Random(f"tiny solutions {seed}")
    rows = []
    for row, problem in zip(told, drawn, strict=False):  # the draws are endless
        if row["problem"] != problem.text:
            raise RuntimeError(f"{row['id']}: the problem drawn here is not that of train_problems: {problem.text!r}")
        rows.append({"id": row["id"], "problem": problem.text, "solution": write_solution(problem, words)})
    return rows


def write_solution(problem: problems.Problem, rng: random.Random) -> str:
    """A right solution with every step written out."""
    told_order_is_right = problems.worked(problem.start, problem.told_steps)[-1] == int(problem.answer)
    routes = {route: w for route, w in problems.ROUTES.items() if route == "by name" or told_order_is_right}
    return problems.write_answer(problem, problems.pick(rng, routes), "right", rng)
