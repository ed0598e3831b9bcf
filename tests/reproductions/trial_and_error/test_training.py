"""R = -a exp(H) + b: known constants come back, of each seed."""

from __future__ import annotations

import numpy as np
import pytest

from reproductions.trial_and_error.figures.training import entropy_against_reward, fit_entropy_reward
from tests.evals.analysis.rendered import check_renders
from tests.evals.analysis.test_training_figures import ENTROPY, NAMES, curves, joined


def test_an_exact_law_is_recovered_and_a_noisy_one_nearly() -> None:
    h = np.array([1.2, 0.9, 0.5, 0.3, 0.1])
    assert fit_entropy_reward(h, 0.8 - 0.2 * np.exp(h)) == pytest.approx((0.2, 0.8))
    h = np.exp(-np.arange(300) / 80)
    noise = 0.03 * np.random.default_rng(0).normal(size=300)
    assert fit_entropy_reward(h, 0.8 - 0.2 * np.exp(h) + noise) == pytest.approx((0.2, 0.8), abs=0.02)
    with pytest.raises(ValueError, match="three steps or more whose values differ, got 4"):
        fit_entropy_reward([0.5] * 4, [1, 2, 3, 4])


def test_the_figure_says_what_was_fitted() -> None:
    seeds = [curves(seed=s, **{"train/reward": 0.9 - a * np.exp(ENTROPY)}) for s, a in enumerate((0.2, 0.4))]
    plot = entropy_against_reward(NAMES, joined(*seeds))
    assert "GRPO, seed 0: a = 0.2, b = 0.9; GRPO, seed 1: a = 0.4, b = 0.9" in plot.caption
    check_renders(plot)
