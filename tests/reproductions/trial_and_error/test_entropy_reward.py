"""R = -a exp(H) + b: known constants come back, with intervals that hold them."""

from __future__ import annotations

import numpy as np
import pytest

from reproductions.trial_and_error.figures.entropy_reward import fit_entropy_reward


def test_an_exact_law_is_recovered() -> None:
    h = np.array([1.2, 0.9, 0.5, 0.3, 0.1])
    law = fit_entropy_reward(h, 0.8 - 0.2 * np.exp(h))
    assert (law.a.value, law.b.value, law.ceiling.value) == pytest.approx((0.2, 0.8, 0.6))  # H = 0: b - a
    assert law.explained == pytest.approx(1) and law.points == 5
    assert law.reward([0.0, np.log(2)]) == pytest.approx([0.6, 0.4])


def test_a_noisy_law_lies_within_its_intervals() -> None:
    generator = np.random.default_rng(0)
    h = np.exp(-np.arange(300) / 80)
    law = fit_entropy_reward(h, 0.8 - 0.2 * np.exp(h) + 0.03 * generator.normal(size=300))
    for estimate, truth in ((law.a, 0.2), (law.b, 0.8), (law.ceiling, 0.6)):
        assert estimate.low < truth < estimate.high and estimate.low < estimate.value < estimate.high
    assert 0.8 < law.explained < 1


def test_a_reward_that_rises_with_entropy_has_a_negative_a() -> None:
    h = np.linspace(0, 1, 20)
    assert fit_entropy_reward(h, h).a.high < 0


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="entropy: expected values >= 0"):
        fit_entropy_reward([-0.1, 1, 2, 3], [1, 2, 3, 4])
    with pytest.raises(ValueError, match="at least 4 points"):
        fit_entropy_reward([], [])
