"""The search family: every answer that it writes says what its finish promises. Splits are disjoint. One solution."""

from __future__ import annotations

import random
import re
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from harness.data.tiny import search
from harness.data.tiny.problem_family import EVAL_SIZE
from harness.data.tiny.search import FAMILY, ROUTES, Problem, attempt, solutions, write_answer

EXAMPLE = Problem((3, 5, 2), 13, ("*", "-"))
SHAPES = st.sampled_from(list(FAMILY.EVAL_SHAPES.values()))


def slow_value(numbers: tuple[int, ...], signs: tuple[str, ...]) -> int | None:
    """Python's own arithmetic, with brackets from the left. None once a value leaves 0..50."""
    text = str(numbers[0])
    for sign, number in zip(signs, numbers[1:], strict=True):
        text = f"({text}{sign}{number})"
        if not 0 <= eval(text) <= 50:
            return None
    return int(eval(text))


@given(st.integers(0, 10_000), SHAPES)
def test_problem_has_one_solution(seed: int, shape: tuple[int, bool]) -> None:
    problem = search.sample_problem(random.Random(seed), *shape)
    values = {signs: slow_value(problem.numbers, signs) for signs in product("+-*", repeat=len(problem.numbers) - 1)}
    assert [signs for signs, value in values.items() if value == problem.target] == [problem.signs]
    assert (problem.signs[0] == "*") == shape[1]
    for signs, value in values.items():
        assert attempt(problem.numbers, signs)[1] == value


def test_the_example_and_its_written_answers_by_hand() -> None:
    # 3 * 5 = 15, 15 - 2 = 13. * is 3 and - is 2
    assert EXAMPLE.text == "Signs of 3 ? 5 ? 2 = 13?"
    assert EXAMPLE.answer == "32"
    assert solutions((3, 5, 2), 13) == [("*", "-")]
    # in turn: ++ 10, +- 6, +* 16, then 3 - 5 leaves 0..50 three times, then ** would be last: *+ 17, *- 13
    assert write_answer(EXAMPLE, "in turn", random.Random(0)) == (
        "try 3 + 5 = 8 + 2 = 10 no try 3 + 5 = 8 - 2 = 6 no try 3 + 5 = 8 * 2 = 16 no "
        "try 3 - 5 out no try 3 - 5 out no try 3 - 5 out no "
        "try 3 * 5 = 15 + 2 = 17 no try 3 * 5 = 15 - 2 = 13 yes \\boxed{32}"
    )


@given(st.integers(0, 10_000), SHAPES, st.sampled_from(list(ROUTES)))
def test_an_answer_finds_the_signs(seed: int, shape: tuple[int, bool], route: str) -> None:
    rng = random.Random(seed)
    problem = search.sample_problem(rng, *shape)
    text = write_answer(problem, route, rng)
    tries = re.findall(r"try (.*?) (no|yes)", text)
    assert len(set(tries)) == len(tries) or "out" in text  # no try twice. Two may leave 0..50 at the same step
    assert len(tries) <= 3 ** len(problem.signs)
    for tried, verdict in tries[:-1]:
        assert verdict == "no" and not tried.endswith(f"= {problem.target}")
    assert tries[-1][1] == "yes" and tries[-1][0].endswith(f"= {problem.target}")
    assert re.findall(r"\\boxed\{(\d+)\}", text) == [problem.answer]


def test_splits_and_tiers_are_disjoint() -> None:
    evaluated = {row["problem"] for tier in FAMILY.EVAL_SHAPES for row in FAMILY.eval_problems(tier)}
    trained = {row["problem"] for row in FAMILY.train_problems(1500, seed=3)}
    assert len(evaluated) == 3 * EVAL_SIZE
    assert not evaluated & trained


def test_training_rows_depend_on_the_seed_and_end_in_their_answer() -> None:
    rows, solved = FAMILY.train_problems(200, seed=1), FAMILY.train_solutions(200, seed=1)
    assert rows == FAMILY.train_problems(200, seed=1) != FAMILY.train_problems(200, seed=2)
    assert [row["problem"] for row in solved] == [row["problem"] for row in rows]
    for row, solution in zip(rows, solved, strict=True):
        assert solution["solution"].endswith(f"yes \\boxed{{{row['answer']}}}")


def test_every_word_of_the_family_is_one_token() -> None:
    from harness.data.tiny.tokenizer import build_tokenizer

    tokenizer = build_tokenizer(FAMILY.pieces())
    # Signs of| 3| ?| 5| ?| 2| =| 13|?: 9. Try| 3| *| 5| =| 15| -| 2| =| 13| yes| \boxed{|32|}: 14
    assert len(tokenizer("Signs of 3 ? 5 ? 2 = 13?").input_ids) == 9
    assert len(tokenizer("try 3 * 5 = 15 - 2 = 13 yes \\boxed{32}").input_ids) == 14
    for row in FAMILY.train_solutions(200, seed=5):
        for text in (row["problem"], row["solution"]):
            assert tokenizer.decode(tokenizer(text).input_ids) == text
