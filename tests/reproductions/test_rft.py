"""Filters and selections of rejection-sampling fine-tuning: derived values and properties."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evals.grading.extraction import boxes
from harness.spec.rejection import Pool, Sample
from reproductions.trial_and_error import rft


def sample(response: str, *, correct: bool | None = True, h: float | None = None, b: float | None = None) -> Sample:
    return Sample("p", "?", response, correct, h, b)


@pytest.mark.parametrize(
    ("response", "kept"),
    [
        (r"so \boxed{4}", True),
        (r"so \fbox{4}", True),
        (r"so \boxed 4", True),
        (r"so \boxed{4", False),  # never closed
        (r"so \boxed{}", False),  # empty
        ("so 4", False),
        ("", False),
    ],
)
def test_a_box_must_be_complete_and_filled(response: str, kept: bool) -> None:
    assert (rft.has_box(sample(response)) is not None) is kept


def test_a_response_needs_a_digit() -> None:
    assert rft.has_digit(sample(r"\boxed{x}")) is None
    assert rft.has_digit(sample(r"\boxed{x_1}")) is not None


@pytest.mark.parametrize(
    ("response", "left"),
    [
        (r"so \boxed{4}. And \boxed{5}", r"so \boxed{4}"),
        (r"so \boxed{} then \boxed{\frac{1}{2}} done", r"so \boxed{} then \boxed{\frac{1}{2}}"),
        (r"so \boxed{\text{a \boxed{1}}} x", r"so \boxed{\text{a \boxed{1}}}"),  # the outer box is the answer
        (r"4 so \boxed {4} x", r"4 so \boxed {4}"),
        (r"so \boxed 4, yes", r"so \boxed 4"),
        ("no box 4", "no box 4"),
    ],
)
def test_what_follows_the_first_box_is_cut(response: str, left: str) -> None:
    cut = rft.cut_after_box(sample(response))
    assert cut is not None and cut.response == left


@example([r"\boxed ", r"\boxed ", r"\boxed{", r"\boxed ", "}"])  # the command inside the box is not a second box
@given(st.lists(st.sampled_from([r"\boxed{", r"\boxed ", r"\fbox{", "}", "{", "4", "x", " ", r"\frac", "\\", "."])))
def test_the_cut_response_ends_with_its_only_filled_box(pieces: list[str]) -> None:
    text = "".join(pieces)
    filled = [content for content in boxes(text) if content.strip()]
    cut = rft.cut_after_box(sample(text))
    assert cut is not None and text.startswith(cut.response)
    assert (rft.has_box(sample(text)) is not None) == bool(filled)
    if filled:
        assert [content for content in boxes(cut.response) if content.strip()][-1] == filled[0]
        again = rft.cut_after_box(cut)
        assert again is not None and again.response == cut.response


def test_the_limit_of_redundancy_itself_passes() -> None:
    # "a b c a b c": 3-grams abc, bca, cab, abc: 4, of which 3 distinct, 1 - 3/4
    at = sample("a b c a b c")
    assert rft.not_redundant(at, limit=0.25, measure="not_distinct") is at
    assert rft.not_redundant(at, limit=0.24, measure="not_distinct") is None


def pool(correct: int, incorrect: int, size: int, seed: int = 0) -> Pool:
    """Correct samples r0, r1, ... and incorrect w0, ...: with the number, entropy rises and branching falls."""
    made = [
        tuple(sample(f"{kind}{i}", correct=kind == "r", h=float(i), b=float(-i)) for i in range(count))
        for kind, count in (("r", correct), ("w", incorrect))
    ]
    return Pool(made[0], made[1], size, random.Random(seed))


def names(chosen: list[Sample]) -> list[str]:
    return [s.response for s in chosen]


def test_selections_by_hand() -> None:
    assert names(rft.select(pool(5, 5, 3), by="entropy", noise=0.0)) == ["r4", "r3", "r2"]
    assert names(rft.select(pool(5, 5, 3), by="branching", noise=0.0)) == ["r0", "r1", "r2"]
    # 40 % of 5 is 2 incorrect ones
    assert names(rft.select(pool(9, 9, 5), by="entropy", noise=0.4)) == ["r8", "r7", "r6", "w8", "w7"]
    # 5 % of 1100 is 55. With 300 correct ones, 5 % of the whole is 300 * 0.05 / 0.95 = 15.8 -> 16
    chosen = rft.select(pool(2000, 2000, 1100), by="random", noise=0.05)
    assert len(chosen) == 1100 and sum(s.correct is False for s in chosen) == 55
    chosen = rft.select(pool(300, 2000, 1100), by="random", noise=0.05)
    assert len(chosen) == 316 and sum(s.correct is False for s in chosen) == 16


@given(
    st.integers(0, 30),
    st.integers(0, 30),
    st.integers(1, 40),
    st.sampled_from(["random", "entropy", "branching"]),
    st.floats(0, 0.6),
    st.integers(0, 5),
)
def test_a_selection_takes_each_at_most_once_and_the_best_first(
    correct: int, incorrect: int, size: int, by: rft.Ranking, noise: float, seed: int
) -> None:
    given_ = pool(correct, incorrect, size, seed)
    chosen = rft.select(given_, by=by, noise=noise)
    assert len(set(names(chosen))) == len(chosen) <= size + 1  # the two parts are rounded apart
    assert names(rft.select(pool(correct, incorrect, size, seed), by=by, noise=noise)) == names(chosen)
    if noise == 0:
        assert len(chosen) == min(size, correct) and all(s.correct for s in chosen)
    if by != "random":
        score = (lambda s: s.mean_entropy) if by == "entropy" else (lambda s: s.mean_branching)
        for part in (given_.correct, given_.incorrect):
            inside = [score(s) for s in part if s in chosen]
            outside = [score(s) for s in part if s not in chosen]
            assert not inside or not outside or min(inside) >= max(outside)  # type: ignore[type-var]
