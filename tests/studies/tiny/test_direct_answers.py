"""Counting responses that answer without an attempt."""

from __future__ import annotations

import pytest

from studies.tiny.direct_answers import direct


def test_guesses_and_searches_are_counted_apart() -> None:
    responses = [("\\boxed{1}", True), ("\\boxed{2}", False), ("\\boxed{3}", False), ("try 3 + 7 = 10 yes", True)]
    counted = direct(responses)
    assert (counted.share, counted.guessed, counted.searched) == (0.75, pytest.approx(1 / 3), 1.0)


def test_without_responses_there_is_no_accuracy() -> None:
    assert direct([("\\boxed{1}", True)]).searched is None
    with pytest.raises(ValueError, match="got none"):
        direct([])
