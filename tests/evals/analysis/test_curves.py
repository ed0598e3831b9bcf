"""Training curves: what is read of a frame, its smoothing, and bands over seeds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evals.analysis.training_curves import (
    curve,
    fair_performance,
    fit_lines,
    over_seeds,
    smoothed,
)


def test_steps_without_the_metric_are_excluded_and_steps_are_in_order() -> None:
    frame = pd.DataFrame({"step": [3, 1, 2], "train/a": [30.0, 10.0, None], "train/b": [3.0, 1.0, 2.0]})
    assert [x.tolist() for x in curve(frame, "train/b")] == [[1, 2, 3], [1, 2, 3]]
    assert [x.tolist() for x in curve(frame, "train/b", "train/a")] == [[1, 3], [1, 3], [10, 30]]
    assert [len(x) for x in curve(frame, "train/c")] == [0, 0]


def test_a_frame_without_steps_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a column step"):
        curve(pd.DataFrame({"train/a": [1.0]}), "train/a")
    with pytest.raises(ValueError, match="step 2 is there twice"):
        curve(pd.DataFrame({"step": [1, 2, 2], "train/a": [1.0, 2.0, 3.0]}), "train/a")


def test_smoothing_is_a_local_line() -> None:
    # in the middle of three points the weighted line has no tilt: (1/2 + 3 + 0) / 2
    assert smoothed([1.0, 3.0, 0.0], 0.5)[1] == pytest.approx(7 / 4)
    x = np.random.default_rng(0).normal(size=40)
    for t in (0, 7, 39):  # a weighted fit at each point
        _, height = np.polyfit(np.arange(40) - t, x, 1, w=np.sqrt(0.7 ** np.abs(np.arange(40) - t)))
        assert smoothed(x, 0.3)[t] == pytest.approx(height, abs=1e-4)
    line = np.linspace(3, -2, 30)
    assert smoothed(line) == pytest.approx(line)  # no lag, and no start that is cut off
    assert smoothed([4.0, 2.0], 1.0).tolist() == [4, 2] and smoothed([]).tolist() == []
    with pytest.raises(ValueError, match="weight"):
        smoothed([1.0], 0.0)


def test_mean_and_band_over_seeds_by_hand() -> None:
    seeds = [
        pd.DataFrame({"step": [1, 2], "train/reward": [1.0, 4.0], "train/kl": [0.5, np.nan]}),
        pd.DataFrame({"step": [1, 2], "train/reward": [3.0, 4.0], "train/kl": [np.nan, np.nan]}),
    ]
    curve = over_seeds(seeds).set_index("step")
    # step 1: mean 2, standard deviation sqrt 2, t(0.975, 1 degree) = 12.706: half-width 12.706 sqrt 2 / sqrt 2
    assert curve.loc[1, "train/reward"] == 2 and curve.loc[1, "train/reward high"] == pytest.approx(14.7062, abs=1e-3)
    assert curve.loc[2, "train/reward low"] == 4 and curve["seeds"].tolist() == [2, 2]
    # one seed has the KL at step 1, none at step 2: no band, and no zero
    assert (
        curve.loc[1, "train/kl"] == 0.5
        and np.isnan(curve.loc[1, "train/kl low"])
        and np.isnan(curve.loc[2, "train/kl"])
    )
    assert over_seeds(seeds[:1]) is seeds[0]


def test_accuracy_compares_runs_only_where_all_have_it() -> None:
    with_accuracy = pd.DataFrame({"step": [1], "train/reward": [1.4], "train/accuracy": [0.4]})
    assert fair_performance({"a": with_accuracy}) == "train/accuracy"
    assert fair_performance({"a": with_accuracy, "b": with_accuracy[["step", "train/reward"]]}) == "train/reward"


def test_axes_of_shares_stay_in_range_and_unlike_magnitudes_get_a_logarithmic_one() -> None:
    from matplotlib.figure import Figure

    axis = Figure().subplots()
    axis.plot([1, 2], [0.01, 0.99])
    fit_lines(axis, "train/accuracy")
    assert axis.get_ylim() == (-0.02, 1.02) and axis.get_yscale() == "linear"
    axis = Figure().subplots()
    axis.plot([1, 2], [0.3, 0.4])
    axis.plot([1, 2], [0.007, 0.006])
    fit_lines(axis, "train/grad_norm")
    assert axis.get_yscale() == "log" and axis.get_ylim()[0] < 0.006
