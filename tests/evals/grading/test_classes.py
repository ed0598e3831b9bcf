"""Classes of wrong answers: the same as by comparing all pairs, at a cost that grows with the number of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.grading import grader as module
from evals.grading.classes import COMPARED
from evals.grading.grader import Grade, Grader
from evals.grading.verdicts import Verdict


def by_pairs(answers: Sequence[str], same: Callable[[str, str], bool]) -> list[int]:
    """Each answer is of the first class whose first member it equals."""
    leaders: list[str] = []
    classes = []
    for answer in answers:
        class_number = next(
            (n for n, leader in enumerate(leaders) if leader == answer or same(leader, answer)), len(leaders)
        )
        leaders += [answer] * (class_number == len(leaders))
        classes.append(class_number)
    return classes


def classes_of(answers: Sequence[str]) -> list[int | None]:
    return Grader().answer_classes(answers, [Grade(Verdict.WRONG, answer) for answer in answers])


def modulo(number: int) -> Callable[..., bool]:
    """Texts are equal if their numbers are, modulo `number`."""
    return lambda first, second, *_: int(first) % number == int(second) % number


@pytest.mark.parametrize(
    "kind", [str, r"\frac{{{}}}{{7}}".format, "x^2+{}".format, r"\text{{word{}}}".format, "(1,{})".format]
)
def test_comparisons_grow_with_the_answers_and_not_with_their_square(
    kind: Callable[[int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = 0

    def different(*_: object) -> bool:
        nonlocal compared
        compared += 1
        return False

    monkeypatch.setattr(module, "outcome", different)
    for n in (50, 100, 200, 400):
        compared = 0
        assert classes_of([kind(i) for i in range(n)]) == list(range(n))
        assert compared <= COMPARED * n  # n (n - 1) / 2 are 79,800 for 400


@given(st.lists(st.integers(0, COMPARED - 1), max_size=60), st.integers(1, 7))
def test_few_different_texts_are_classed_as_by_pairs(numbers: list[int], number: int) -> None:
    answers = list(map(str, numbers))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "outcome", modulo(number))
        assert classes_of(answers) == by_pairs(answers, modulo(number))


@given(st.lists(st.integers(0, 60) | st.integers(0, 9), max_size=120), st.integers(1, 40))
def test_a_class_with_a_frequent_text_is_whole(numbers: list[int], number: int) -> None:
    """Among many different texts, two rare ones alone may stay apart: no class is larger than by pairs, and each with
    one of the most frequent texts is as large."""
    answers = list(map(str, numbers))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "outcome", modulo(number))
        class_numbers = classes_of(answers)
    frequent = {text for text, _ in Counter(answers).most_common(COMPARED)}
    whole = {int(text) % number for text in frequent}
    for i, first in enumerate(answers):
        for j, second in enumerate(answers[:i]):
            same = int(first) % number == int(second) % number
            assert class_numbers[i] != class_numbers[j] or same
            if same and (first == second or int(first) % number in whole):
                assert class_numbers[i] == class_numbers[j]
    assert sorted(set(class_numbers)) == list(range(len(set(class_numbers)))) and list(
        dict.fromkeys(class_numbers)
    ) == sorted(set(class_numbers))


def test_correct_answers_are_one_class_and_others_have_none() -> None:
    grades = [
        Grade(Verdict.WRONG, "7"),
        Grade(Verdict.CORRECT, "5"),
        Grade(Verdict.NO_ANSWER, None),
        Grade(Verdict.CORRECT, "10/2"),
        Grade(Verdict.WRONG, r"\frac{14}{2}"),
        Grade(Verdict.UNSCORED, "z", "size: x"),
        Grade(Verdict.WRONG, "8"),
    ]
    assert Grader().answer_classes([grade.answer for grade in grades], grades) == [0, 1, None, 1, 0, None, 2]
