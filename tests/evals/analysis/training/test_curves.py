"""Training curves: what is read of a frame, and its smoothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evals.analysis.training.curves import curve, smoothed


def test_steps_without_the_metric_are_left_out_and_steps_are_in_order() -> None:
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
