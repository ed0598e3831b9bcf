"""Training curves as a frame: column `step`, and one per metric under its MLflow name; NaN if a step lacks it.

The intervals of fitted lines account for serial correlation: residuals of successive training steps correlate, so the
textbook interval is too narrow. If residuals at lag j correlate as r^j, the variance of a mean grows by the factor
(1 + r) / (1 - r), so the series has n (1 - r) / (1 + r) effective points. The variance of a slope grows by
1 + 2 sum_j r^j q_j, where q_j is the correlation of x at lag j (Bartlett, 1935).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evals.plots.parts import line_look
from evals.plots.plot import look
from evals.stats.intervals import t_quantile

if TYPE_CHECKING:
    import pandas as pd

Vector = NDArray[np.float64]
Curves = Mapping[str, "pd.DataFrame"]
LABELS = {
    "train/reward": "reward",
    "train/accuracy": "accuracy (fraction)",
    "train/entropy": "entropy (nats)",
    "train/entropy_positive": "entropy, correct (nats)",
    "train/entropy_negative": "entropy, incorrect (nats)",
    "train/grad_norm": "gradient norm",
    "train/kl": "KL to reference (nats)",
    "train/response_length": "response length (tokens)",
    "train/zero_variance_groups": "groups without variance (fraction)",
    "train/shaping_ratio": "shaping / advantage",
    "train/step_seconds": "time of a step (seconds)",
}
SMOOTHING = 0.24  # keeps as much noise as the 0.12 of ERPO's one-sided average (arXiv 2603.28204, Fig. 4)


def curve(curves: pd.DataFrame, metric: str, *more: str) -> tuple[Vector, ...]:
    """(steps, values of each metric) of the steps that have all of the metrics, in order; may be empty.

    Raises:
        ValueError: no column `step`, or a duplicate step.
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
    """At each point t, a straight line fitted with weights (1 - weight)^|t - u| to the points u. [N] -> [N].

    A moving average, as in papers, lags behind the curve, and any average flattens a steep start; a local line does
    neither. Points are treated as evenly spaced.

    Raises:
        ValueError: weight outside (0, 1].
    """
    if not 0 < weight <= 1:
        raise ValueError(f"weight: expected a number in (0, 1], got {weight}")
    x = np.asarray(values, dtype=float)
    if len(x) < 3 or weight == 1:
        return x.copy()
    reach = min(len(x) - 1, 1 + int(np.log(1e-6) / np.log1p(-weight)))  # farther points have no visible weight
    lags = np.arange(-reach, reach + 1)
    weights = (1 - weight) ** np.abs(lags)

    def total(of: Vector, power: int) -> Vector:  # sum over u of weight (u - t)^power of_u
        return np.convolve(of, (weights * (-lags) ** power), mode="full")[reach : reach + len(x)]

    ones = np.ones(len(x))
    s0, s1, s2 = (total(ones, power) for power in range(3))
    fitted: Vector = (s2 * total(x, 0) - s1 * total(x, 1)) / (s0 * s2 - s1 * s1)
    return fitted


