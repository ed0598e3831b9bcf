"""Means of training curves over seeds: numbers by hand, what is missing, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evals.analysis.training_curves import mean_over_seeds


def test_band_over_seeds_by_hand() -> None:
    frame = pd.DataFrame({"model": "a", "seed": [0, 1, 2], "step": 5, "accuracy": [1.0, 2.0, 3.0]})
    row = mean_over_seeds(frame, "accuracy").iloc[0]
    # mean 2, standard deviation 1, t(0.975, 2 degrees) = 4.3027: half-width 4.3027 / sqrt 3
    assert (row["mean"], row["seeds"]) == (2, 3) and row["high"] == pytest.approx(2 + 4.30265 / 3**0.5, abs=1e-4)
    assert row["low"] == pytest.approx(2 - 4.30265 / 3**0.5, abs=1e-4)


def test_one_seed_has_no_band_and_a_missing_value_is_not_zero() -> None:
    frame = pd.DataFrame({"model": "a", "seed": [0, 1, 0], "step": [1, 1, 2], "accuracy": [0.5, np.nan, 0.7]})
    means = mean_over_seeds(frame, "accuracy")
    assert means["mean"].tolist() == [0.5, 0.7] and means["seeds"].tolist() == [1, 1]
    assert means[["low", "high"]].isna().all(axis=None)


def test_a_missing_column_and_a_step_that_is_there_twice_are_named() -> None:
    frame = pd.DataFrame({"model": "grpo", "seed": [0, 0], "step": [0, 0], "accuracy": 0.5})
    with pytest.raises(ValueError, match="seed"):
        mean_over_seeds(frame.drop(columns="seed"), "accuracy")
    with pytest.raises(ValueError, match="model 'grpo', seed 0, step 0"):
        mean_over_seeds(frame, "accuracy")
