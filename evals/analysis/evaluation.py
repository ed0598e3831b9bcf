"""Scores over a training, from evaluations while it ran (`eval.every=K`): its curves' columns `curve/BENCHMARK/METRIC`.

Test accuracy over steps: arXiv 2508.07534, Fig. 3a, 5c, 6c and 7; arXiv 2603.28204, Fig. 3 and 5. Response quality over
steps: arXiv 2508.07534, Fig. 3d.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.analysis import ERPO, TRIAL_AND_ERROR
from evals.analysis.forms import MEASURES, response_table, shares
from evals.analysis.training_curves import Curves, curve, long_table
from evals.plots.intervals import band
from evals.plots.panels import band_panels, grid
from evals.plots.parts import legend_below, legend_height
from evals.plots.plot import WIDTH, Plot, step_axis

if TYPE_CHECKING:
    import pandas as pd

    from evals.analysis.quality import Judge

AVERAGE = "average of benchmarks"
CHANGE = "change"
SHARES = ("avg", "pass", "maj", "fmt", "truncation_rate")  # 0 to 100 %
PERCENT = (*SHARES, CHANGE)
WORDS = {
    "avg": "avg@{k} (%)", "pass": "pass@{k} (%)", "maj": "maj@{k} (%)", "fmt": "with a box (%)",
    "mean_tokens": "response length (tokens)", "truncation_rate": "truncated (%)",
    CHANGE: "change of avg (points)",
}  # fmt: skip
FLAGS = ("format_violation", "irrelevant", "judged_irrelevant", "language_mixing")


def with_average(curves: pd.DataFrame) -> pd.DataFrame:
    """One seed's curves with the average of avg@n over its benchmarks, at steps where all were measured, and its change
    since the first of these."""
    names = [
        name for name in map(str, curves) if name.startswith("curve/") and name.rpartition("/")[2].startswith("avg@")
    ]
    if len(names) < 2:
        return curves
    mean = curves[names].mean(axis=1, skipna=False)
    steps = curves.loc[mean.notna(), "step"]
    first = np.nan if steps.empty else float(mean.loc[steps.index[int(steps.argmin())]])
    ks = sorted({name.rpartition("@")[2] for name in names})
    column = f"curve/{AVERAGE}/avg@{ks[0] if len(ks) == 1 else 'n'}"
    return curves.assign(**{column: mean, f"curve/{AVERAGE}/{CHANGE}": mean - first})


def measured_benchmarks(curves: Curves) -> list[str]:
    """The benchmarks with scores over steps, the average last."""
    names = dict.fromkeys(
        name.split("/")[1] for frame in curves.values() for name in map(str, frame) if name.startswith("curve/")
    )
    return [*(name for name in names if name != AVERAGE), *([AVERAGE] if AVERAGE in names else [])]


def plot_evaluation(order: Sequence[str], curves: Curves) -> list[Plot]:
    """A figure a benchmark: every score over steps, a panel each.

    Args:
        order: all runs; decides their colours. curves: run -> its curves (`curves.over_seeds`).
    Raises:
        ValueError: no run was evaluated during training.
    """
    benchmarks = measured_benchmarks(curves)
    if not benchmarks:
        raise ValueError("no run was evaluated while it trained (eval.every=K)")
    return [scores_over_steps(order, curves, benchmark) for benchmark in benchmarks]


def scores_over_steps(order: Sequence[str], curves: Curves, benchmark: str) -> Plot:
    """Each score of a benchmark over optimiser steps, a panel a score (so one unit an axis), with bands over seeds."""
    metrics = score_columns(curves, benchmark)
    names = [name for name in order if name in curves and any(len(curve(curves[name], m)[0]) for m in metrics)]
    numbers = long_table({name: curves[name] for name in names}, names, metrics)
    numbers = numbers.dropna(subset=metrics, how="all").reset_index(drop=True)
    for column in map(str, numbers.columns[2:]):
        if score_kind(column.removesuffix(" low").removesuffix(" high")) in PERCENT:
            numbers[column] *= 100
    columns = 1 if len(metrics) == 1 else 2
    rows = -(-len(metrics) // columns)

    def render(figure: Any) -> None:
        handles: dict[str, Any] = {}
        for axis, metric in zip(grid(figure, len(metrics), columns), metrics, strict=True):
            for name in names:
                part = numbers[(numbers["model"] == name) & numbers[metric].notna()]
                if len(part):
                    ends = [part.get(f"{metric} {end}", part[metric] * np.nan) for end in ("low", "high")]
                    low, high = (end.clip(0, 100) if score_kind(metric) in SHARES else end for end in ends)
                    (handles[name],) = band(axis, part["step"], low, part[metric], high, order.index(name))
            step_axis(axis)
            axis.set_ylabel(_label(metric))
        legend_below(figure, list(handles.values()), list(handles))

    steps = ", ".join(f"{name} {len(curve(curves[name], metrics[0])[0])}" for name in names)
    without = [name for name in order if name not in names]
    caption = (
        f"{benchmark}, evaluated while training: {steps} steps. {_seeds(curves, names)} The protocol of these "
        "evaluations may differ from that of the final scores."
    )
    if without:
        caption += f" Without such scores: {', '.join(without)}."
    source = f"{TRIAL_AND_ERROR}, Fig. 3a, 5c, 6c, 7; {ERPO}, Fig. 3, 5c"
    key = "average" if benchmark == AVERAGE else benchmark
    return Plot(f"evaluation_{key}", f"Scores over training, {benchmark}", caption, source, numbers, render,
                (1.35 * WIDTH if columns == 2 else WIDTH, 2.2 * rows + 0.2 + legend_height(names)))  # fmt: skip


def quality_over_steps(
    tables: Mapping[str, Mapping[int, pd.DataFrame]],
    benchmark: str,
    order: Sequence[str],
    *,
    judge: Judge | None = None,
    problems: Mapping[str, str] | None = None,
) -> Plot:
    """Shares of responses with each quality issue over steps, a panel an issue (arXiv 2508.07534, Fig. 3d).

    Args:
        tables: run -> step -> the verdict table of one benchmark, with responses.
        judge, problems: see `response_table`; without a judge rules detect irrelevant content.
    Raises:
        ValueError: no table, or as `response_table`.
    """
    import pandas as pd

    parts = [
        shares({name: response_table(table, judge=judge, problems=problems)}).assign(step=step)
        for name, steps in tables.items()
        for step, table in sorted(steps.items())
    ]
    if not parts:
        raise ValueError("tables: expected one run or more with evaluations while it trained, got none")
    numbers = pd.concat(parts, ignore_index=True)
    numbers = numbers[numbers["measure"].isin(FLAGS)].reset_index(drop=True)
    numbers[["value", "low", "high"]] *= 100
    flags = [flag for flag in FLAGS if (numbers["measure"] == flag).any()]
    names = [name for name in order if name in tables]

    def render(figure: Any) -> None:
        titles = {flag: fill(MEASURES[flag], 22) for flag in flags}
        axes = band_panels(figure, numbers, names, "measure", titles, "step", ("low", "value", "high"))
        for axis in axes:
            step_axis(axis)
        axes[0].set_ylabel("responses (%)")
        axes[0].set_ylim(bottom=0)

    rules = "rules detect irrelevant content (repetition, garbled text); the paper asks a 32B language model"
    how = rules if judge is None else f"irrelevant (judge): as {judge.name} answers our question"
    caption = (
        f"{benchmark}. Share of the responses of each step with the issue; bands: 95 % intervals over problems. Mixes "
        f"languages: a Chinese character; {how}."
    )
    return Plot(f"evaluation_quality_{benchmark}", f"Response quality over training, {benchmark}", caption,
                f"{TRIAL_AND_ERROR}, Fig. 3d", numbers, render,
                (WIDTH * (1.0 if len(flags) < 3 else 1.35), 2.6 + legend_height(names)))  # fmt: skip


def score_columns(curves: Curves, benchmark: str) -> list[str]:
    """The columns of a benchmark to show; for pass@k and maj@k only the largest k."""
    columns = {
        n: None
        for c in curves.values()
        for n in map(str, c)
        if n.startswith(f"curve/{benchmark}/") and " " not in n[-5:]
    }
    best: dict[str, str] = {}
    for name in columns:
        kind = score_kind(name)
        if kind in WORDS and (kind not in best or _k(name) > _k(best[kind])):
            best[kind] = name
    return [best[kind] for kind in WORDS if kind in best]


def score_kind(column: str) -> str:
    return column.rpartition("/")[2].partition("@")[0]


def _k(column: str) -> int:
    k = column.rpartition("@")[2]
    return int(k) if k.isdigit() else 0


def _label(column: str) -> str:
    return WORDS[score_kind(column)].format(k=column.rpartition("@")[2])


def _seeds(curves: Curves, names: Sequence[str]) -> str:
    counts = {name: int(curves[name]["seeds"].max()) for name in names if "seeds" in curves[name]}
    if not counts:
        return "One training seed a line: no bands."
    seed_counts = ", ".join(f"{name} {counts.get(name, 1)}" for name in names)
    return f"Mean over training seeds ({seed_counts}); bands: pointwise 95 % t-intervals over seeds."
