"""Training curves as figures over steps, with bands over training seeds.

Curves are one frame: `model` (the run), `seed`, `step`, and a column per metric under its MLflow name (NaN if a step
lacks it). `train/...` are of the optimiser step. `curve/BENCHMARK/METRIC` are scores of an evaluation while it trained
(`eval.every=K`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from evals.analysis import EGSW, ENTROPY_ADVANTAGE, ERPO, TRIAL_AND_ERROR
from evals.plots.figures import NO_LIMITS, band_lines
from evals.plots.plot import Plot
from evals.stats.intervals import t_quantile
from evals.stats.score import unit
from evals.stats.verdict_table import METRICS

if TYPE_CHECKING:
    import pandas as pd

LABELS = {
    "train/reward": "reward",
    "train/accuracy": "accuracy (fraction)",
    "train/entropy": "entropy (nats)",
    "train/grad_norm": "gradient norm",
    "train/kl": "KL to reference (nats)",
    "train/response_length": "response length (tokens)",
    "train/zero_variance_groups": "groups without variance (fraction)",
    "train/shaping_ratio": "shaping / advantage",
    "train/step_seconds": "time of a step (seconds)",
    "train/token_gini": "Gini coefficient",
    "train/token_effective_share": "effective share of tokens",
    "train/token_top_share": "share of |advantage| on 1 %",
}
SPREAD = ("train/token_gini", "train/token_effective_share", "train/token_top_share")
SHARES = ("train/accuracy", "train/zero_variance_groups", *SPREAD)
SMOOTHING = 20  # a moving average is over a twentieth of the steps


def measured(curves: pd.DataFrame, metrics: Sequence[str]) -> list[str]:
    """Those of the metrics that a run has."""
    return [metric for metric in metrics if metric in curves and curves[metric].notna().any()]


def fair_performance(curves: pd.DataFrame) -> str:
    """The metric that compares runs: accuracy if every run has it, else the reward.

    Rewards of different methods have different units (0 or 1, -1 or 1, with or without a format reward).

    Raises:
        ValueError: no run has curves.
    """
    if curves.empty:
        raise ValueError("curves: expected training curves of at least one run, got none")
    if "train/accuracy" not in curves:
        return "train/reward"
    having = {
        name: set(curves["model"][curves[name].notna()])
        for name in ("train/accuracy", "train/reward")
        if name in curves
    }
    # a run without any reward (none could be scored) has neither, and does not decide for the others
    return "train/accuracy" if having["train/accuracy"] >= having.get("train/reward", set()) else "train/reward"


def mean_over_seeds(curves: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The mean of a metric over training seeds at each step, with its pointwise 95 % t-interval.

    Args:
        curves: `model` (the run), `seed`, `step` and the metric. Missing values are excluded.
    Returns:
        `model`, `step`, `mean`, `low`, `high` (NaN with one seed), `seeds`.
    Raises:
        ValueError: a column is missing, or a seed has a step twice.
    """
    if missing := [column for column in ("model", "seed", "step", metric) if column not in curves]:
        raise ValueError(f"curves: expected the column {missing[0]!r}, got {', '.join(map(str, curves.columns))}")
    present = curves[curves[metric].notna()]
    if present.duplicated(["model", "seed", "step"]).any():
        row = present[present.duplicated(["model", "seed", "step"])].iloc[0]
        raise ValueError(f"curves: expected each step once, got model {row['model']!r}, seed {row['seed']}, step "
                         f"{row['step']} twice")  # fmt: skip
    means = present.groupby(["model", "step"], sort=False)[metric].agg(["mean", "std", "size"]).reset_index()
    means = means.sort_values(["model", "step"], kind="stable", ignore_index=True)
    t = np.array([t_quantile(0.975, n - 1) if n > 1 else np.nan for n in means["size"]])
    half = t * means["std"] / np.sqrt(means["size"])
    means = means.assign(low=means["mean"] - half, high=means["mean"] + half, seeds=means["size"])
    return means[["model", "step", "mean", "low", "high", "seeds"]]


