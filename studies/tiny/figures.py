"""The figures of the study, from the same runs as its tables."""

from __future__ import annotations

from dataclasses import replace
from textwrap import fill
from typing import TYPE_CHECKING

from evals.analysis.training_curves import mean_over_seeds
from evals.plots.figures import band_lines
from evals.plots.parts import name_rows, offsets, point_look, points, span
from evals.plots.plot import Plot
from harness.spec import catalogue
from harness.spec.scales import SCALES
from studies.tiny.design import Design
from studies.tiny.outcomes import gains, placebos
from studies.tiny.scores import Arms

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

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
    """`method`, `name` (as readers know it), `variant`, `family`, `value`, `low`, `high` (percentage points): the gain
    in avg over the reference, of each method that has placebos and of its placebos; of every method in a design
    without placebos. A method's own gain comes first."""
    import pandas as pd

    shown = {(d.paper, d.a) for d in placebos(design, arms) or gains(design, arms)}
    rows = []
    for d in gains(design, arms, controlled=True):
        method, _, control = d.a.partition("+")
        line = d.line
        if line.metric != "avg" or (d.paper, method) not in shown or (control and control not in SHUFFLED):
            continue
        if line.difference is None or line.low is None or line.high is None:
            continue
        values = {"value": 100 * line.difference, "low": 100 * line.low, "high": 100 * line.high}
        names = {"method": f"{d.paper} {method}", "name": _name(d.paper, method), "variant": SHUFFLED[control]}
        rows.append(names | {"family": d.scale} | values)
    return pd.DataFrame(rows)


SHUFFLED = {
    "": "the method",
    "shuffled_signal": "its signal shuffled in the group",
    "shuffled_response": "its signal shuffled in the response",
}
NAMES = {  # where the papers' tables print more than a name
    ("egsw", "egsw"): "EGSW",
    ("erpo", "erpo"): "ERPO",
    ("entropy_advantage", "grpo_entropy_advantage"): "Entropy advantage",
    ("forking_tokens", "top20"): "Forking tokens",
    ("trial_and_error", "grpo_ppl"): "Perplexity bonus",
}
TASKS = {"tiny": "arithmetic", "tiny_search": "search"}
NARROW = 4.5  # inches
POINTS = 10.2  # the size of all text: 11 pixels where the figure is 358 pixels wide, as on a phone of 390


def _name(paper: str, arm: str) -> str:
    titles = {a.key: a.title for a in catalogue.load(paper).arms}
    return NAMES.get((paper, arm)) or titles.get(arm, arm)


def placebo_points(numbers: pd.DataFrame) -> Plot:
    """Each method beside its placebos, as points with intervals: a row a method, a panel a family. `numbers` as from
    `gains_beside_placebos`. Names stand above their rows, so that a phone shows the figure whole."""
    methods, families = (list(dict.fromkeys(numbers[name])) for name in ("name", "family"))
    variants = [text for text in SHUFFLED.values() if text in set(numbers["variant"])]
    beside = ", beside its placebos" if len(variants) > 1 else ""
    title = f"Gain in accuracy over a method's reference{beside}"

    def render(figure: Figure) -> None:
        figure.suptitle(fill(f"{title} (tiny scale)", 48), fontsize=POINTS, fontweight="bold", x=0.02, ha="left")
        axes = figure.subplots(1, len(families), squeeze=False, sharey=True)[0]
        for axis, family in zip(axes, families, strict=True):
            name_rows(axis, methods)
            axis.set_yticks([])
            axis.spines["left"].set_visible(False)
            axis.axvline(0, color="black", linewidth=0.8)
            for series, (variant, shift) in enumerate(zip(variants, offsets(len(variants)), strict=True)):
                rows = numbers[(numbers["family"] == family) & (numbers["variant"] == variant)]
                at = [methods.index(name) + 0.15 + shift for name in rows["name"]]
                points(axis, at, rows["low"], rows["value"], rows["high"], series, hollow=series > 0)
            axis.set_title(TASKS.get(family, family), loc="left", fontsize=POINTS)
            axis.set_xlabel("percentage points", fontsize=POINTS)
            axis.tick_params(labelsize=POINTS)
        for row, name in enumerate(methods):
            axes[0].text(0, row - 0.28, name, transform=axes[0].get_yaxis_transform(), fontsize=POINTS, va="center")
        handles = [axes[0].plot([], [], **point_look(i, hollow=i > 0))[0] for i in range(len(variants))]
        figure.legend(handles, variants, loc="outside lower left", frameon=False, fontsize=POINTS)

    size = (NARROW, 1.45 + 0.5 * len(methods) + 0.2 * len(variants))
    caption = (
        "Mean accuracy over the task's three benchmarks. Lines: 95 % intervals over problems and training seeds. "
        "Left of the line: worse than the reference."
    )
    return Plot("placebos" if beside else "gains", title, caption, "", numbers, render, size)
