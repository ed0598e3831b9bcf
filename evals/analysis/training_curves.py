"""Training curves: frames with the column `step` and one per metric under its MLflow name (NaN if a step lacks it), as
figures over steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evals.analysis import EGSW, ENTROPY_ADVANTAGE, ERPO
from evals.plots.panels import grid
from evals.plots.parts import legend_below, legend_height, line_look
from evals.plots.plot import HEIGHT, WIDTH, Plot, look, step_axis
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
SHARES = ("train/accuracy", "train/zero_variance_groups")
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

    def total(terms: Vector, power: int) -> Vector:  # sum over u of weight (u - t)^power terms_u
        return np.convolve(terms, (weights * (-lags) ** power), mode="full")[reach : reach + len(x)]

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


def smoothed_line(axis: Any, curves: pd.DataFrame, metric: str, place: int, **style: Any) -> None:
    """A metric over steps: pale values, a strong smoothed line, and with several seeds a band, smoothed likewise."""
    steps, values = curve(curves, metric)
    if not len(steps):
        return
    colour = look(place)["color"]
    axis.plot(steps, values, color=colour, linewidth=0.5, alpha=0.3)
    axis.plot(steps, smoothed(values), **{**line_look(place, len(steps)), **style})
    at, low, high = curve(curves, f"{metric} low", f"{metric} high")
    if len(at):
        axis.fill_between(at, smoothed(low), smoothed(high), color=colour, alpha=0.13, linewidth=0)


def fit_lines(axis: Any, metric: str) -> None:
    """Fit the y axis to the lines, with a margin of a quarter of their range; it may cut a wide band, and the axis of a
    share stays within 0 and 1. Runs of unlike magnitudes (medians ten times apart) get a logarithmic axis."""
    lines = [np.asarray(line.get_ydata(), dtype=float) for line in axis.lines]
    lines = [line[np.isfinite(line)] for line in lines if np.isfinite(line).any()]
    if not lines:
        return
    low, high = min(float(line.min()) for line in lines), max(float(line.max()) for line in lines)
    medians = [float(np.median(line)) for line in lines]
    if low > 0 and max(medians) > 10 * min(medians):
        axis.set_yscale("log")
        axis.set_ylim(low / 1.3, 1.3 * high)
        return
    spare = 0.25 * (high - low) or 0.05 * abs(high) or 1.0
    low, high = low - spare, high + spare
    axis.set_ylim(*((max(low, -0.02), min(high, 1.02)) if metric in SHARES else (low, high)))


def fair_performance(curves: Curves) -> str:
    """The metric that compares runs: accuracy if every run has it, else the reward.

    Rewards of different methods have different units (0 or 1, -1 or 1, with or without a format reward).
    """
    return "train/accuracy" if all(len(curve(c, "train/accuracy")[0]) for c in curves.values()) else "train/reward"


def line_handles(figure: Any, order: Sequence[str], names: Sequence[str]) -> list[Any]:
    return [figure.axes[0].plot([], [], **line_look(order.index(name), 1))[0] for name in names]


def plain_name(metric: str) -> str:
    return metric.removeprefix("train/").replace("_", " ")


def describe_smoothing(curves: Curves) -> str:
    """Describes the lines, for a caption."""
    text = f"Pale: every step; strong: local straight line, exponential weights ({SMOOTHING:g})."
    seeds = {name: int(c["seeds"].max()) for name, c in curves.items() if "seeds" in c}
    if not seeds:
        return f"{text} One training seed a line."
    seed_counts = ", ".join(f"{name} {seeds.get(name, 1)}" for name in curves)
    band = "band: pointwise 95 % t-interval over seeds, smoothed alike, cut by the axis"
    return f"{text} Mean over training seeds ({seed_counts}); {band}."


def describe_steps(order: Sequence[str], curves: Curves, metrics: Sequence[str]) -> str:
    """ "Steps: GRPO 60, EGSW 60. Without these curves: base." """
    steps = {
        name: max((len(curve(curves[name], metric)[0]) for metric in metrics), default=0) if name in curves else 0
        for name in order
    }
    text = "Steps: " + ", ".join(f"{name} {n:,}" for name, n in steps.items() if n) + "."
    without = [name for name, n in steps.items() if not n]
    return text + (f" Without such curves: {', '.join(without)}." if without else "")


def long_table(curves: Curves, names: Sequence[str], metrics: Sequence[str]) -> pd.DataFrame:
    """`model`, `step` and the metrics, as far as a run has them."""
    import pandas as pd

    ends = [f"{metric} {end}" for metric in metrics for end in ("low", "high")]
    columns = [*metrics, *(end for end in ends if any(end in curves[name] for name in names))]
    parts = [curves[name].reindex(columns=["step", *columns]).assign(model=name) for name in names]
    return pd.concat(parts, ignore_index=True)[["model", "step", *columns]]


def plot_training(order: Sequence[str], curves: Curves) -> list[Plot]:
    """Every figure of training for which the curves have the metrics.

    Args:
        order: all runs, the base model first; decides how each looks.
        curves: name of the run -> its training curves (`over_seeds`). Runs without (the base model) are not shown, and
            the captions say so.
    Raises:
        ValueError: no run has curves, or curves of an unknown run.
    """
    if strange := set(curves) - set(order):
        raise ValueError(f"curves: expected names among {order}, got {min(strange)!r}")
    if not curves:
        raise ValueError("curves: expected training curves of at least one run, got none")
    measured = {metric for c in curves.values() for metric in LABELS if len(curve(c, metric)[0])}
    plots = [dynamics(order, curves, performance=fair_performance(curves))]
    return plots + [single(order, curves, metric) for metric in _SINGLE if metric in measured]


def dynamics(order: Sequence[str], curves: Curves, *, performance: str = "train/reward") -> Plot:
    """Accuracy or reward, entropy, gradient norm, KL over steps (arXiv 2603.28204, Fig. 4; 2503.22456, Fig. 1, 3)."""
    shown = (performance, "train/entropy", "train/grad_norm", "train/kl")
    metrics = [m for m in shown if any(len(curve(c, m)[0]) for c in curves.values())]
    return _over_steps("training_dynamics", "Training dynamics", f"{ERPO}, Fig. 4; {EGSW}, Fig. 1 and 3", "", order,
                       curves, metrics)  # fmt: skip


_SINGLE = {
    "train/response_length": (
        "Length of responses in training",
        f"{EGSW}, Fig. 2 and 4; {ERPO}, Fig. 5c",
        "Mean over the step's responses.",
    ),
    "train/zero_variance_groups": (
        "Prompt groups that teach nothing",
        "",
        "Share of the step's prompt groups whose scored rewards are all equal: their group-relative advantage is 0.",
    ),
    "train/shaping_ratio": (
        "What shaping adds to the advantage",
        f"{ENTROPY_ADVANTAGE}, Fig. 7",
        "Sum over tokens of |shaped - unshaped advantage| over sum of |unshaped advantage|.",
    ),
    "train/step_seconds": (
        "Time of an optimiser step",
        f"{ERPO}, Fig. 5b",
        "Wall time of each step, sampling included; runs may have shared a machine with others.",
    ),
}


def single(order: Sequence[str], curves: Curves, metric: str) -> Plot:
    """One metric over steps, of those in `_SINGLE`."""
    title, source, what = _SINGLE[metric]
    name = f"training_{metric.removeprefix('train/')}"
    return _over_steps(name, title, source, what, order, curves, [metric])


def _over_steps(
    name: str, title: str, source: str, what: str, order: Sequence[str], curves: Curves, metrics: Sequence[str]
) -> Plot:
    """A panel a metric, at most two in a line."""
    names = [run for run in order if run in curves and any(len(curve(curves[run], m)[0]) for m in metrics)]
    rows, columns = -(-len(metrics) // 2), min(2, len(metrics))

    def render(figure: Any) -> None:
        for axis, metric in zip(grid(figure, len(metrics), columns), metrics, strict=True):
            for run in names:
                smoothed_line(axis, curves[run], metric, order.index(run))
            step_axis(axis)
            axis.set_ylabel(LABELS[metric])
            fit_lines(axis, metric)
        legend_below(figure, line_handles(figure, order, names), names)

    steps = describe_steps(order, curves, metrics)
    caption = " ".join(part for part in (what, steps, describe_smoothing(curves)) if part)
    size = (1.35 * WIDTH, 2.3 * rows) if columns == 2 else (WIDTH, HEIGHT - 0.4)
    numbers = long_table(curves, names, metrics)
    return Plot(name, title, caption, source, numbers, render, (size[0], size[1] + legend_height(names)))