def over_steps(
    name: str,
    title: str,
    what: str,
    source: str,
    curves: pd.DataFrame,
    names: Sequence[str],
    panels: Mapping[str, str],
    *,
    limits: tuple[float, float] | Mapping[str, tuple[float, float]],
    ylabel: str = "",
    smooth: bool = True,
) -> Plot:
    """Metrics over optimiser steps, a panel each, as means over training seeds with bands. See `band_lines`.

    Args:
        what: for the caption, or "". panels: metric -> its label. smooth: whether lines are moving averages.
    """
    import pandas as pd

    means = [mean_over_seeds(curves, metric).assign(panel=metric) for metric in panels]
    numbers = pd.concat(means, ignore_index=True)
    of_run = numbers.groupby("model", sort=False)
    steps, most, fewest = of_run["step"].nunique(), of_run["seeds"].max(), of_run["seeds"].min()
    seeds = {run: f"{fewest[run]} to {most[run]}" if fewest[run] < most[run] else str(most[run]) for run in steps.index}
    window = max(1, int(steps.max()) // SMOOTHING) if smooth else 1
    without = [run for run in names if run not in steps]
    texts = [
        what,
        "Steps and training seeds: " + ", ".join(f"{run} {steps[run]:,}, {seeds[run]}" for run in steps.index) + ".",
        f"Without such curves: {', '.join(without)}." if without else "",
        "Lines: means over seeds; bands: pointwise 95 % t-intervals over seeds (none of one seed).",
        "Where a seed has no value, as after it diverged, the mean is over the others."
        if (fewest < most).any()
        else "",
        f"Pale: every step; strong: centred moving average of {window} steps." if window > 1 else "",
    ]
    return band_lines(
        name,
        title,
        " ".join(filter(None, texts)),
        source,
        numbers,
        names,
        x="step",
        xlabel="optimiser step",
        panels=panels,
        ylabel=ylabel,
        limits=limits,
        smooth=window,
    )


SINGLE = {
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


def plot_training(names: Sequence[str], curves: pd.DataFrame) -> list[Plot]:
    """Performance, entropy, gradient norm and KL in one figure. Each of SINGLE that the curves have, in a figure of its
    own. The spread of updates over tokens, in one more figure.

    Args:
        names: all runs, the base model first. Decides how each looks.
    Raises:
        ValueError: no run has curves.
    """
    shown = measured(curves, (fair_performance(curves), "train/entropy", "train/grad_norm", "train/kl"))
    source = f"{ERPO}, Fig. 4; {EGSW}, Fig. 1 and 3; {TRIAL_AND_ERROR}, Fig. 3a"
    plots = [_of_training("training_dynamics", "Training dynamics", "", source, curves, names, shown)] if shown else []
    for metric in measured(curves, list(SINGLE)):
        title, source, what = SINGLE[metric]
        name = metric.replace("train/", "training_")
        plots.append(_of_training(name, title, what, source, curves, names, [metric]))
    if spread := measured(curves, SPREAD):
        what = (
            "Over the step's tokens that have an advantage before shaping. The first two are of |advantage x weight|."
        )
        title, source = "How the update is spread over tokens", "arXiv 2606.00257"
        plots.append(_of_training("training_token_spread", title, what, source, curves, names, spread))
    return plots


def _of_training(
    name: str, title: str, what: str, source: str, curves: pd.DataFrame, names: Sequence[str], metrics: Sequence[str]
) -> Plot:
    unlimited = {"train/reward": NO_LIMITS}
    limits = {m: (0.0, 1.0) if m in SHARES else unlimited.get(m, (0.0, np.inf)) for m in metrics}
    return over_steps(name, title, what, source, curves, names, {m: LABELS[m] for m in metrics}, limits=limits)


AVERAGE = "average of benchmarks"
PERCENT = tuple(metric for metric in METRICS if unit(metric) == "%")
SCORES = {
    "avg": "avg@{k} (%)", "pass": "pass@{k} (%)", "maj": "maj@{k} (%)", "fmt": "with a box (%)",
    "mean_tokens": "response length (tokens)", "truncation_rate": "truncated (%)",
    "no_answer_rate": "no answer (%)", "change": "change of avg (points)",
}  # fmt: skip


def with_average(curves: pd.DataFrame) -> pd.DataFrame:
    """The curves with the average of avg@n over their benchmarks, at steps where all were measured, and its change
    since the run's first of these."""
    names = [name for name in map(str, curves) if name.startswith("curve/") and "/avg_at_" in name]
    if len(names) < 2:
        return curves
    mean = curves[names].mean(axis=1, skipna=False)
    first = mean.groupby([curves["model"], curves["seed"]]).transform(
        "first"
    )  # the first of the steps in order, without NaN
    ks = sorted({name.rpartition("_at_")[2] for name in names})
    column = f"curve/{AVERAGE}/avg_at_{ks[0] if len(ks) == 1 else 'n'}"
    return curves.assign(**{column: mean, f"curve/{AVERAGE}/change": mean - first})


def score_columns(curves: pd.DataFrame, benchmark: str) -> dict[str, str]:
    """Kind of score -> its column of a benchmark; of pass@k and maj@k the one with the largest k."""
    best: dict[str, str] = {}
    for name in (str(name) for name in curves if str(name).startswith(f"curve/{benchmark}/")):
        kind = name.rpartition("/")[2].partition("_at_")[0]
        if kind in SCORES and (kind not in best or _k(name) > _k(best[kind])):
            best[kind] = name
    return {kind: best[kind] for kind in SCORES if kind in best}


def measured_benchmarks(curves: pd.DataFrame) -> list[str]:
    """The benchmarks with scores over steps."""
    return list(dict.fromkeys(name.split("/")[1] for name in map(str, curves) if name.startswith("curve/")))


def plot_scores(names: Sequence[str], curves: pd.DataFrame) -> list[Plot]:
    """A figure a benchmark, and one of their average: every score over steps, a panel each.

    Args:
        names: all runs.
    Raises:
        ValueError: no run was evaluated during training.
    """
    curves = with_average(curves)
    benchmarks = measured_benchmarks(curves)
    if not benchmarks:
        raise ValueError("no run was evaluated while it trained (eval.every=K)")
    plots = []
    for benchmark in benchmarks:
        columns = score_columns(curves, benchmark)
        scaled = curves.assign(**{c: 100 * curves[c] for kind, c in columns.items() if kind in (*PERCENT, "change")})
        limits = {c: (0.0, 100.0) if kind in PERCENT else NO_LIMITS for kind, c in columns.items()}
        panels = {c: SCORES[kind].format(k=c.rpartition("_at_")[2]) for kind, c in columns.items()}
        what = f"{benchmark}, evaluated while training; the protocol may differ from that of the final scores."
        name = f"evaluation_{'average' if benchmark == AVERAGE else benchmark}"
        source = f"{TRIAL_AND_ERROR}, Fig. 3a, 5c, 6c, 7; {ERPO}, Fig. 3, 5c"
        plots.append(
            over_steps(
                name,
                f"Scores over training, {benchmark}",
                what,
                source,
                scaled,
                names,
                panels,
                limits=limits,
                smooth=False,
            )
        )
    return plots


def _k(column: str) -> int:
    k = column.rpartition("_at_")[2]
    return int(k) if k.isdigit() else 0
