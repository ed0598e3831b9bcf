"""Training curves: what is read of a frame, and its moving average."""

from __future__ import annotations

import pandas as pd
import pytest

from evals.analysis.curves import curve, smoothed


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


def test_moving_average_by_hand() -> None:
    # weights 1, 1/2, 1/4 by distance: (1 + 3/2 + 0) / (7/4), (1/2 + 3 + 0) / 2, (1/4 + 3/2 + 0) / (7/4)
    assert smoothed([1.0, 3.0, 0.0], 0.5).tolist() == pytest.approx([10 / 7, 7 / 4, 1])
    assert smoothed([5.0] * 9).tolist() == pytest.approx([5] * 9)
    assert smoothed([3.0, 1.0, 2.0])[::-1].tolist() == pytest.approx(smoothed([2.0, 1.0, 3.0]).tolist())  # no lag
    assert smoothed([4.0, 2.0], 1.0).tolist() == [4, 2] and smoothed([]).tolist() == []
    with pytest.raises(ValueError, match="weight"):
        smoothed([1.0], 0.0)
