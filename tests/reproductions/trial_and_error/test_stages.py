"""Stages: a known break is recovered, with an interval; curves without two stages have none, with the reason."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from reproductions.trial_and_error.figures.stages import Stages, find_stages, stage_changes

STEPS = np.arange(1, 101)


def broken(at: float, rise: float, after: float) -> np.ndarray:
    return 0.2 + rise * np.minimum(STEPS - 1, at - 1) + after * np.maximum(0, STEPS - at)


def test_an_exact_break_is_recovered() -> None:
    stages = find_stages(STEPS, broken(30, 0.01, 0.001))
    assert (stages.break_step, stages.low, stages.high) == (30, 30, 30)
    assert stages.rising_slope == pytest.approx(0.01) and stages.plateau_slope == pytest.approx(0.001)
    assert stages.start == pytest.approx(0.2) and stages.level == pytest.approx(0.2 + 29 * 0.01)
    assert stages.why is None and stages.steps == 100


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("at", [20, 50])
def test_a_noisy_break_lies_in_its_interval(at: int, seed: int) -> None:
    noise = 0.02 * np.random.default_rng(seed).normal(size=100)
    stages = find_stages(STEPS, broken(at, 0.3 / at, 0.0002) + noise)
    assert stages.break_step is not None and stages.low is not None and stages.high is not None
    assert stages.low <= at <= stages.high and abs(stages.break_step - at) < 10


def test_steps_may_be_unevenly_spaced() -> None:
    steps = np.concatenate([np.arange(1, 31), np.arange(40, 101, 10)])
    stages = find_stages(steps, np.minimum(steps, 25) / 100)
    assert stages.break_step == 25


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (0.1 + 0.002 * STEPS, "one straight line"),
        (np.full(100, 0.3), "one straight line"),
        (np.random.default_rng(0).normal(size=100), "one straight line"),
        (broken(40, -0.01, 0.0), "does not rise"),
        (broken(40, 0.0, 0.01), "does not rise"),
        (broken(40, 0.01, 0.008), "gains more than 0.5"),
        (broken(40, 0.001, 0.02), "gains more than 0.5"),
    ],
)
def test_without_two_stages_the_reason_is_given(values: np.ndarray, why: str) -> None:
    noise = 1e-4 * np.random.default_rng(1).normal(size=100)
    stages = find_stages(STEPS, values + noise)
    assert stages.break_step is None and stages.why is not None and why in stages.why


def test_a_plateau_gains_at_most_half_of_what_the_rise_gained_a_step() -> None:
    assert find_stages(STEPS, broken(40, 0.01, 0.004)).break_step == 40
    assert find_stages(STEPS, broken(40, 0.01, -0.005)).break_step == 40  # a decline is no gain


def test_bad_input_is_named() -> None:
    assert find_stages(STEPS[:9], STEPS[:9]).why == "needs at least 10 steps, got 9"
    with pytest.raises(ValueError, match="as many values as steps"):
        find_stages(STEPS, STEPS[:9])
    with pytest.raises(ValueError, match="finite"):
        find_stages(STEPS, np.full(100, np.nan))


def test_changes_within_the_stages() -> None:
    falls = np.where(STEPS <= 30, 2 - 0.02 * STEPS, 1.4 - 0.001 * (STEPS - 30))
    frame = pd.DataFrame({"step": STEPS, "train/entropy_negative": falls, "train/few": [1.0] * 3 + [np.nan] * 97})
    stages = find_stages(STEPS, broken(30, 0.01, 0.0))
    changes = stage_changes(frame, stages, ["train/entropy_negative", "train/few", "train/none"])
    assert changes["metric"].tolist() == ["train/entropy_negative"] * 2
    assert changes["stage"].tolist() == ["rising", "plateau"]
    assert changes["slope"].tolist() == pytest.approx([-0.02, -0.001]) and changes["points"].tolist() == [30, 71]
    whole = stage_changes(frame, Stages(100, why="none"), ["train/entropy_negative"])
    assert whole["stage"].tolist() == ["all"] and whole["low"][0] < whole["slope"][0] < whole["high"][0]
