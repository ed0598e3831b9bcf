"""Figures of training curves: dynamics, stages, entropy of correct and incorrect responses, entropy against reward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from evals.analysis.papers import EGSW, ENTROPY_ADVANTAGE, ERPO
from evals.analysis.subjects import Subject
from evals.analysis.training.curves import (
    LABELS,
    SMOOTHING,
    Curves,
    curve,
    describe_smoothing,
    describe_steps,
    fair_performance,
    fit_lines,
    line_handles,
    long_table,
    smoothed_line,
)
from evals.analysis.training.entropy_reward import entropy_against_reward
from evals.analysis.training.stages import entropy_by_outcome, stages
from evals.plots.parts import legend_below, legend_height, names_of
from evals.plots.plot import HEIGHT, WIDTH, Plot, tidy


def plot_training(
    subjects: Sequence[Subject],
    curves: Curves,
    *,
    performance: str | None = None,
    smoothing: float = SMOOTHING,
    marginal: float = 0.5,
) -> list[Plot]:
    """Every figure of this file that the curves have the metrics for.

    Args:
        subjects: the runs, the base model first; their order decides how each looks.
        curves: name of the run -> its training curves (`evals.analysis.training.curves.over_seeds`). Runs without (the
            base model) are not shown, and the captions say so.
        performance: the metric whose stages are looked for and that is set against entropy; None takes
            `fair_performance`.
        smoothing: see `curves.smoothed`. marginal: see `stages.find_stages`.
    Raises:
        ValueError: no run has curves, or curves of an unknown run.
    """
    order = names_of(subjects)
    if strange := set(curves) - set(order):
        raise ValueError(f"curves: expected names among {order}, got {min(strange)!r}")
    if not curves:
        raise ValueError("curves: expected training curves of at least one run, got none")
    performance = performance or fair_performance(curves)
    made: list[tuple[Callable[[], Plot], tuple[str, ...]]] = [
        (lambda: dynamics(order, curves, performance=performance, smoothing=smoothing), (performance,)),
        (lambda: single(order, curves, "train/response_length", smoothing=smoothing), ("train/response_length",)),
        (
            lambda: stages(order, curves, performance=performance, smoothing=smoothing, marginal=marginal),
            (performance, "train/entropy"),
        ),
        (
            lambda: entropy_by_outcome(order, curves, performance=performance, smoothing=smoothing, marginal=marginal),
            ("train/entropy_negative",),
        ),
        (lambda: entropy_against_reward(order, curves, performance=performance), ("train/entropy", performance)),
        (
            lambda: single(order, curves, "train/zero_variance_groups", smoothing=smoothing),
            ("train/zero_variance_groups",),
        ),
        (lambda: single(order, curves, "train/shaping_ratio", smoothing=smoothing), ("train/shaping_ratio",)),
        (lambda: single(order, curves, "train/step_seconds", smoothing=smoothing), ("train/step_seconds",)),
    ]
    return [plot() for plot, metrics in made if any(len(curve(c, *metrics)[0]) for c in curves.values())]


def dynamics(
    order: Sequence[str], curves: Curves, *, performance: str = "train/reward", smoothing: float = SMOOTHING
) -> Plot:
    """Accuracy or reward, entropy, gradient norm, KL over steps (arXiv 2603.28204, Fig. 4; 2503.22456, Fig. 1, 3)."""
    wanted = (performance, "train/entropy", "train/grad_norm", "train/kl")
    metrics = [m for m in wanted if any(len(curve(c, m)[0]) for c in curves.values())]
    names = [name for name in order if name in curves]
    rows = -(-len(metrics) // 2)

    def render(figure: Any) -> None:
        axes = figure.subplots(rows, 2 if len(metrics) > 1 else 1, squeeze=False).ravel()
        for axis, metric in zip(axes, metrics, strict=False):
            for name in names:
                smoothed_line(axis, curves[name], metric, order.index(name), smoothing)
            axis.set(xlabel="optimiser step", ylabel=LABELS[metric])
            fit_lines(axis)
            tidy(axis)
        for axis in axes[len(metrics) :]:
            axis.remove()
        legend_below(figure, line_handles(figure, order, names), names)

    caption = f"{describe_steps(order, curves, metrics)} {describe_smoothing(smoothing, curves)}"
    return Plot(
        "training_dynamics",
        "Training dynamics",
        caption,
        f"{ERPO}, Fig. 4; {EGSW}, Fig. 1 and 3",
        long_table(curves, names, metrics),
        render,
        (1.35 * WIDTH, 2.3 * rows + legend_height(names)),
    )


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


def single(order: Sequence[str], curves: Curves, metric: str, *, smoothing: float = SMOOTHING) -> Plot:
    """One metric over steps: response length (arXiv 2503.22456, Fig. 2 and 4; 2603.28204, Fig. 5c), groups without
    variance, or what shaping adds to the advantage (arXiv 2506.14758, Fig. 7).

    Raises:
        ValueError: another metric.
    """
    if metric not in _SINGLE:
        raise ValueError(f"metric: expected one of {', '.join(_SINGLE)}, got {metric!r}")
    title, source, what = _SINGLE[metric]
    names = [name for name in order if name in curves and len(curve(curves[name], metric)[0])]

    def render(figure: Any) -> None:
        axis = figure.subplots()
        for name in names:
            smoothed_line(axis, curves[name], metric, order.index(name), smoothing)
        axis.set(xlabel="optimiser step", ylabel=LABELS[metric])
        if metric == "train/zero_variance_groups":
            axis.set_ylim(-0.03, 1.03)
        else:
            axis.set_ylim(0, 1.08 * max(curve(curves[name], metric)[1].max() for name in names))
        tidy(axis)
        legend_below(figure, line_handles(figure, order, names), names)

    caption = f"{what} {describe_steps(order, curves, [metric])} {describe_smoothing(smoothing, curves)}"
    name = f"training_{metric.removeprefix('train/')}"
    size = (WIDTH, HEIGHT - 0.4 + legend_height(names))
    return Plot(name, title, caption, source, long_table(curves, names, [metric]), render, size)
