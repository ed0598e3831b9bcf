"""R = -a exp(H) + b: known constants come back, a seed each; and the figures."""

from __future__ import annotations

import numpy as np
import pytest

from reproductions.trial_and_error.figures.training import (
    entropy_against_reward,
    entropy_by_outcome,
    fit_entropy_reward,
    spread,
)
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


def test_spread_over_seeds_by_hand() -> None:
    # mean 2, standard deviation sqrt 2, t(0.975, 1) = 12.706: half-width 12.706
    assert spread([1.0, 3.0]) == "2 [-10.7, 14.7]" and spread([0.25]) == "0.25"


def test_the_figures_say_what_was_fitted() -> None:
    seeds = [curves(seed=s, **{"train/reward": 0.9 - a * np.exp(ENTROPY)}) for s, a in enumerate((0.2, 0.4))]
    flat = curves(NAMES[2], **{"train/entropy": 0.5})
    plot = entropy_against_reward(NAMES, joined(*seeds, flat))
    # a: mean 0.3, standard deviation 0.2 / sqrt 2, half-width 12.706 * 0.1 = 1.27
    assert "GRPO: a = 0.3 [-0.971, 1.57], b = 0.9 [0.9, 0.9], training seeds: 2" in plot.caption
    assert f"{NAMES[2]}, seed 0: no fit" in plot.caption
    check_renders(plot)
    check_renders(entropy_by_outcome(NAMES, joined(*seeds)))
    with pytest.raises(ValueError, match="expected train/entropy and train/reward"):
        entropy_against_reward(NAMES, curves()[["model", "seed", "step", "train/reward"]])
    with pytest.raises(ValueError, match="train/entropy_positive"):
        entropy_by_outcome(NAMES, curves()[["model", "seed", "step", "train/reward"]])