def over_seeds(seeds: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """One frame of the training curves of several seeds: the mean of each metric at each step, and a band.

    Args:
        seeds: one frame per training seed: `step` and the metrics; missing values are excluded.
    Returns:
        `step`, each metric's mean; of two seeds or more also `METRIC low`, `METRIC high` (pointwise 95 % t-interval
        over seeds; NaN where one seed has the metric) and `seeds` (the most that have a metric).
    """
    import pandas as pd

    if len(seeds) == 1:
        return seeds[0]
    grouped = pd.concat(seeds, ignore_index=True).groupby("step")
    mean, std, count = grouped.mean(), grouped.std(), grouped.count()
    t = count.map(lambda n: t_quantile(0.975, n - 1) if n > 1 else np.nan)
    half = t * std / np.sqrt(count)
    ends = [mean.sub(half).add_suffix(" low"), mean.add(half).add_suffix(" high"), count.max(axis=1).rename("seeds")]
    return pd.concat([mean, *ends], axis=1).reset_index()


def smoothed_line(axis: Any, curves: pd.DataFrame, metric: str, place: int, smoothing: float, **style: Any) -> None:
    """A metric over steps: pale values, a strong smoothed line, and with several seeds a band, smoothed likewise."""
    steps, values = curve(curves, metric)
    if not len(steps):
        return
    colour = look(place)["color"]
    axis.plot(steps, values, color=colour, linewidth=0.5, alpha=0.3)
    axis.plot(steps, smoothed(values, smoothing), **{**line_look(place, len(steps)), **style})
    at, low, high = curve(curves, f"{metric} low", f"{metric} high")
    if len(at):
        axis.fill_between(
            at, smoothed(low, smoothing), smoothed(high, smoothing), color=colour, alpha=0.13, linewidth=0
        )


def fit_lines(axis: Any) -> None:
    """Fit the y axis to the lines, with a margin of a quarter of their range; it may cut a wide band."""
    values = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in axis.lines] or [np.empty(0)])
    values = values[np.isfinite(values)]
    if len(values):
        low, high = float(values.min()), float(values.max())
        spare = 0.25 * (high - low) or 0.05 * abs(high) or 1.0
        axis.set_ylim(low - spare, high + spare)


def fair_performance(curves: Curves) -> str:
    """The metric that compares runs: accuracy if every run has it, else the reward.

    Rewards of different methods have different units (0 or 1, -1 or 1, with or without a format reward).
    """
    return "train/accuracy" if all(len(curve(c, "train/accuracy")[0]) for c in curves.values()) else "train/reward"


def line_handles(figure: Any, order: Sequence[str], names: Sequence[str]) -> list[Any]:
    return [figure.axes[0].plot([], [], **line_look(order.index(name), 1))[0] for name in names]


def plain_name(metric: str) -> str:
    return metric.removeprefix("train/").replace("_", " ")


def describe_smoothing(weight: float, curves: Curves) -> str:
    """Describes the lines, for a caption."""
    text = f"Pale: every step; strong: local straight line, exponential weights ({weight:g})."
    seeds = {name: int(c["seeds"].max()) for name, c in curves.items() if "seeds" in c}
    if not seeds:
        return f"{text} One training seed a line."
    told = ", ".join(f"{name} {seeds.get(name, 1)}" for name in curves)
    band = "band: pointwise 95 % t-interval over seeds, smoothed alike, cut by the axis"
    return f"{text} Mean over training seeds ({told}); {band}."


def describe_steps(order: Sequence[str], curves: Curves, metrics: Sequence[str]) -> str:
    """ "Steps: GRPO 60, EGSW 60. Without these curves: base." """
    held = {
        name: max((len(curve(curves[name], metric)[0]) for metric in metrics), default=0) if name in curves else 0
        for name in order
    }
    told = "Steps: " + ", ".join(f"{name} {n:,}" for name, n in held.items() if n) + "."
    without = [name for name, n in held.items() if not n]
    return told + (f" Without such curves: {', '.join(without)}." if without else "")


def long_table(curves: Curves, names: Sequence[str], metrics: Sequence[str]) -> pd.DataFrame:
    """`model`, `step` and the metrics, as far as a run has them."""
    import pandas as pd

    ends = [f"{metric} {end}" for metric in metrics for end in ("low", "high")]
    columns = [*metrics, *(end for end in ends if any(end in curves[name] for name in names))]
    parts = [curves[name].reindex(columns=["step", *columns]).assign(model=name) for name in names]
    return pd.concat(parts, ignore_index=True)[["model", "step", *columns]]


