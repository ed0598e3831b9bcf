"""Training curves as a frame: column `step`, and one a metric under its MLflow name; NaN where a step lacks it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import pandas as pd

Vector = NDArray[np.float64]

SMOOTHING = 0.12  # weight of the newest value in ERPO's curves (arXiv 2603.28204, Fig. 4)


def curve(curves: pd.DataFrame, metric: str, *more: str) -> tuple[Vector, ...]:
    """(steps, values of each metric), in order of the steps, of the steps that have all of the metrics; maybe empty.

    Raises:
        ValueError: no column `step`, or a step that is there twice.
    """
    if "step" not in curves:
        raise ValueError(f"training curves: expected a column step, got {list(curves)}")
    if curves["step"].duplicated().any():
        raise ValueError(f"training curves: step {curves['step'][curves['step'].duplicated()].iloc[0]} is there twice")
    names = ["step", metric, *more]
    if any(name not in curves for name in names):
        return tuple(np.empty(0) for _ in names)
    kept = curves[names].dropna().sort_values("step")
    return tuple(kept[name].to_numpy(dtype=float) for name in names)


def smoothed(values: ArrayLike, weight: float = SMOOTHING) -> Vector:
    """Exponential moving average s_t = weight x_t + (1 - weight) s_(t-1), s_0 = x_0. [N] -> [N].

    Raises:
        ValueError: weight outside (0, 1].
    """
    if not 0 < weight <= 1:
        raise ValueError(f"weight: expected a number in (0, 1], got {weight}")
    made = np.array(values, dtype=float)
    for t in range(1, len(made)):
        made[t] = weight * made[t] + (1 - weight) * made[t - 1]
    return made
