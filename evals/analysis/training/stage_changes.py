"""How fast metrics change within the stages of a training (arXiv 2508.07534, section 3.2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evals.analysis.training.curves import curve
from evals.analysis.training.line_fit import fit_line
from evals.analysis.training.stages import LEAST, Stages

if TYPE_CHECKING:
    import pandas as pd


def stage_changes(curves: pd.DataFrame, stages: Stages, metrics: Sequence[str]) -> pd.DataFrame:
    """A row a metric and stage: `metric`, `stage` ("rising", "plateau"; "all" without stages), `slope`, `low`, `high`
    (change per step of the straight line; 95 %), `points`.

    A metric with fewer than LEAST points in a stage is left out of it.
    """
    import pandas as pd

    rows = []
    for metric in metrics:
        steps, values = curve(curves, metric)
        if stages.break_step is None:
            parts = {"all": steps == steps}
        else:
            parts = {"rising": steps <= stages.break_step, "plateau": steps >= stages.break_step}
        for stage, inside in parts.items():
            if inside.sum() >= LEAST:
                line = fit_line(steps[inside], values[inside])
                rows.append((metric, stage, line.slope, *line.slope_interval(), line.n))
    return pd.DataFrame(rows, columns=["metric", "stage", "slope", "low", "high", "points"])
