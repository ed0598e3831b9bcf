"""The sensitivity of each method to the value that its paper calls sensitive, from the trials of the search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evals.plots import study as plots
from studies.tiny.design import Design, StudyArm
from studies.tiny.jobs import declared_value
from studies.tiny.tuning import Trial

if TYPE_CHECKING:
    from evals.plots.plot import Plot


def sweeps(design: Design, arms: Sequence[StudyArm], tried: Sequence[Trial]) -> list[Plot]:
    """A figure for each tried knob: validation accuracy against its value, one curve per family, beside the reference
    at its best learning rate. Each point is one run, so there are no intervals."""
    import pandas as pd

    made = []
    for arm in arms:
        rows = sweep_rows(design, arm, tried)
        if arm.knob is None or not rows:
            continue
        note = (
            f"Tiny scale, validation problems. One run a point (seed {design.tuning_seed}, {design.tuning_rollouts} "
            f"rollouts), so without intervals. Lines across: {arm.than}, each at its best learning rate."
        )
        made.append(
            plots.sweep(
                pd.DataFrame(rows),
                knob=arm.knob.key,
                label=f"avg@{design.tuning_samples} on validation (%)",
                title=f"{arm.paper} {arm.arm}: {arm.knob.key}",
                name=f"sweep_{arm.paper}_{arm.knob.key.rpartition('.')[2]}",
                declared=declared_value(arm, design.families[0], arm.knob.key),
                log=True,
                note=note,
            )
        )
    return made


def sweep_rows(design: Design, arm: StudyArm, tried: Sequence[Trial]) -> list[dict[str, object]]:
    """`series`, `value`, `mean`, `low`, `high` of one method's trials: fractions, NaN as the reference's value.

    A trial without a knob has the declared value; only trials at the knob's learning rate count. A trial that diverged
    or is not finished has no row.
    """
    if arm.knob is None:
        return []
    rows: list[dict[str, object]] = []
    for scale in design.families:
        own = [
            t
            for t in tried
            if (t.scale, t.paper, t.method) == (scale, arm.paper, arm.arm)
            and set(t.values) <= {"learning_rate", arm.knob.key}
        ]
        rates = {t.values["learning_rate"] for t in own if arm.knob.key in t.values}
        declared = declared_value(arm, scale, arm.knob.key)
        for t in own:
            if t.values["learning_rate"] in rates and isinstance(t.accuracy, float):
                rows.append(_row(scale, t.values.get(arm.knob.key, declared), t.accuracy))
        of = [t.accuracy for t in tried if (t.scale, t.paper, t.method) == (scale, arm.paper, arm.than)]
        finished = [accuracy for accuracy in of if isinstance(accuracy, float)]
        if rates and finished:
            rows.append(_row(f"{arm.than}, {scale}", float("nan"), max(finished)))
    return rows


def _row(series: str, value: float, accuracy: float) -> dict[str, object]:
    return {"series": series, "value": value, "mean": accuracy, "low": accuracy, "high": accuracy}
