"""Training curves: what is read of a frame, its smoothing, and lines fitted with serial correlation."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from evals.analysis.training.curves import (
    curve,
    fair_performance,
    fit_line,
    over_seeds,
    serial_correlation,
    smoothed,
    worth,
)
from evals.stats.intervals import t_quantile


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


def test_by_hand() -> None:
    # x = 0..4, y = 0 2 1 3 4: means 2 and 2; Sxx = 10, Sxy = (-2)(-2) + 0 + 0 + 1 + 4 = 9; slope 0.9, intercept 0.2.
    # Residuals -0.2 0.9 -1 0.1 0.2: squares 0.04 + 0.81 + 1 + 0.01 + 0.04 = 1.9; they alternate, so r = 0.
    line = fit_line([0, 1, 2, 3, 4], [0, 2, 1, 3, 4])
    assert (line.slope, line.intercept, line.at(10)) == pytest.approx((0.9, 0.2, 9.2))
    assert (line.correlation, line.mean_inflation, line.slope_inflation, line.degrees) == (0, 1, 1, 3)
    s = math.sqrt(1.9 / 3)
    half = t_quantile(0.975, 3) * s / math.sqrt(10)
    assert line.slope_interval() == pytest.approx((0.9 - half, 0.9 + half))
    half = t_quantile(0.975, 3) * s * math.sqrt(1 / 5 + 4 / 10)
    assert line.interval_at(0.0) == pytest.approx((0.2 - half, 0.2 + half))


def test_an_exact_line_has_an_interval_of_no_width() -> None:
    line = fit_line([1.0, 2.0, 4.0, 8.0], [3.0, 5.0, 9.0, 17.0])
    assert (line.slope, line.intercept) == pytest.approx((2, 1))
    assert line.slope_interval() == pytest.approx((2, 2))


def test_correlated_errors_widen_the_interval() -> None:
    x = np.linspace(0, 1, 64)
    blocks = np.repeat(np.random.default_rng(0).normal(size=16), 4)  # four equal errors in a row
    apart = np.random.default_rng(0).permutation(blocks)  # the same errors, shuffled
    together, shuffled = fit_line(x, x + blocks), fit_line(x, x + apart)
    assert together.correlation > 0.5 and shuffled.correlation < 0.3
    assert together.degrees < shuffled.degrees
    widths = [np.ptp(line.slope_interval()) for line in (together, shuffled)]
    assert widths[0] > 1.5 * widths[1]


def test_serial_correlation_by_hand() -> None:
    # 1 1 1 1 -1 -1 -1 -1: seven products of neighbours, 3 - 1 + 3 = 5, over 8 squares; (5 + 2) / (8 - 4) is too much
    assert serial_correlation(np.array([1.0] * 4 + [-1.0] * 4), fitted=2) == 0.99
    # 1 1 -1 -1 1 1 -1 -1 ...: every second product is 1 and every other -1; n = 100: 50 - 49 = 1: (1 + 2)/96
    series = np.tile([1.0, 1.0, -1.0, -1.0], 25)
    assert serial_correlation(series, fitted=2) == pytest.approx(3 / 96)
    assert serial_correlation(np.tile([1.0, -1.0], 10), fitted=2) == 0
    assert worth(90, 0.5) == pytest.approx(30)


def test_coverage_with_correlated_errors() -> None:
    """200 curves of 100 points, errors of lag-1 correlation 0.6: the textbook interval would hold about 70 %."""
    generator = np.random.default_rng(1)
    x, held = np.linspace(0, 1, 100), 0
    for _ in range(200):
        errors = generator.normal(size=150)
        for t in range(1, 150):
            errors[t] += 0.6 * errors[t - 1]
        low, high = fit_line(x, 2 * x + errors[50:]).slope_interval()
        held += low <= 2 <= high
    assert 176 <= held <= 199


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="at least 4 points"):
        fit_line([1, 2, 3], [1, 2, 3])
    with pytest.raises(ValueError, match="finite"):
        fit_line([1, 2, 3, 4], [1, 2, 3, float("nan")])
    with pytest.raises(ValueError, match="x must vary, got 2"):
        fit_line([2, 2, 2, 2], [1, 2, 3, 4])
