"""The figures of the study, from the same runs as its tables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evals.analysis.training_curves import mean_over_seeds
from evals.plots.figures import band_lines
from evals.plots.parts import legend_below, legend_height, name_rows, offsets, point_look, points, span
from evals.plots.plot import WIDTH, Plot
from harness.spec.scales import SCALES
from studies.tiny.design import Design
from studies.tiny.outcomes import gains, placebos
from studies.tiny.scores import Arms

if TYPE_CHECKING:
    import pandas as pd

CURVES = {"train/accuracy": "training accuracy", "train/entropy": "entropy (nats a token)"}


def figures(design: Design, arms: Arms) -> list[Plot]:
    """Learning curves of each family, and gains beside placebos, as far as measured."""
    plots = []
    for scale in design.families:
        curves = curve_points(arms, scale)
        for metric, label in CURVES.items():
            if metric in curves:
                plots.append(learning_curves(curves, metric, scale, label))
    beside = gains_beside_placebos(design, arms)
    return plots if beside.empty else [*plots, placebo_points(beside)]


def curve_points(arms: Arms, scale: str) -> pd.DataFrame:
    """`model` ("PAPER ARM"), `seed`, `step` and a column for each of CURVES, of the trained arms of one family."""
    import pandas as pd

    rows = [
        {"model": f"{paper} {arm}", "seed": seed, "step": step, "metric": metric, "value": value}
        for (family, paper, arm), m in arms.items()
        if family == scale and m.trained
        for seed in m.seeds
        for metric in CURVES
        for step, value in m.curves.get(seed, {}).get(metric, ())
    ]
    if not rows:
        return pd.DataFrame()
    wide = pd.DataFrame(rows).pivot_table(index=["model", "seed", "step"], columns="metric", values="value", sort=False)
    return wide.reset_index()


def learning_curves(curves: pd.DataFrame, metric: str, scale: str, label: str) -> Plot:
    """A metric over optimiser steps, mean over seeds with a band: a panel an arm, with GRPO in each."""
    import pandas as pd

    numbers = mean_over_seeds(curves, metric)
    reference = numbers[numbers["model"] == "baselines grpo"].assign(model="GRPO")
    panels = [numbers.assign(panel=numbers["model"], model="this arm")]
    panels += [reference.assign(panel=arm) for arm in numbers["model"].unique()]
    caption = (
        f"Mean over training seeds; band: pointwise 95 % t-interval over seeds. Seeds: {span(numbers['seeds'])}. "
        f"Steps: to {numbers['step'].max()}. {SCALES[scale].label.partition(':')[0].capitalize()}, family {scale}."
    )
    plot = band_lines(
        f"{scale}_{metric.rpartition('/')[2]}",
        f"{scale}: {label}",
        caption,
        "",
        pd.concat(panels, ignore_index=True),
        ["", "this arm", "GRPO"],
        x="step",
        xlabel="optimiser step",
        panels={arm: arm for arm in dict.fromkeys(curves["model"])},
        ylabel=label,
        limits=(0.0, 1.0) if metric == "train/accuracy" else (0.0, float("inf")),
        marker=False,
    )
    return replace(plot, numbers=numbers.rename(columns={"model": "arm"}))


def gains_beside_placebos(design: Design, arms: Arms) -> pd.DataFrame:
    """`method`, `variant`, `family`, `value`, `low`, `high` (percentage points): the gain in avg over the reference, of
    each method that has placebos and of its placebos; a method's own gain comes first."""
    import pandas as pd

    with_placebos = {(d.paper, d.a) for d in placebos(design, arms)}
    rows = []
    for d in gains(design, arms, controlled=True):
        method, _, control = d.a.partition("+")
        line = d.line
        if line.metric != "avg" or (d.paper, method) not in with_placebos:
            continue
        if line.difference is None or line.low is None or line.high is None:
            continue
        variant = control.replace("_", " ") or "the method"
        values = {"value": 100 * line.difference, "low": 100 * line.low, "high": 100 * line.high}
        rows.append({"method": f"{d.paper} {method}", "variant": variant, "family": d.scale, **values})
    return pd.DataFrame(rows)


def placebo_points(numbers: pd.DataFrame) -> Plot:
    """Each method beside its placebos, as points with intervals: a row a method, a panel a family; `numbers` as from
    `gains_beside_placebos`."""
    methods, variants, families = (list(dict.fromkeys(numbers[name])) for name in ("method", "variant", "family"))

    def render(figure: Any) -> None:
        axes = figure.subplots(1, len(families), squeeze=False, sharey=True)[0]
        for axis, family in zip(axes, families, strict=True):
            name_rows(axis, methods)
            axis.axvline(0, color="black", linewidth=0.8)
            for series, (variant, shift) in enumerate(zip(variants, offsets(len(variants)), strict=True)):
                rows = numbers[(numbers["family"] == family) & (numbers["variant"] == variant)]
                at = [methods.index(method) + shift for method in rows["method"]]
                points(axis, at, rows["low"], rows["value"], rows["high"], series, hollow=series > 0)
            axis.set_title(family, loc="left")
            axis.set_xlabel("gain, percentage points")
        handles = [axes[0].plot([], [], **point_look(i, hollow=i > 0))[0] for i in range(len(variants))]
        legend_below(figure, handles, variants)

    size = (1.35 * WIDTH if len(families) > 1 else WIDTH, 1.0 + 0.36 * len(methods) + legend_height(variants))
    caption = "Gain over the reference; lines: 95 % intervals. Tiny scale. avg, mean over the family's benchmarks."
    return Plot("placebos", "Methods beside their placebos", caption, "", numbers, render, size)
