"""Claims on training curves: the mean of a curve over a window of the training, compared over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evals.stats.compare import Line
from evals.stats.differences import over_seeds_difference
from harness.spec.claim import Curve
from harness.tables.measured import Measured

Points = Sequence[tuple[int, float]]  # (optimiser step, value)


def curve_line(curve: Curve, a: Measured, b: Measured, margin: float | None) -> Line | None:
    """a - b of the curve's mean over its window, or None if an arm has no such curve in any seed. Two windows of the
    same runs are paired by seed.
    """
    windows = (curve.window, curve.than_window or curve.window)
    names = (curve.metric, curve.than_metric or curve.metric)
    of_a, of_b = (
        {
            seed: mean
            for seed in m.seeds
            if (mean := window_mean(_points(m.curves.get(seed, {}), name, curve.less), w)) is not None
        }
        for m, name, w in zip((a, b), names, windows, strict=True)
    )
    if not of_a or not of_b:
        return None
    same_runs = a.runs == b.runs and a.arm == b.arm and a.model == b.model
    result = over_seeds_difference(list(of_a.values()), list(of_b.values()), paired_by_seed=same_runs, margin=margin)
    shares = [f"{100 * low:g}–{100 * high:g} %" for low, high in windows]
    of_steps = shares[0] if shares[0] == shares[1] else f"{shares[0]} against {shares[1]}"
    return Line(
        benchmark="training",
        metric=curve.metric,
        **result.parts(),
        seeds_a=len(of_a),
        seeds_b=len(of_b),
        problems=0,
        a=float(np.mean(list(of_a.values()))),
        b=float(np.mean(list(of_b.values()))),
        name=f"{_title(curve)}, mean over {of_steps} of the steps",
        margin=margin,
        why=None if result.interval else "one training seed has no spread",
    )


def _points(curves: Mapping[str, Points], name: str, less: str) -> Points:
    """The curve minus another, at their common steps."""
    if not less:
        return curves.get(name, ())
    subtracted = dict(curves.get(less, ()))
    return [(step, value - subtracted[step]) for step, value in curves.get(name, ()) if step in subtracted]


def _title(curve: Curve) -> str:
    names = [curve.metric, *([f"against {curve.than_metric}"] if curve.than_metric else [])]
    return " ".join([*names, *([f"less {curve.less}"] if curve.less else [])])


def window_mean(points: Points, window: tuple[float, float]) -> float | None:
    """The mean of the points whose step is in the window, as shares of the last step, or None if there are none.

    The window [start, end] contains the steps s with start T < s <= end T, where T is the last step. Start 0 includes
    the first step.
    """
    if not points:
        return None
    last = max(step for step, _ in points)
    start, end = window
    inside = [value for step, value in points if (step > start * last or start == 0) and step <= end * last]
    return float(np.mean(inside)) if inside else None
