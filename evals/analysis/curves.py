"""Training curves as a frame: column `step`, and one a metric under its MLflow name; NaN where a step lacks it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import pandas as pd

Vector = NDArray[np.float64]

SMOOTHING = 0.12  # ERPO's weight (arXiv 2603.28204, Fig. 4)


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
    """Two-sided exponential moving average: the mean over u of x_u, weighted by (1 - weight)^|t - u|. [N] -> [N].

    The one-sided average that papers draw lags behind the curve; a finished curve needs no lag.

    Raises:
        ValueError: weight outside (0, 1].
    """
    if not 0 < weight <= 1:
        raise ValueError(f"weight: expected a number in (0, 1], got {weight}")
    x = np.asarray(values, dtype=float)
    both = np.stack([x, np.ones(len(x))])  # the weighted sum, and the sum of the weights
    total = _decayed(both, 1 - weight) + _decayed(both[:, ::-1], 1 - weight)[:, ::-1] - both
    found: Vector = total[0] / total[1]
    return found


def _decayed(rows: Vector, factor: float) -> Vector:
    """s_t = x_t + factor s_(t-1) along each row."""
    made = rows.copy()
    for t in range(1, rows.shape[1]):
        made[:, t] += factor * made[:, t - 1]
    return made
