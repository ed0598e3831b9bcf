"""Countdown: the reward accepts what solves a problem and nothing else. The generator's splits are disjoint."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.code_execution.program_grader import RewardGrader
from evals.data import protocols
from evals.errors import UsageError
from evals.provenance import Origin
from harness.data.countdown import problems, reward, value, write
from harness.step import own_rewards


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        ("(3 + 5) * 7", 0.0),  # 56
        ("3 * 7 + 5", 1.0),
        ("5 + 7 \\times 3", 1.0),
        ("3*7+5=26", 1.0),  # what follows the equals sign does not count
        ("26", 0.0),  # not a given number
        ("3 * 7 + 5 + 5 - 5", 0.0),  # 5 is given once
        ("7 * 3 + 5 + 0", 0.0),  # 0 is not given
        ("13 * 2", 0.0),
        ("-(-26)", 0.0),
        ("3 ** 3 - 1", 0.0),
        ("__import__('os').system('true')", 0.0),
        ("7 / (5 - 5)", 0.0),
        ("(" * 5000, 0.0),
        ("3 * 7 + 5.0", 0.0),
        ("True + 25", 0.0),
        ("", 0.0),
    ],
)
def test_a_box_is_right_only_if_it_makes_the_target_from_the_given_numbers(box: str, expected: float) -> None:
    assert reward(f"so \\boxed{{{box}}}", "3 5 7 = 26") == expected


def test_the_last_box_counts_and_an_answer_of_another_form_is_not_scored() -> None:
    assert reward("\\boxed{1} then \\boxed{3*7+5}", "3 5 7 = 26") == 1.0
    assert reward("\\boxed{3*7+5} or \\boxed{1}", "3 5 7 = 26") == 0.0
    assert reward("no box", "3 5 7 = 26") == 0.0
    assert reward("\\boxed{3*7+5}", "26") is None
    own_rewards.check("harness.data.countdown:reward")


def test_an_evaluation_takes_its_verdicts_from_the_reward() -> None:
    rows = [
        ("3 5 7 = 26", "\\boxed{3 * 7 + 5}", "stop"),
        ("3 5 7 = 26", "\\boxed{3 + 5 + 7}", "stop"),
        ("3 5 7 = 26", "I do not know", "stop"),
        ("3 5 7 = 26", "3 * 7 is", "length"),
        ("26", "\\boxed{26}", "stop"),
    ]
    with RewardGrader() as grader:
        grades = grader.grade_responses(rows, "harness.data.countdown:reward")
        classes = grader.answer_classes([grade.answer for grade in grades], grades)
    assert [grade.verdict for grade in grades] == ["correct", "wrong", "no_answer", "truncated", "unscored"]
    assert [grade.answer for grade in grades] == ["3 * 7 + 5", "3 + 5 + 7", None, None, "26"]
    assert classes == [0, 1, None, None, None]
    how = protocols.get("sampled")
    assert (
        how.override({"extraction": "harness.data.countdown:reward"}, Origin.USER, "a test").benchmarks
        == how.benchmarks
    )
    with pytest.raises(ValueError, match=r"extraction=harness.data.countdown:rewards: .* has no attribute 'rewards'"):
        how.override({"extraction": "harness.data.countdown:rewards"}, Origin.USER, "a test")


@given(st.lists(st.integers(1, 9), min_size=3, max_size=3), st.tuples(*[st.sampled_from("+-*/")] * 2), st.booleans())
def test_the_value_is_that_of_fractions(numbers: list[int], signs: tuple[str, str], right: bool) -> None:
    a, b, c = map(Fraction, numbers)
    apply = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "/": lambda x, y: x / y}
    first, second = (apply[sign] for sign in signs)
    try:
        want = first(a, second(b, c)) if right else second(first(a, b), c)
    except ZeroDivisionError:
        want = None
    x, y, z = numbers
    text = f"{x} {signs[0]} ({y} {signs[1]} {z})" if right else f"({x} {signs[0]} {y}) {signs[1]} {z}"
    got = value(text)
    assert (None if got is None else got[0]) == want


def test_every_problem_is_solved_by_its_solution_and_by_search_and_the_splits_share_none(tmp_path: Path) -> None:
    test, train = (
        [json.loads(line) for line in path.read_text().splitlines()] for path in write(tmp_path, seed=3, rows=300)
    )
    assert (len(test), len(train)) == (200, 300)
    assert not {row["problem"] for row in test} & {row["problem"] for row in train}
    for row in test[:40]:
        assert reward(row["solution"], row["answer"]) == 1.0
        numbers, _, target = row["answer"].partition(" = ")
        forms = ("{} {} {} {} {}", "({} {} {}) {} {}")
        texts = (
            form.format(x, s, y, t, z)
            for x, y, z in permutations(numbers.split())
            for s, t in product("+-*/", repeat=2)
            for form in forms
        )
        assert any((made := value(text)) is not None and made[0] == int(target) for text in texts)
    assert problems(50, seed=3) == problems(50, seed=3) != problems(50, seed=4)
    with pytest.raises(ValueError, match="rows: expected at most"):
        problems(500, seed=0, numbers=2, largest=3)


def test_a_number_of_rows_that_the_message_gives_is_accepted(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"beside 200 to measure with, got 5000") as error:
        write(tmp_path, numbers=2, largest=15, rows=5000)
    most = int(str(error.value).partition("at most ")[2].split()[0])
    assert len(write(tmp_path, numbers=2, largest=15, rows=most)) == 2