@dataclass(frozen=True)
class LineFit:
    """y = intercept + slope x by least squares, with the data for its intervals.

    `scale` is the standard deviation of the residuals (n - 2), `correlation` their lag-1 correlation (0 if negative),
    `mean_inflation` and `slope_inflation` are the variance factors, `degrees` the degrees of freedom of t.
    """

    slope: float
    intercept: float
    n: int
    mean_x: float
    spread_x: float
    scale: float
    correlation: float
    mean_inflation: float
    slope_inflation: float
    degrees: int

    def at(self, x: float) -> float:
        """The line's height at x."""
        return self.intercept + self.slope * x

    def interval_at(self, x: float, *, level: float = 0.95) -> tuple[float, float]:
        """The interval for the line's height at x (not for a new point)."""
        of_slope = self.slope_inflation * (x - self.mean_x) ** 2 / self.spread_x
        half = self._half(self.mean_inflation / self.n + of_slope, level)
        return self.at(x) - half, self.at(x) + half

    def slope_interval(self, *, level: float = 0.95) -> tuple[float, float]:
        half = self._half(self.slope_inflation / self.spread_x, level)
        return self.slope - half, self.slope + half

    def _half(self, variance: float, level: float) -> float:
        return t_quantile((1 + level) / 2, self.degrees) * self.scale * math.sqrt(variance)


def fit_line(x: ArrayLike, y: ArrayLike) -> LineFit:
    """Least squares of y on x, both [N], in time order.

    Coverage of the 95 % intervals of slope and intercept, measured (1,000 simulations each; x a smooth trend, with and
    without noise; autoregressive errors; n in (20, 50, 200, 1000)): with lag-1 correlation 0 it is 95 to 97 %, 0.3 93
    to 96 %, 0.6 92 to 96 %, 0.9 85 to 95 %.

    Raises:
        ValueError: different lengths, fewer than 4 points, a value that is not finite, or constant x.
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if x.shape != y.shape or x.ndim != 1 or len(x) < 4:
        raise ValueError(f"a line needs at least 4 points (x, y), got shapes {x.shape} and {y.shape}")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("x and y must be finite: exclude what was not measured")
    centred = x - x.mean()
    spread = float(centred @ centred)
    if spread <= 1e-24 * float(x @ x):
        raise ValueError(f"x must vary, got {x[0]} in all of {len(x)} points")
    slope = float(centred @ (y - y.mean())) / spread
    residuals = y - y.mean() - slope * centred
    r = serial_correlation(residuals, fitted=2)
    return LineFit(
        slope=slope,
        intercept=float(y.mean() - slope * x.mean()),
        n=len(x),
        mean_x=float(x.mean()),
        spread_x=spread,
        scale=math.sqrt(float(residuals @ residuals) / (len(x) - 2)),
        correlation=r,
        mean_inflation=(1 + r) / (1 - r),
        slope_inflation=_inflation(centred, r),
        degrees=max(1, math.floor(worth(len(x), r)) - 2),
    )


def serial_correlation(residuals: Vector, *, fitted: int) -> float:
    """Lag-1 correlation of the residuals of a fit with `fitted` coefficients, in [0, 0.99].

    Residuals of a fit are less correlated than the errors, by about (fitted + (fitted + 2) r) / n; this corrects it.
    Negative correlation counts as 0.
    """
    n = len(residuals)
    raw = _correlation(residuals, 1)
    return float(np.clip((n * raw + fitted) / max(1, n - fitted - 2), 0.0, 0.99))


def worth(n: int, correlation: float) -> float:
    """The effective number of independent points among n correlated ones, n (1 - r) / (1 + r)."""
    return n * (1 - correlation) / (1 + correlation)


def _inflation(x: Vector, r: float) -> float:
    """1 + 2 sum_j r^j q_j over the lags that matter, at least 1; x around 0."""
    lags = 0 if r == 0 else min(len(x) - 1, math.ceil(math.log(1e-3) / math.log(r)))
    return max(1.0, 1 + 2 * sum(r**lag * _correlation(x, lag) for lag in range(1, lags + 1)))


def _correlation(values: Vector, lag: int) -> float:
    """sum of x_t x_(t+lag) over sum of x_t^2, for values around 0; 0 where all are 0."""
    total = float(values @ values)
    return float(values[lag:] @ values[:-lag]) / total if total else 0.0
