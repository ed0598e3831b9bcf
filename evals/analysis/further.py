"""Figures of `evals.stats.further`: a sigmoid through each training curve, and Cover@tau with Bayes@N and IQM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.analysis.curves_over_k import keep_common_problems
from evals.analysis.training_curves import fair_performance, mean_over_seeds
from evals.plots.figures import NO_LIMITS, band_lines
from evals.plots.parts import sizes
from evals.plots.plot import Plot
from evals.stats.further import (
    FEWEST,
    bayes_at_n,
    cover_at,
    fit_sigmoid,
    g_pass_at_k,
    iqm,
    mg_pass_at_k,
    predict_second_half,
)
from evals.stats.intervals import estimate
from evals.stats.verdict_table import VerdictTable

if TYPE_CHECKING:
    import pandas as pd

MEASURED, PREDICTED = "measured", "sigmoid fitted to the first half"
TAUS = tuple(round(0.1 * i, 1) for i in range(1, 11))


def sigmoid_fits(names: Sequence[str], curves: pd.DataFrame) -> Plot:
    """ScaleRL's curve (arXiv 2510.13786) through each run's mean over seeds: fitted to its first half, with the
    prediction of the second half, and fitted to all of it in the caption. The first step's value is the reward before
    training; the unit of compute is an optimiser step.

    A run without a fit (its curve is constant, say) is named in the caption, and the others have theirs.

    Raises:
        ValueError: no run has enough steps, or a fit.
    """
    import pandas as pd

    metric = fair_performance(curves)
    if metric not in curves:
        raise ValueError(f"no run has {metric}: none of their responses had a reward")
    rows, texts, without = [], [], []
    limits = _limits(curves, metric)
    for run in names:
        mean = mean_over_seeds(curves[curves["model"] == run], metric)
        if len(mean) < 2 * FEWEST + 1:
            continue
        start, later = float(mean["mean"].iloc[0]), mean.iloc[1:]
        steps, values = later["step"].to_numpy(float), later["mean"].to_numpy(float)
        try:
            half, gap, inside = predict_second_half(steps, values, start=start, limits=limits)
            whole = fit_sigmoid(steps, values, start=start, limits=limits)
        except ValueError as error:
            without.append(f"{run}: no fit ({error})")
            continue
        low, high = half.interval(steps)
        rows.append(mean.assign(run=run, model=MEASURED))
        rows.append(later.assign(run=run, model=PREDICTED, mean=half.value(steps), low=low, high=high))
        texts.append(
            f"{run}: A = {whole.a:.3f} ± {whole.a_error:.3f}, B = {whole.b:.2f}, half of the gain at step "
            f"{whole.mid:.0f}; {100 * inside:.0f} % of the second half inside, measured - predicted {gap:+.3f}"
        )
    if not rows:
        said = "; ".join(without) or f"expected a run with at least {2 * FEWEST + 1} steps of {metric}, got none"
        raise ValueError(said)
    numbers = pd.concat(rows, ignore_index=True)
    caption = (
        f"{'. '.join([*texts, *without])}. A, B: of a fit to all steps, A ± its standard error. Band of the fit: the "
        "95 % prediction interval for a further step, as if the steps' noise were independent and the form were right."
    )
    return band_lines(
        "sigmoid_fit",
        "A sigmoid through the training",
        caption,
        "arXiv 2510.13786, its curve",
        numbers,
        [MEASURED, PREDICTED],
        x="step",
        xlabel="optimiser step",
        by="run",
        panels={run: run for run in names if run in set(numbers["run"])},
        ylabel=metric,
        limits=NO_LIMITS,
        marker=False,
    )


def _g_pass(table: VerdictTable, k: int) -> list[Any]:
    """G-Pass@k at tau 0.5 and 1, and mG-Pass@k, of each problem and seed."""
    c, n = table.correct, table.scored
    return [g_pass_at_k(c, n, k, 0.5), g_pass_at_k(c, n, k, 1.0), mg_pass_at_k(c, n, k)]


def _limits(curves: pd.DataFrame, metric: str) -> tuple[float, float]:
    """What the metric can be: 0 to 1 if every value is; else (a reward of another range) the values that were seen."""
    low, high = float(curves[metric].min()), float(curves[metric].max())
    return (min(0.0, low), max(1.0, high))


def cover(tables: Mapping[str, pd.DataFrame]) -> Plot:
    """Cover@tau against tau, all runs (arXiv 2510.08325); Bayes@N (arXiv 2510.04265) and the IQM in the caption."""
    import pandas as pd

    same = keep_common_problems(tables)
    rows, texts = [], []
    for name, rows_of_model in same.tables.items():
        table = VerdictTable.of_rows(rows_of_model)
        for tau in TAUS:
            matrix = cover_at(table.correct, table.scored, tau)
            interval = estimate([matrix]).interval()
            ends = (np.nan, np.nan) if interval is None else (100 * interval.low, 100 * interval.high)
            rows.append((name, tau, 100 * matrix.mean(), *ends))
        mean, deviation = bayes_at_n(table.correct, table.scored)
        texts.append(f"{name}: Bayes@{table.n or 'n'} {100 * mean:.1f} ± {100 * deviation:.1f} %")
        if table.n and (k := table.n // 2) > 1:
            steady = [100 * float(np.nanmean(f)) for f in _g_pass(table, k)]
            texts[-1] += ", G-Pass@{} {:.1f} at tau 0.5, {:.1f} at 1, mean {:.1f} %".format(k, *steady)
        if len(table.seeds) > 1:
            values = [100 * x for x in iqm(list((table.correct / table.scored).T))]
            texts[-1] += ", IQM {:.1f} [{:.1f}, {:.1f}] %".format(*values)
    caption = (
        f"{sizes(tables)} Cover@tau: the share of problems of which at least the share tau of the samples is correct; "
        f"95 % intervals.{same.note()} {'. '.join(texts)}. Bayes@n ± its posterior deviation over samples; "
        "G-Pass@k (arXiv 2412.13147): the share of k samples that must be correct is tau; IQM: the mean of the "
        "middle half over problems and seeds, with the bootstrap over seeds."
    )
    return band_lines(
        "cover_at_tau",
        "Cover@tau",
        caption,
        "arXiv 2510.08325",
        pd.DataFrame(rows, columns=["model", "tau", "mean", "low", "high"]),
        list(tables),
        x="tau",
        xlabel="tau (share of the samples)",
        panels={"": ""},
        ylabel="Cover@tau (%)",
        limits=(0.0, 100.0),
    )
