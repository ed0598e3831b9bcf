"""Sweeps of the knobs, from trials."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from studies.tiny.design import STUDY
from studies.tiny.jobs import declared_value
from studies.tiny.sensitivity import sweep_rows, sweeps
from studies.tiny.tuning import Ending, Trial

EGSW = next(arm for arm in STUDY.arms if arm.name == "egsw egsw")
ARMS = tuple(arm for arm in STUDY.arms if arm.name in ("egsw grpo", "egsw egsw"))
DESIGN = replace(STUDY, families=("tiny",), arms=ARMS)


def trial(method: str, accuracy: Ending, **values: float) -> Trial:
    return Trial("tiny", "egsw", method, {key.replace("__", "."): value for key, value in values.items()}, accuracy)


TRIED = [
    trial("grpo", 0.4, learning_rate=1e-4),
    trial("grpo", 0.5, learning_rate=2e-4),
    trial("egsw", 0.3, learning_rate=1e-4),
    trial("egsw", 0.45, learning_rate=2e-4),  # the declared alpha at the rate that the knob was tried at
    trial("egsw", 0.41, learning_rate=2e-4, egsw__alpha=0.15),
    trial("egsw", "diverged", learning_rate=2e-4, egsw__alpha=0.5),
    trial("egsw", 0.2, learning_rate=2e-4, egsw__temperature=2.0),  # of another knob
]


def test_a_sweep_has_the_declared_value_the_tried_ones_and_the_best_reference() -> None:
    rows = sweep_rows(DESIGN, EGSW, TRIED)
    declared = declared_value(EGSW, "tiny", "egsw.alpha")
    curve = {row["value"]: row["mean"] for row in rows if row["series"] == "tiny"}
    assert curve == {declared: 0.45, 0.15: 0.41}  # neither the other rate nor the trial that diverged
    assert [row["mean"] for row in rows if row["series"] == "grpo, tiny"] == [0.5]


def test_nothing_is_plotted_before_the_knob_was_tried(tmp_path: Path) -> None:
    from evals.plots.plot import save

    assert sweeps(DESIGN, ARMS, TRIED[:4]) == []
    (plot,) = sweeps(DESIGN, ARMS, TRIED)
    assert plot.name == "sweep_egsw_alpha" and "without intervals" in plot.caption
    assert "Bands" not in plot.caption
    assert save(plot, tmp_path)["png"].stat().st_size > 0
