"""The search chooses only when every trial has ended."""

from __future__ import annotations

from typing import Any

import pytest

from studies.tiny import run
from studies.tiny.design import STUDY
from studies.tiny.tuning import Ending


@pytest.mark.parametrize(("failing", "chooses"), [("unfinished", False), ("diverged", True)])
def test_a_failed_trial_stops_the_choice_and_a_diverged_one_does_not(
    failing: Ending, chooses: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    design = STUDY.of_families(["tiny"])
    monkeypatch.setattr(run, "_run", lambda jobs, command: 0)
    monkeypatch.setattr("harness.runs.track.Tracker.open", lambda: None)

    def scored(job: Any) -> Ending:
        return failing if (job.arm, job.command_line["learning_rate"]) == ("egsw", 4e-4) else 0.5

    monkeypatch.setattr(run, "accuracies", lambda tracker, of: scored)
    if chooses:
        assert run.tune(design, "a test", 1)["tiny", "egsw", "egsw"]["learning_rate"] == 1e-4
    else:
        with pytest.raises(RuntimeError, match="tiny egsw egsw"):
            run.tune(design, "a test", 1)
