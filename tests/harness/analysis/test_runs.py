"""Curves of runs: training metrics, and scores of evaluations while they trained."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.analysis.runs import Analysed, curve_frame
from harness.record.run import Run
from tests.harness.record.folders import started


def test_scores_are_joined_with_the_metrics_of_their_step(tmp_path: Path) -> None:
    """Steps 1 to 3, evaluated after 2 and 4 (where nothing of the training was kept)."""
    recorder = started(tmp_path)
    for step in (1, 2, 3):
        recorder.metrics(step, {"train/reward": float(step)})
    for step in (2, 4):
        recorder.metrics(step, {"curve/b/avg@4": step / 10})
    kept = curve_frame(Run(recorder.folder))
    assert kept is not None and kept["step"].tolist() == [1, 2, 3, 4]
    assert kept["curve/b/avg@4"].fillna(-1).tolist() == [-1, 0.2, -1, 0.4]
    assert kept["train/reward"].fillna(-1).tolist() == [1, 2, 3, -1]
    assert curve_frame(Run(started(tmp_path, seed=1).folder)) is None


def test_seeds_are_averaged_with_their_band(tmp_path: Path) -> None:
    from evals.analysis.subjects import Subject

    runs = []
    for seed, value in enumerate((1.0, 2.0)):
        recorder = started(tmp_path, seed=seed)
        recorder.metrics(1, {"train/reward": value})
        runs.append(Run(recorder.folder))
    curves = Analysed(Subject("a", {}), None, "", tuple(runs)).curves
    assert curves is not None and curves["train/reward"].tolist() == [1.5] and curves["seeds"].tolist() == [2]
    # t(0.975, 1) = 12.706 times 0.7071 / sqrt 2
    assert curves["train/reward high"].iloc[0] == pytest.approx(1.5 + 12.7062 / 2, abs=1e-3)
