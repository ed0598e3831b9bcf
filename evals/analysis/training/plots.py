"""Figures from training curves: dynamics, stages, entropy of right and wrong responses, entropy against reward."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.analysis.subjects import Subject
from evals.analysis.training.curves import SMOOTHING, Vector, curve, smoothed
from evals.analysis.training.entropy_reward import EntropyReward, Estimate, fit_entropy_reward
from evals.analysis.training.stage_changes import stage_changes
from evals.analysis.training.stages import Stages, find_stages
from evals.plots.drawing import HEIGHT, WIDTH, Drawing, look, tidy
from evals.plots.parts import legend_below, legend_height, line_look, names_of

if TYPE_CHECKING:
    import pandas as pd

Curves = Mapping[str, "pd.DataFrame"]

TRIAL_AND_ERROR, ENTROPY_ADVANTAGE, ERPO, EGSW = (
    "arXiv 2508.07534",
    "arXiv 2506.14758",
    "arXiv 2603.28204",
    "arXiv 2503.22456",
)
LABELS = {
    "train/reward": "reward",
    "train/accuracy": "accuracy (fraction)",
    "train/entropy": "entropy (nats)",
    "train/entropy_positive": "entropy, right (nats)",
    "train/entropy_negative": "entropy, wrong (nats)",
    "train/grad_norm": "gradient norm",
    "train/kl": "KL to reference (nats)",
    "train/response_length": "response length (tokens)",
    "train/zero_variance_groups": "groups without variance (fraction)",
    "train/shaping_ratio": "shaping / advantage",
}


def draw_training(
    subjects: Sequence[Subject],
    curves: Curves,
    *,
    performance: str = "train/reward",
    smoothing: float = SMOOTHING,
    marginal: float = 0.5,
) -> list[Drawing]:
    """Every figure of this file that the curves have the metrics for.

    Args:
        subjects: the runs, the base model first; their order decides how each looks.
        curves: name of the run -> its training curves (`evals.analysis.training.curves`). Runs without (the base
        model) are not
            drawn, and the captions say so.
        performance: the metric whose stages are looked for and that is set against entropy.
        smoothing: see `evals.analysis.training.curves.smoothed`. marginal: see
        `evals.analysis.training.stages.find_stages`.
    Raises:
        ValueError: no run has curves, or curves of an unknown run.
    """
    order = names_of(subjects)
    if strange := set(curves) - set(order):
        raise ValueError(f"curves: expected names among {order}, got {min(strange)!r}")
    if not curves:
        raise ValueError("curves: expected training curves of at least one run, got none")
    made: list[tuple[Callable[[], Drawing], tuple[str, ...]]] = [
        (lambda: dynamics(order, curves, smoothing=smoothing), ("train/reward",)),
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
    ]
    return [draw() for draw, metrics in made if any(len(curve(c, *metrics)[0]) for c in curves.values())]


def dynamics(order: Sequence[str], curves: Curves, *, smoothing: float = SMOOTHING) -> Drawing:
    """Reward, entropy, gradient norm and KL over steps (arXiv 2603.28204, Fig. 4; arXiv 2503.22456, Fig. 1 and 3)."""
    wanted = ("train/reward", "train/entropy", "train/grad_norm", "train/kl")
    metrics = [m for m in wanted if any(len(curve(c, m)[0]) for c in curves.values())]
    names = [name for name in order if name in curves]
    rows = -(-len(metrics) // 2)

    def draw(figure: Any) -> None:
        axes = figure.subplots(rows, 2 if len(metrics) > 1 else 1, squeeze=False).ravel()
        for axis, metric in zip(axes, metrics, strict=False):
            for name in names:
                _line(axis, curve(curves[name], metric), order.index(name), smoothing)
            axis.set(xlabel="optimiser step", ylabel=LABELS[metric])
            tidy(axis)
        for axis in axes[len(metrics) :]:
            axis.remove()
        legend_below(figure, _handles(figure, order, names), names)

    caption = f"{_steps(order, curves, metrics)} {_smooth(smoothing)}"
    return Drawing(
        "training_dynamics",
        "Training dynamics",
        caption,
        f"{ERPO}, Fig. 4; {EGSW}, Fig. 1 and 3",
        _long(curves, names, metrics),
        draw,
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
}


def single(order: Sequence[str], curves: Curves, metric: str, *, smoothing: float = SMOOTHING) -> Drawing:
    """One metric over steps: response length (arXiv 2503.22456, Fig. 2 and 4; 2603.28204, Fig. 5c), groups without
    variance, or what shaping adds to the advantage (arXiv 2506.14758, Fig. 7).

    Raises:
        ValueError: another metric.
    """
    if metric not in _SINGLE:
        raise ValueError(f"metric: expected one of {', '.join(_SINGLE)}, got {metric!r}")
    title, source, what = _SINGLE[metric]
    names = [name for name in order if name in curves and len(curve(curves[name], metric)[0])]

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        for name in names:
            _line(axis, curve(curves[name], metric), order.index(name), smoothing)
        axis.set(xlabel="optimiser step", ylabel=LABELS[metric])
        if metric == "train/zero_variance_groups":
            axis.set_ylim(-0.03, 1.03)
        else:
            axis.set_ylim(0, 1.08 * max(curve(curves[name], metric)[1].max() for name in names))
        tidy(axis)
        legend_below(figure, _handles(figure, order, names), names)

    caption = f"{what} {_steps(order, curves, [metric])} {_smooth(smoothing)}"
    name = f"training_{metric.removeprefix('train/')}"
    size = (WIDTH, HEIGHT - 0.4 + legend_height(names))
    return Drawing(name, title, caption, source, _long(curves, names, [metric]), draw, size)


def stages(
    order: Sequence[str],
    curves: Curves,
    *,
    performance: str = "train/reward",
    smoothing: float = SMOOTHING,
    marginal: float = 0.5,
) -> Drawing:
    """Performance and entropy over steps, with the end of the rising stage (arXiv 2508.07534, Fig. 3a)."""
    names = [name for name in order if name in curves and len(curve(curves[name], performance)[0])]
    found = {name: find_stages(*curve(curves[name], performance), marginal=marginal) for name in names}
    numbers = _long(curves, names, [performance, "train/entropy"])
    numbers["break_step"] = [found[name].break_step for name in numbers["model"]]
    numbers["break_low"] = [found[name].low for name in numbers["model"]]
    numbers["break_high"] = [found[name].high for name in numbers["model"]]

    def draw(figure: Any) -> None:
        axes = figure.subplots(2, 1, sharex=True)
        for axis, metric in zip(axes, (performance, "train/entropy"), strict=True):
            for name in names:
                place = order.index(name)
                _line(axis, curve(curves[name], metric), place, smoothing)
                _mark_break(axis, found[name], look(place)["color"])
            axis.set_ylabel(LABELS.get(metric, metric.removeprefix("train/")))
            tidy(axis)
        axes[1].set_xlabel("optimiser step")
        legend_below(figure, _handles(figure, order, names), names)

    told = "; ".join(f"{name}: {_stage_words(found[name])}" for name in names)
    caption = (
        f"Vertical line: end of the rising stage, the break of the best fit of {_plain(performance)} by two straight "
        f"lines that meet; shaded: its 95 % interval. {told}. "
        f"{_steps(order, curves, [performance])} {_smooth(smoothing)}"
    )
    return Drawing(
        "training_stages",
        "Rising and plateau stage",
        caption,
        f"{TRIAL_AND_ERROR}, Fig. 3a",
        numbers,
        draw,
        (WIDTH, 4.2 + legend_height(names)),
    )


def entropy_by_outcome(
    order: Sequence[str],
    curves: Curves,
    *,
    performance: str = "train/reward",
    smoothing: float = SMOOTHING,
    marginal: float = 0.5,
) -> Drawing:
    """Entropy of right and of wrong responses over steps (arXiv 2508.07534, Fig. 3c without its bars)."""
    import pandas as pd

    metrics = {"train/entropy_positive": "-", "train/entropy_negative": "--"}
    names = [name for name in order if name in curves and any(len(curve(curves[name], m)[0]) for m in metrics)]
    found = {name: find_stages(*curve(curves[name], performance), marginal=marginal) for name in names}
    changes = pd.concat([stage_changes(curves[n], found[n], list(metrics)).assign(model=n) for n in names])
    columns = 1 if len(names) == 1 else 2
    rows = -(-len(names) // columns)

    def draw(figure: Any) -> None:
        axes = figure.subplots(rows, columns, squeeze=False, sharey=True, sharex=True).ravel()
        for axis, name in zip(axes, names, strict=False):
            colour = look(order.index(name))["color"]
            for metric, line in metrics.items():
                _line(axis, curve(curves[name], metric), order.index(name), smoothing, linestyle=line, marker="")
            _mark_break(axis, found[name], colour)
            axis.set_title(fill(name, 34 if columns == 2 else 70), loc="left")
            axis.set_xlabel("optimiser step")
            axis.tick_params(labelbottom=True)
            tidy(axis)
        for axis in axes[::columns]:
            axis.set_ylabel("entropy (nats)")
        for axis in axes[len(names) :]:
            axis.remove()
        handles = [figure.axes[0].plot([], [], color="#333333", linestyle=line)[0] for line in metrics.values()]
        legend_below(figure, handles, ["right responses", "wrong responses"])

    told = "; ".join(
        f"{row['model']}, {_outcome(str(row['metric']))}, {row['stage']}: {1000 * row['slope']:+.3g} "
        f"[{1000 * row['low']:+.3g}, {1000 * row['high']:+.3g}]"
        for row in changes.to_dict("records")
    )
    caption = (
        f"Mean over the tokens of a step's right and wrong responses. Vertical line: end of the rising stage of "
        f"{_plain(performance)}, shaded: its 95 % interval; none: no two stages. Change per 1,000 steps (nats, 95 % "
        f"interval; straight line in the stage): {told or 'too few steps'}. {_steps(order, curves, list(metrics))} "
        f"{_smooth(smoothing)}"
    )
    return Drawing(
        "training_entropy_by_outcome",
        "Entropy of right and of wrong responses in training",
        caption,
        f"{TRIAL_AND_ERROR}, Fig. 3c",
        _long(curves, names, list(metrics)),
        draw,
        (WIDTH if columns == 1 else 1.35 * WIDTH, 2.5 * rows + legend_height(["", ""])),
    )


def entropy_against_reward(order: Sequence[str], curves: Curves, *, performance: str = "train/reward") -> Drawing:
    """Reward against entropy, and the law R = -a exp(H) + b (arXiv 2508.07534, section 3.1)."""
    import pandas as pd

    points = {name: curve(curves[name], "train/entropy", performance) for name in order if name in curves}
    names = [name for name, (steps, _, _) in points.items() if len(steps)]
    laws = {name: _law(points[name]) for name in names}
    rows = []
    for name in names:
        law = laws[name]
        for step, h, r in zip(*points[name], strict=True):
            rows.append((name, step, h, r, law.reward(h).item() if isinstance(law, EntropyReward) else np.nan))
    numbers = pd.DataFrame(rows, columns=["model", "step", "entropy (nats)", performance, "fitted"])

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        handles = []
        for name in names:
            _, h, r = points[name]
            style, law = look(order.index(name)), laws[name]
            axis.scatter(h, r, s=10, color=style["color"], marker=style["marker"], alpha=0.35, linewidths=0)
            if isinstance(law, EntropyReward):
                along = np.linspace(h.min(), h.max(), 100)
                axis.plot(along, law.reward(along), color=style["color"], linestyle=style["linestyle"], linewidth=1.6)
            handles += axis.plot([], [], **{**style, "markersize": 4})
        axis.set(xlabel="entropy (nats)", ylabel=LABELS.get(performance, _plain(performance)))
        tidy(axis)
        legend_below(figure, handles, names)

    told = "; ".join(f"{name}: {_law_words(laws[name])}" for name in names)
    caption = (
        f"A point a step; line: R = -a exp(H) + b by least squares, R the {_plain(performance)}. {told}. 95 % "
        f"intervals allow for serial correlation, not for noise in H. "
        f"{_steps(order, curves, ['train/entropy', performance])}"
    )
    return Drawing(
        "training_entropy_reward",
        "What reward costs in entropy",
        caption,
        f"{TRIAL_AND_ERROR}, section 3.1",
        numbers,
        draw,
        (WIDTH, HEIGHT - 0.4 + legend_height(names)),
    )


def _law(points: tuple[Any, ...]) -> EntropyReward | str:
    try:
        return fit_entropy_reward(points[1], points[2])
    except ValueError as error:  # too few steps, or an entropy that never changes: said in the caption
        return f"no fit ({error})"


def _law_words(law: EntropyReward | str) -> str:
    if isinstance(law, str):
        return law

    def value(e: Estimate) -> str:
        return f"{e.value:.3g} [{e.low:.3g}, {e.high:.3g}]"

    return f"a = {value(law.a)}, b = {value(law.b)}, R squared {law.explained:.2f}"


def _line(axis: Any, points: tuple[Vector, ...], place: int, smoothing: float, **style: Any) -> None:
    """The values pale, smoothed strong."""
    steps, values = points
    if len(steps):
        axis.plot(steps, values, color=look(place)["color"], linewidth=0.5, alpha=0.3)
        axis.plot(steps, smoothed(values, smoothing), **{**line_look(place, len(steps)), **style})


def _mark_break(axis: Any, found: Stages, colour: str) -> None:
    if found.break_step is not None:
        axis.axvline(found.break_step, color=colour, linewidth=1)
        axis.axvspan(found.low, found.high, color=colour, alpha=0.1, linewidth=0)


def _handles(figure: Any, order: Sequence[str], names: Sequence[str]) -> list[Any]:
    return [figure.axes[0].plot([], [], **line_look(order.index(name), 1))[0] for name in names]


def _stage_words(found: Stages) -> str:
    if found.break_step is None:
        return f"none ({found.why})"
    return f"step {found.break_step:.0f} [{found.low:.0f}, {found.high:.0f}]"


def _outcome(metric: str) -> str:
    return "right" if metric.endswith("positive") else "wrong"


def _plain(metric: str) -> str:
    return metric.removeprefix("train/").replace("_", " ")


def _smooth(weight: float) -> str:
    return f"Pale: every step; strong: local straight line, exponential weights ({weight:g}). One training seed a line."


def _steps(order: Sequence[str], curves: Curves, metrics: Sequence[str]) -> str:
    """ "Steps: GRPO 60, EGSW 60. Without these curves: base." """
    held = {
        name: max((len(curve(curves[name], metric)[0]) for metric in metrics), default=0) if name in curves else 0
        for name in order
    }
    told = "Steps: " + ", ".join(f"{name} {n:,}" for name, n in held.items() if n) + "."
    without = [name for name, n in held.items() if not n]
    return told + (f" Without such curves: {', '.join(without)}." if without else "")


def _long(curves: Curves, names: Sequence[str], metrics: Sequence[str]) -> pd.DataFrame:
    """`model`, `step` and the metrics, as far as a run has them."""
    import pandas as pd

    parts = [curves[name].reindex(columns=["step", *metrics]).assign(model=name) for name in names]
    return pd.concat(parts, ignore_index=True)[["model", "step", *metrics]]
