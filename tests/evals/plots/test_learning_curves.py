"""Learning curves: numbers by hand, few and many arms, what is missing, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from evals.plots.curves import learning_curves, mean_over_seeds
from tests.evals.analysis.rendered import check_renders


def curves(arms: int, seeds: int = 3, steps: int = 20) -> pd.DataFrame:
    generator = np.random.default_rng(0)
    rows = itertools.product(["grpo", *(f"arm{i}" for i in range(1, arms))], range(seeds), range(0, steps * 10, 10))
    frame = pd.DataFrame(rows, columns=["arm", "seed", "step"])
    return frame.assign(accuracy=0.2 + frame["step"] / 1000 + 0.02 * generator.normal(size=len(frame)))


def test_band_over_seeds_by_hand() -> None:
    frame = pd.DataFrame({"arm": "a", "seed": [0, 1, 2], "step": 5, "accuracy": [1.0, 2.0, 3.0]})
    row = mean_over_seeds(frame, "accuracy").iloc[0]
    # mean 2, standard deviation 1, t(0.975, 2 degrees) = 4.3027: half-width 4.3027 / sqrt 3
    assert (row["mean"], row["seeds"]) == (2, 3) and row["high"] == pytest.approx(2 + 4.30265 / 3**0.5, abs=1e-4)
    assert row["low"] == pytest.approx(2 - 4.30265 / 3**0.5, abs=1e-4)


def test_one_seed_has_no_band_and_a_missing_value_is_not_zero() -> None:
    frame = pd.DataFrame({"arm": "a", "seed": [0, 1, 0], "step": [1, 1, 2], "accuracy": [0.5, np.nan, 0.7]})
    means = mean_over_seeds(frame, "accuracy")
    assert means["mean"].tolist() == [0.5, 0.7] and means["seeds"].tolist() == [1, 1]
    assert means[["low", "high"]].isna().all(axis=None)
    check_renders(learning_curves(frame, "accuracy", label="accuracy (fraction)"))


@pytest.mark.parametrize("arms", [1, 7, 13])
def test_learning_curves_of_few_and_many_arms(arms: int) -> None:
    plot = learning_curves(curves(arms), "accuracy", label="accuracy (fraction)", note="Tiny scale.")
    assert set(plot.numbers["arm"]) == {"grpo", *(f"arm{i}" for i in range(1, arms))}
    assert "Seeds: 3." in plot.caption and plot.caption.endswith("Tiny scale.")
    check_renders(plot)


def test_a_missing_column_and_a_step_that_is_there_twice_are_named() -> None:
    with pytest.raises(ValueError, match="seed"):
        learning_curves(curves(2).drop(columns="seed"), "accuracy", label="x")
    twice = pd.concat([curves(1), curves(1)])
    with pytest.raises(ValueError, match="arm 'grpo', seed 0, step 0"):
        mean_over_seeds(twice, "accuracy")
