"""A sigmoid through each training curve (`evals.stats.sigmoid`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evals.analysis.training_curves import fair_performance, mean_over_seeds
from evals.plots.figures import NO_LIMITS, band_lines
from evals.plots.plot import Plot
from evals.stats.sigmoid import FEWEST, fit_sigmoid, predict_second_half

if TYPE_CHECKING:
    import pandas as pd

MEASURED, PREDICTED = "measured", "sigmoid fitted to the first half"


def sigmoid_fits(names: Sequence[str], curves: pd.DataFrame) -> Plot:
    """ScaleRL's curve (arXiv 2510.13786) through each run's mean over seeds: fitted to its first half, with the
    prediction of the second half, and fitted to all of it in the caption. The first step's value is the reward before
    training. The unit of compute is an optimiser step.

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
        reasons = "; ".join(without) or f"expected a run with at least {2 * FEWEST + 1} steps of {metric}, got none"
        raise ValueError(f"sigmoid fits: {reasons}")
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


def _limits(curves: pd.DataFrame, metric: str) -> tuple[float, float]:
    """The limits of the metric: 0 to 1 if every value is within, else (a reward of another range) the values that were
    seen."""
    low, high = float(curves[metric].min()), float(curves[metric].max())
    return (min(0.0, low), max(1.0, high))
