"""Reported scores that are not the average of their labels: what of n and k explains them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.answer_files.formats import samples_named
from evals.answer_files.ledger import counting

IDS = ["a", "a", "b", "b", "c", "c", "d", "d"]
LABELS = [True, False, False, False, False, True, True, True]
# averages 1/2, 0, 1/2, 1: 50; any: 3 of 4; first: 2 of 4, which is 50 too


@pytest.mark.parametrize(
    ("reported", "metric", "expected"),
    [
        (50.0, None, None),
        (50.04, "pass@1:4_samples", None),  # rounding
        (75.0, None, "n and k: pass@2, not the average"),
        (25.0, "math_pass@1:4_samples", "n and k: divided by n = 4, with 2 samples a problem"),
        (25.0, None, None),  # no name says n: nothing is guessed
        (25.0, "pass@1:2_samples", None),
        (60.0, "pass@1:4_samples", None),
    ],
)
def test_each_way_of_counting_samples_is_recognised(reported: float, metric: str | None, expected: str | None) -> None:
    assert counting(reported, IDS, LABELS, metric) == expected


def test_the_first_samples_alone() -> None:
    labels = [True, False, True, False, False, False, False, True]  # averages 1/2, 1/2, 0, 1/2: 37.5; any 75; first 50
    assert counting(50.0, IDS, labels) == "n and k: the first of 2 samples alone"
    assert counting(50.0, IDS[:-1], labels[:-1]) is None  # not the same number of samples in each problem


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.integers(2, 64))
def test_one_sample_a_problem_has_only_the_division(labels: list[bool], n: int) -> None:
    ids = [str(i) for i in range(len(labels))]
    average = 100 * sum(labels) / len(labels)
    assert counting(average, ids, labels, f"pass@k:k=1&n={n}") is None
    count = counting(average / n, ids, labels, f"pass@k:k=1&n={n}")
    assert (count is None) == (average - average / n <= 0.05)


def test_n_is_read_from_the_name_of_a_metric() -> None:
    names = {"pass@k:k=1&n=4": 4, "math_pass@1:16_samples": 16, "avg@n:n=8": 8, "pass@1_answer_tag": None, "acc": None}
    assert {name: samples_named(name) for name in names} == names
