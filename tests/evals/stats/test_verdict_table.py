"""Each metric against the enumeration of all k-subsets, in exact fractions, and against what it must satisfy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.stats.verdict_table import VerdictTable, maj_of_votes, pass_at_k, unsolvable_at_k

Answers = tuple[list[int | None], list[bool], int]


def mean_over_subsets(n: int, k: int, share_won: Callable[[Sequence[int]], Fraction | int]) -> Fraction:
    """The definition: the mean of what each k-subset of 0..n-1 is worth."""
    return Fraction(sum(Fraction(share_won(subset)) for subset in combinations(range(n), k)), comb(n, k))


def share_of_majority(classes: Sequence[int | None], right: int, subset: Sequence[int]) -> Fraction:
    votes = Counter(classes[i] for i in subset if classes[i] is not None)
    most = max(votes.values(), default=0)
    winners = [answer for answer, count in votes.items() if count == most]
    return Fraction(int(right in winners), max(1, len(winners)))


@st.composite
def counts(draw: st.DrawFn) -> tuple[int, int, int]:
    n = draw(st.integers(1, 9))
    return n, draw(st.integers(0, n)), draw(st.integers(1, n))


@st.composite
def answers(draw: st.DrawFn) -> Answers:
    """Up to 8 samples in up to 4 classes or none. Class 1 is the right one."""
    classes = draw(st.lists(st.sampled_from([None, 1, 2, 3, 4]), min_size=1, max_size=8))
    return classes, [a == 1 for a in classes], draw(st.integers(1, len(classes)))


def table(correct: Sequence[bool], classes: Sequence[int | None]) -> VerdictTable:
    """The table of one problem."""
    import pandas as pd

    frame = pd.DataFrame({"sample": range(len(correct)), "verdict": ["correct" if c else "wrong" for c in correct]})
    frame["answer_class"] = pd.Series(list(classes), dtype=object)
    return VerdictTable.of_rows(frame.assign(problem_id="p", boxed=True))


def maj_at_k(classes: Sequence[int | None], correct: Sequence[bool], k: int) -> float:
    votes = Counter(a for a, c in zip(classes, correct, strict=True) if a is not None and not c)
    return maj_of_votes(len(classes), sum(correct), tuple(sorted(votes.values())), k)


@given(counts())
def test_pass_and_unsolvable_are_means_over_subsets(ncks: tuple[int, int, int]) -> None:
    n, c, k = ncks
    assert pass_at_k(n, c, k) == float(mean_over_subsets(n, k, lambda s: any(i < c for i in s)))
    assert unsolvable_at_k(n, c, k) == float(mean_over_subsets(n, k, lambda s: not any(i < c for i in s)))


@pytest.mark.parametrize("k", [1, 2, 320, 639, 640])
def test_pass_is_exact_with_640_samples(k: int) -> None:
    # one correct sample: it is in the k-subset with probability k/n
    assert pass_at_k(640, 1, k) == k / 640
    assert unsolvable_at_k(640, 1, k) == (640 - k) / 640


@pytest.mark.parametrize("metric", [pass_at_k, unsolvable_at_k])
def test_impossible_counts_are_refused(metric: Callable[[int, int, int], float]) -> None:
    with pytest.raises(ValueError, match="k = 5 with n = 4"):
        metric(4, 1, 5)
    with pytest.raises(ValueError, match="k = 0"):
        metric(4, 1, 0)
    with pytest.raises(ValueError, match="c = 5 with n = 4"):
        metric(4, 5, 1)


@given(answers())
def test_maj_is_a_mean_over_subsets(case: Answers) -> None:
    classes, correct, k = case
    slow = mean_over_subsets(len(classes), k, lambda s: share_of_majority(classes, 1, s))
    assert maj_at_k(classes, correct, k) == pytest.approx(float(slow), rel=1e-12, abs=1e-15)


@given(answers(), st.randoms())
def test_maj_ignores_order_and_names(case: Answers, random: object) -> None:
    classes, correct, k = case
    order = list(range(len(classes)))
    random.shuffle(order)  # type: ignore[attr-defined]
    renamed = [None if classes[i] is None else 100 - classes[i] for i in order]
    assert maj_at_k(renamed, [correct[i] for i in order], k) == pytest.approx(maj_at_k(classes, correct, k), rel=1e-12)


def test_maj_splits_ties_and_missing_answers_have_no_vote() -> None:
    right = [True, False, False, False]
    # all four: 1, 2, 3 have a vote each, the sample without an answer has none: a third
    assert maj_at_k([1, 2, 3, None], right, 4) == pytest.approx(1 / 3)
    # pairs of (1, 2, None, None): {1,2} is 1/2. {1,-} twice is 1. {2,-} twice and {-,-} are 0: (1/2 + 2)/6
    assert maj_at_k([1, 2, None, None], right, 2) == pytest.approx(5 / 12)
    assert maj_at_k([None, None], [False, False], 2) == 0.0
    assert maj_at_k([2, 2, 3], [False, False, False], 2) == 0.0


@pytest.mark.parametrize("k", [1, 2, 7, 320, 639, 640])
def test_maj_with_640_samples_is_fair_between_equal_classes(k: int) -> None:
    # ten classes of 64 each: by symmetry each wins a tenth of the subsets
    classes = [i % 10 for i in range(640)]
    assert maj_at_k(classes, [a == 0 for a in classes], k) == pytest.approx(0.1, rel=1e-11)


@pytest.mark.parametrize(
    ("classes", "correct", "message"),
    [
        ([1, 2], [True, True], r"one answer class may be correct, got \[1, 2\]"),
        ([1, 1], [True, False], "class 1 is correct in one sample and not in another"),
        ([None, 1], [True, False], "a correct sample must have an answer class"),
    ],
)
def test_maj_refuses_contradictions(classes: list[int | None], correct: list[bool], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        table(correct, classes).values("maj", 1)
