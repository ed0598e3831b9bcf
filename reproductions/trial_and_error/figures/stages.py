"""The rising and the plateau stage of a training curve (arXiv 2508.07534, section 3.2.2, Fig. 3a and 3c).

The paper describes a "rapid rising stage with quick performance improvements" and a "stable plateau stage with marginal
gains", and plots a line between them without a definition. Here the line is the break of the best fit by two connected
straight lines (a broken stick): this needs neither smoothing nor a chosen share of the final value, a plateau may still
gain a little, and the break has an interval. There are two stages only if
- two lines fit better than one, by more than chance and serial correlation explain,
- the first rises, and
- the second gains at most half of the first's gain per step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from evals.analysis import TRIAL_AND_ERROR
from evals.analysis.training_curves import (
    LABELS,
    Curves,
    Vector,
    curve,
    describe_smoothing,
    describe_steps,
    fit_lines,
    line_handles,
    long_table,
    plain_name,
    smoothed_line,
)
from evals.plots.panels import grid
from evals.plots.parts import legend_below, legend_height
from evals.plots.plot import WIDTH, Plot, look, step_axis
from evals.stats.intervals import t_quantile
from reproductions.trial_and_error.figures.line_fit import fit_line, serial_correlation, worth

if TYPE_CHECKING:
    import pandas as pd

LEAST = 4  # points of a stage
MARGINAL = 0.5  # of the first stage's gain per step, at most, in the second
CANDIDATES = 500  # breaks to try, evenly spaced
THRESHOLD = 11.0  # of the improvement statistic; see find_stages


@dataclass(frozen=True)
class Stages:
    """The end of the rising stage, or why there are no two stages (then only `why` and `steps` are set).

    `low` and `high` bound the break (95 %); slopes are gains of the metric per step; `start` and `level` are the fitted
    heights at the first step and at the break.
    """

    steps: int
    break_step: float | None = None
    low: float | None = None
    high: float | None = None
    rising_slope: float | None = None
    plateau_slope: float | None = None
    start: float | None = None
    level: float | None = None
    why: str | None = None


@dataclass(frozen=True)
class _Stick:
    """Two connected lines: c0 + c1 (s - s_0) + c2 max(0, s - at)."""

    at: float
    c: Vector
    residuals: Vector

    @property
    def error(self) -> float:
        return float(self.residuals @ self.residuals)


def find_stages(steps: ArrayLike, values: ArrayLike) -> Stages:
    """The stages of a performance curve (accuracy or reward), [N] each, in order of the steps.

    The improvement statistic is (E1 - E2) / E2 (n - 4) (1 - r) / (1 + r), where E1 and E2 are the squared errors of one
    and of two lines and r is the serial correlation of the residuals of two; it must exceed THRESHOLD. The interval of
    the break contains the breaks with a squared error below E2 (1 + t^2 (1 + r) / (1 - r) / (n - 4)).

    Measured on autoregressive noise of lag-1 correlation rho, 100 to 400 simulations each. A straight rise is read as
    two stages in at most 2 % of cases for rho <= 0.3 and at most 9 % for rho = 0.6; for rho = 0.9 in 20 % with 20
    steps, 15 % with 50, 4 % with 200. A rise of 0.5 within the first 30 % of the steps, then 0.035 more, under noise of
    0.05, is detected in 97 to 100 % for 50 steps or more and rho <= 0.6; the interval covers its break in 92 to 97 %.

    Raises:
        ValueError: different lengths, or a value that is not finite.
    """
    s, y = np.asarray(steps, dtype=float), np.asarray(values, dtype=float)
    if s.shape != y.shape or s.ndim != 1:
        raise ValueError(f"expected as many values as steps, got shapes {s.shape} and {y.shape}")
    if not (np.isfinite(s).all() and np.isfinite(y).all()):
        raise ValueError("steps and values must be finite: exclude what was not measured")
    n = len(s)
    if n < 2 * LEAST + 2:
        return Stages(n, why=f"needs at least {2 * LEAST + 2} steps, got {n}")
    sticks = [_fit(s, y, at) for at in _candidates(s)]
    best = min(sticks, key=lambda stick: stick.error)
    one_line = _fit(s, y, None).error
    r = serial_correlation(best.residuals, fitted=4)
    noise = (1 + r) / (1 - r)
    if one_line - best.error <= THRESHOLD * noise * best.error / (n - 4) or one_line <= 1e-20 * float(y @ y):
        return Stages(n, why="one straight line fits as well as two")
    before, after = float(best.c[1]), float(best.c[1] + best.c[2])
    if before <= 0:
        return Stages(n, why="the curve does not rise before its break")
    if after > MARGINAL * before:
        return Stages(n, why=f"after its break the curve gains more than {MARGINAL:g} of what it gained a step before")
    t = t_quantile(0.975, max(1, math.floor(worth(n, r)) - 4))
    near = [stick.at for stick in sticks if stick.error <= best.error * (1 + t * t * noise / (n - 4))]
    level = float(best.c[0] + before * (best.at - s[0]))
    return Stages(n, best.at, min(near), max(near), before, after, float(best.c[0]), level)


def _candidates(s: Vector) -> Vector:
    inner = s[LEAST - 1 : len(s) - LEAST + 1]
    tried: Vector = inner[np.unique(np.linspace(0, len(inner) - 1, min(CANDIDATES, len(inner))).round().astype(int))]
    return tried


def _fit(s: Vector, y: Vector, at: float | None) -> _Stick:
    columns = [np.ones(len(s)), s - s[0]]
    if at is not None:
        columns.append(np.maximum(0.0, s - at))
    matrix = np.stack(columns, axis=1)
    c = np.linalg.lstsq(matrix, y, rcond=None)[0]
    return _Stick(math.nan if at is None else at, c, y - matrix @ c)


def stage_changes(curves: pd.DataFrame, stages: Stages, metrics: Sequence[str]) -> pd.DataFrame:
    """One row per metric and stage: `metric`, `stage` ("rising", "plateau"; "all" without stages), `slope`, `low`,
    `high` (change per step of the straight line; 95 %), `points`.

    A metric with fewer than LEAST points in a stage is excluded from it.
    """
    import pandas as pd

    rows = []
    for metric in metrics:
        steps, values = curve(curves, metric)
        if stages.break_step is None:
            parts = {"all": steps == steps}
        else:
            parts = {"rising": steps <= stages.break_step, "plateau": steps >= stages.break_step}
        for stage, inside in parts.items():
            if inside.sum() >= LEAST:
                line = fit_line(steps[inside], values[inside])
                rows.append((metric, stage, line.slope, *line.slope_interval(), line.n))
    return pd.DataFrame(rows, columns=["metric", "stage", "slope", "low", "high", "points"])


def plot_stages(
    order: Sequence[str],
    curves: Curves,
    *,
    performance: str = "train/reward",
) -> Plot:
    """Performance and entropy over steps, with the end of the rising stage (arXiv 2508.07534, Fig. 3a)."""
    names = [name for name in order if name in curves and len(curve(curves[name], performance)[0])]
    of_model = {name: find_stages(*curve(curves[name], performance)) for name in names}
    numbers = long_table(curves, names, [performance, "train/entropy"])
    numbers["break_step"] = [of_model[name].break_step for name in numbers["model"]]
    numbers["break_low"] = [of_model[name].low for name in numbers["model"]]
    numbers["break_high"] = [of_model[name].high for name in numbers["model"]]

    def render(figure: Any) -> None:
        axes = grid(figure, 2, 1, sharex=True)
        for axis, metric in zip(axes, (performance, "train/entropy"), strict=True):
            for name in names:
                place = order.index(name)
                smoothed_line(axis, curves[name], metric, place)
                mark_break(axis, of_model[name], look(place)["color"])
            axis.set_ylabel(LABELS.get(metric, metric.removeprefix("train/")))
            fit_lines(axis, metric)
        step_axis(axes[1])
        legend_below(figure, line_handles(figure, order, names), names)

    stages_text = "; ".join(f"{name}: {_stage_words(of_model[name])}" for name in names)
    caption = (
        f"Vertical line: end of the rising stage, the break of the best fit of {plain_name(performance)} by two "
        f"straight lines that meet; shaded: its 95 % interval. {stages_text}. "
        f"{describe_steps(order, curves, [performance])} {describe_smoothing(curves)}"
    )
    return Plot(
        "training_stages",
        "Rising and plateau stage",
        caption,
        f"{TRIAL_AND_ERROR}, Fig. 3a",
        numbers,
        render,
        (WIDTH, 4.2 + legend_height(names)),
    )


def entropy_by_outcome(
    order: Sequence[str],
    curves: Curves,
    *,
    performance: str = "train/reward",
) -> Plot:
    """Entropy of correct and of incorrect responses over steps (arXiv 2508.07534, Fig. 3c without its bars)."""
    import pandas as pd

    metrics = {"train/entropy_positive": "-", "train/entropy_negative": "--"}
    names = [name for name in order if name in curves and any(len(curve(curves[name], m)[0]) for m in metrics)]
    of_model = {name: find_stages(*curve(curves[name], performance)) for name in names}
    changes = pd.concat([stage_changes(curves[n], of_model[n], list(metrics)).assign(model=n) for n in names])
    columns = 1 if len(names) == 1 else 2
    rows = -(-len(names) // columns)

    def render(figure: Any) -> None:
        axes = grid(figure, len(names), columns, sharey=True, sharex=True)
        for axis, name in zip(axes, names, strict=True):
            colour = look(order.index(name))["color"]
            for metric, line in metrics.items():
                smoothed_line(axis, curves[name], metric, order.index(name), linestyle=line, marker="")
            mark_break(axis, of_model[name], colour)
            axis.set_title(fill(name, 34 if columns == 2 else 70), loc="left")
            step_axis(axis)
            axis.tick_params(labelbottom=True)
        for axis in axes[::columns]:
            axis.set_ylabel("entropy (nats)")
        handles = [figure.axes[0].plot([], [], color="#333333", linestyle=line)[0] for line in metrics.values()]
        legend_below(figure, handles, ["correct responses", "incorrect responses"])

    changes_text = "; ".join(
        f"{row['model']}, {_outcome(str(row['metric']))}, {row['stage']}: {1000 * row['slope']:+.3g} "
        f"[{1000 * row['low']:+.3g}, {1000 * row['high']:+.3g}]"
        for row in changes.to_dict("records")
    )
    caption = (
        f"Mean over the tokens of a step's correct and incorrect responses. Vertical line: end of the rising stage of "
        f"{plain_name(performance)}, shaded: its 95 % interval; none: no two stages. Change per 1,000 steps (nats, "
        f"95 % interval; straight line in the stage): {changes_text or 'too few steps'}. "
        f"{describe_steps(order, curves, list(metrics))} {describe_smoothing(curves)}"
    )
    return Plot(
        "training_entropy_by_outcome",
        "Entropy of correct and of incorrect responses in training",
        caption,
        f"{TRIAL_AND_ERROR}, Fig. 3c",
        long_table(curves, names, list(metrics)),
        render,
        (WIDTH if columns == 1 else 1.35 * WIDTH, 2.5 * rows + legend_height(["", ""])),
    )


def mark_break(axis: Any, stages: Stages, colour: str) -> None:
    if stages.break_step is not None:
        axis.axvline(stages.break_step, color=colour, linewidth=1)
        axis.axvspan(stages.low, stages.high, color=colour, alpha=0.1, linewidth=0)


def _stage_words(stages: Stages) -> str:
    if stages.break_step is None:
        return f"none ({stages.why})"
    return f"step {stages.break_step:.0f} [{stages.low:.0f}, {stages.high:.0f}]"


def _outcome(metric: str) -> str:
    return "correct" if metric.endswith("positive") else "incorrect"
