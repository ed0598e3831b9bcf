"""Figures of training curves: the numbers, what captions say of breaks and fits, and runs that lack metrics."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evals.analysis.training_curves import over_seeds, plot_training
from tests.evals.analysis.rendered import check_renders

NAMES = ["base", "GRPO", "a run of a long name " * 5]
STEPS = np.arange(1, 61)
ENTROPY = 0.1 + 0.7 * np.exp(-STEPS / 15)


def curves(**columns: object) -> pd.DataFrame:
    """A rise to step 20, then a plateau; reward and entropy follow R = 0.9 - 0.3 exp(H) in `law`."""
    frame = pd.DataFrame(
        {
            "step": STEPS,
            "train/reward": 0.2 + 0.02 * np.minimum(STEPS, 20) + 0.0001 * (STEPS % 3),
            "train/entropy": ENTROPY,
            "train/entropy_positive": 0.8 * ENTROPY,
            "train/entropy_negative": 1.2 * ENTROPY,
            "train/grad_norm": 1.0,
            "train/response_length": 100.0 + STEPS,
            "train/zero_variance_groups": STEPS / 100,
        }
    )
    return frame.assign(**columns)


def test_each_figure_shows_the_metrics_that_the_curves_have() -> None:
    law = curves(**{"train/reward": 0.9 - 0.3 * np.exp(ENTROPY), "train/shaping_ratio": ENTROPY})
    plots = {d.name: d for d in plot_training(NAMES, {"GRPO": curves(), NAMES[2]: law})}
    assert list(plots) == [
        "training_dynamics",
        "training_response_length",
        "training_zero_variance_groups",
        "training_shaping_ratio",
    ]
    for plot in plots.values():
        check_renders(plot)
    assert set(plots["training_shaping_ratio"].numbers["model"]) == {NAMES[2]}
    assert "base, GRPO" in plots["training_shaping_ratio"].caption  # the runs without such curves
    dynamics = plots["training_dynamics"].numbers
    assert dynamics.columns.tolist() == ["model", "step", "train/reward", "train/entropy", "train/grad_norm"]
    assert dynamics.loc[dynamics["model"] == "GRPO", "train/entropy"].tolist() == ENTROPY.tolist()


def test_short_curves_are_plotted() -> None:
    bare = pd.DataFrame({"step": [1, 2], "train/reward": [0.1, 0.2]})
    plots = plot_training(NAMES, {"GRPO": bare})
    assert [plot.name for plot in plots] == ["training_dynamics"]
    check_renders(plots[0])


def test_curves_of_unknown_runs_are_refused() -> None:
    with pytest.raises(ValueError, match="got 'other'"):
        plot_training(NAMES, {"other": curves()})
    with pytest.raises(ValueError, match="at least one run, got none"):
        plot_training(NAMES, {})


def test_several_seeds_have_bands_and_are_counted_in_the_caption() -> None:
    seeds = over_seeds([curves(), curves(**{"train/reward": 0.3 + STEPS / 100})])
    plots = plot_training(NAMES, {"GRPO": seeds, NAMES[2]: curves()})
    dynamics = {plot.name: plot for plot in plots}["training_dynamics"]
    assert f"Mean over training seeds (GRPO 2, {NAMES[2]} 1)" in dynamics.caption
    assert {"train/reward low", "train/reward high"} <= set(dynamics.numbers)
    for plot in plots:
        check_renders(plot)
    accuracy = plot_training(NAMES, {"GRPO": curves(**{"train/accuracy": 0.4})})[0]
    assert "train/accuracy" in accuracy.numbers and "train/reward" not in accuracy.numbers
