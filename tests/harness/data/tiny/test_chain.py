"""The family: arithmetic redone from the sentences, what each strategy writes, and the split."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.data.tiny import chain
from harness.data.tiny.chain import FAMILY
from harness.data.tiny.problem_family import EVAL_SIZE

shapes = st.tuples(st.integers(2, 4), st.booleans())
seeds = st.integers(0, 10**6)


def facts(text: str) -> dict[str, list[str]]:
    """The meaning of each name, read off the sentences: "K plus 5 is B" gives B: [K, plus, 5]."""
    sides = (sentence.strip().split(" is ") for sentence in text.split(".")[:-1])
    return {right if left.count(" ") else left: (left if left.count(" ") else right).split() for left, right in sides}


def asked_name(text: str) -> str:
    return text.removesuffix("?").split()[-1]


def solved_from_sentences(text: str) -> int:
    """Independent of the module: look up what is asked for, and so back, by the sentences alone."""
    known = facts(text)

    def value(name: str) -> int:
        if len(known[name]) == 1:
            return int(known[name][0])
        other, operator, number = known[name]
        combine = {"plus": int.__add__, "minus": int.__sub__, "times": int.__mul__}
        return combine[operator](value(other), int(number))

    return value(asked_name(text))


def boxed(answer: str) -> str | None:
    boxes = re.findall(r"\\boxed\{(\d+)\}", answer)
    return boxes[-1] if boxes else None


def equations(answer: str) -> list[bool]:
    """For every "a op b = c" of the answer, whether it holds."""
    combine = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}
    parts = re.findall(r"(\d+) ([-+*]) (\d+) = (\d+)", answer)
    return [combine[op](int(a), int(b)) == int(c) for a, op, b, c in parts]


@given(shapes, seeds)
def test_answer_is_what_the_sentences_say(shape: tuple[int, bool], seed: int) -> None:
    problem = chain.sample_problem(random.Random(seed), *shape)
    assert int(problem.answer) == solved_from_sentences(problem.text)
    assert 0 <= int(problem.answer) <= chain.LARGEST


def arithmetic(text: str) -> str:
    """A problem's numbers and operators, from the asked name backwards, without the names."""
    known, name, chain = facts(text), asked_name(text), []
    while len(known[name]) > 1:
        name, operator, number = known[name]
        chain.append(f"{operator} {number}")
    return " ".join([*chain, *known[name]])


def test_what_is_served_is_disjoint_too() -> None:
    """The same on the served texts, by a key that is read off the sentences and not the one the split hashes."""
    evaluation = {arithmetic(row["problem"]) for tier in FAMILY.EVAL_SHAPES for row in FAMILY.eval_problems(tier)}
    train = {arithmetic(row["problem"]) for row in FAMILY.train_problems(3000, seed=0)}
    assert not evaluation & train


@pytest.mark.parametrize("tier", FAMILY.EVAL_SHAPES)
def test_a_tier_has_distinct_problems_whose_answers_follow_from_the_sentences(tier: str) -> None:
    rows = FAMILY.eval_problems(tier)
    assert rows == FAMILY.eval_problems(tier)
    assert len(rows) == EVAL_SIZE == len({arithmetic(row["problem"]) for row in rows})
    assert [row["id"] for row in rows] == [f"{tier}_{i}" for i in range(len(rows))]
    assert all(int(row["answer"]) == solved_from_sentences(row["problem"]) for row in rows)
    n_steps, _ = FAMILY.EVAL_SHAPES[tier]
    assert all(row["problem"].count(".") == n_steps + 1 for row in rows)


def test_train_problems_depend_on_the_seed_alone() -> None:
    rows = FAMILY.train_problems(50, seed=1)
    assert rows == FAMILY.train_problems(60, seed=1)[:50]
    assert [row["problem"] for row in rows] != [row["problem"] for row in FAMILY.train_problems(50, seed=2)]
    assert all(int(row["answer"]) == solved_from_sentences(row["problem"]) for row in rows)


def test_validation_shares_no_arithmetic_with_evaluation_and_has_every_tier_alike() -> None:
    validation = FAMILY.validation_problems()
    evaluation = {arithmetic(row["problem"]) for tier in FAMILY.EVAL_SHAPES for row in FAMILY.eval_problems(tier)}
    of_validation = {arithmetic(row["problem"]) for row in validation}
    assert len(of_validation) == len(validation) == EVAL_SIZE
    assert not of_validation & evaluation
    steps = [row["problem"].count(" is ") for row in validation]  # start, steps, question
    assert [steps.count(n) for n in (4, 5, 6)] == [16, 16, 16]
