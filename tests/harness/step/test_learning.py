"""Trainings without a signal: how much of them had one, and what is said of the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.step.learning import EQUAL, TRUNCATED, UNEQUAL_BOXES, UNSCORED, equal_text, mean_share, since, warnings


def points(*values: float) -> list[tuple[int, float]]:
    return list(enumerate(values, 1))


def test_the_share_is_the_mean_over_steps_and_seeds() -> None:
    # (1 + 0.5 + 0 + 1) / 4. A seed that has not begun counts for nothing
    assert mean_share([points(1.0, 0.5), points(0.0, 1.0), []]) == 0.625 and mean_share([[]]) is None
    assert equal_text([points(0.25, 0.37)]) == "31 % of the groups" and equal_text([[]]) is None


def test_from_which_step_on_every_group_was_constant() -> None:
    assert since([points(1.0, 0.5, 1.0, 1.0)], 1.0) == 3  # step 2 was below
    assert since([points(1.0, 1.0), points(0.0, 1.0)], 1.0) == 2  # in both seeds
    assert since([points(1.0, 1.0), points(1.0, 0.9)], 1.0) is None
    # (0.25 + 0.5 + 1 + 1) / 4 = 0.6875
    assert equal_text([points(0.25, 0.5, 1.0, 1.0)]) == "69 % of the groups, all from step 3 on"


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0.01, 1))
def test_the_first_step_is_the_last_run_of_steps_at_the_limit(values: list[float], limit: float) -> None:
    slow = next((i + 1 for i in range(len(values)) if all(v >= limit for v in values[i:])), None)
    assert since([points(*values)], limit) == slow


@pytest.mark.parametrize(
    ("equal", "cut", "sentences"),
    [
        (0.94, 0.29, []),
        (0.95, 0.0, ["95 % of the groups:"]),
        (0.999, 0.0, ["99.9 % of the groups:"]),
        (1.0, 0.3, ["100 % of the groups, all from step 1 on:", "30 % of the responses were truncated"]),
        (None, 0.5, ["50 % of the responses were truncated in training, at least 30 % from step 1 on"]),
    ],
)
def test_warnings_begin_at_their_limits(equal: float | None, cut: float, sentences: list[str]) -> None:
    curve = {TRUNCATED: points(cut, cut)} | ({} if equal is None else {EQUAL: points(equal, equal)})
    lines = warnings([curve])
    assert len(lines) == len(sentences) and all(text in line for text, line in zip(sentences, lines, strict=True))


@pytest.mark.parametrize(("first", "second", "share"), [(0.0, 0.39, None), (0.1, 0.3, "20 %"), (0.2, 0.3, "25 %")])
def test_a_share_of_different_boxes_is_said_from_its_limit_on(first: float, second: float, share: str | None) -> None:
    lines = warnings([{UNEQUAL_BOXES: points(first, second)}])
    since_step = 1 if first >= 0.2 else 2
    begins = f"{share} of the responses boxed different texts in training, at least 20 % from step {since_step} on: "
    assert not lines if share is None else len(lines) == 1 and lines[0].startswith(begins)


@pytest.mark.parametrize(
    ("shares", "sentence"),
    [
        ((0.2, 0.38), None),
        ((0.2, 0.4), "30 % of the responses had no reward (None or NaN): nothing"),
        ((0.5, 1.0, 1.0), "83 % of the responses had no reward (None or NaN), all from step 2 on: nothing"),
        ((1.0, 1.0), "100 % of the responses had no reward (None or NaN), all from step 1 on: nothing"),
    ],
)
def test_a_reward_of_none_is_said(shares: tuple[float, ...], sentence: str | None) -> None:
    """Such a step has no groups of equal rewards: none was scored."""
    lines = warnings([{UNSCORED: points(*shares)}])
    assert not lines if sentence is None else len(lines) == 1 and lines[0].startswith(sentence)


def test_without_a_training_there_is_nothing_to_say() -> None:
    assert warnings([{}]) == warnings([]) == ()
