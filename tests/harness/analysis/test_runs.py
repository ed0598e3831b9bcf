"""Curves of a job: training metrics, and scores of evaluations while it trained."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from harness.analysis.runs import Analysed, Source, evaluated_steps, kept_curves


def job(folder: Path) -> Path:
    """Steps 1 to 3, evaluated after 2 and 4 (where nothing of the training was kept)."""
    (folder / "train").mkdir(parents=True)
    metrics = [{"step": step, "metrics": {"train/reward": float(step)}} for step in (1, 2, 3)]
    (folder / "train" / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in metrics))
    scores = [{"step": s, "scores": {"b": {"avg@4": {"value": s / 10}, "pass@4": {"value": None}}}} for s in (2, 4)]
    (folder / "curve.jsonl").write_text("".join(json.dumps(row) + "\n" for row in scores))
    return folder


def test_scores_are_joined_with_the_metrics_of_their_step(tmp_path: Path) -> None:
    kept = kept_curves(job(tmp_path / "a"))
    assert kept is not None and kept["step"].tolist() == [1, 2, 3, 4]
    assert kept["curve/b/avg@4"].fillna(-1).tolist() == [-1, 0.2, -1, 0.4]
    assert kept["train/reward"].fillna(-1).tolist() == [1, 2, 3, -1]
    assert "curve/b/pass@4" not in kept  # a score without a value is not 0
    assert evaluated_steps(tmp_path / "a") == {
        2: tmp_path / "a" / "curve" / "step-000002", 4: tmp_path / "a" / "curve" / "step-000004"
    }  # fmt: skip


def test_a_job_without_evaluations_has_its_metrics_alone(tmp_path: Path) -> None:
    folder = job(tmp_path / "a")
    (folder / "curve.jsonl").unlink()
    kept = kept_curves(folder)
    assert kept is not None and list(kept) == ["step", "train/reward"] and evaluated_steps(folder) == {}
    assert kept_curves(tmp_path / "none") is None


def test_seeds_are_averaged_with_their_band(tmp_path: Path) -> None:
    from evals.analysis.subjects import Subject

    frames = [pd.DataFrame({"step": [1], "train/reward": [value]}) for value in (1.0, 2.0)]
    sources = tuple(Source(tmp_path, None, frame) for frame in frames)
    curves = Analysed(Subject("a", {}), None, "", sources).curves
    assert curves is not None and curves["train/reward"].tolist() == [1.5] and curves["seeds"].tolist() == [2]
    # t(0.975, 1) = 12.706 times 0.7071 / sqrt 2
    assert curves["train/reward high"].iloc[0] == pytest.approx(1.5 + 12.7062 / 2, abs=1e-3)
