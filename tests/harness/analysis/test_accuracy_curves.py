"""Accuracy over training: records identify the runs, and the means over seeds are those of the evaluations."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.analysis.accuracy_curves import accuracy_curves
from harness.record.find import runs
from tests.harness.record.folders import started


def write_run(home: Path, arm: str, seed: int, values: dict[int, float], rate: str = "") -> None:
    recorder = started(home, arm=arm, seed=seed, model="m", **({"digest": rate} if rate else {}))
    for step, value in values.items():
        recorder.metrics(step, {"curve/b/avg_at_2": value})
    recorder.update(state="finished", files={**recorder.hashes([recorder.folder / "metrics.jsonl"])})


def test_means_over_seeds(tmp_path: Path) -> None:
    write_run(tmp_path, "grpo", 0, {10: 0.2, 20: 0.6})
    write_run(tmp_path, "grpo", 1, {10: 0.4, 20: 0.6})
    write_run(tmp_path, "egsw", 0, {10: 0.5})
    (plot,) = accuracy_curves(runs(tmp_path), scale="tiny")
    numbers = plot.numbers.set_index(["arm", "step"])
    assert numbers.loc[("m/grpo", 10), "mean"] == pytest.approx(0.3)  # (0.2 + 0.4) / 2
    assert numbers.loc[("m/grpo", 20), "low"] == pytest.approx(0.6)  # equal seeds: a band of width 0
    assert numbers.loc[("m/egsw", 10), "seeds"] == 1
    assert "tiny scale" in plot.caption


def test_other_values_of_an_arm_are_another_curve(tmp_path: Path) -> None:
    write_run(tmp_path, "grpo", 0, {10: 0.2}, "aaaaaaaa")
    write_run(tmp_path, "grpo", 0, {10: 0.4}, "bbbbbbbb")
    (plot,) = accuracy_curves(runs(tmp_path), scale="tiny")
    assert list(plot.numbers["arm"]) == ["m/grpo aaaaaaaa-00aabb", "m/grpo bbbbbbbb-00aabb"]


def test_no_evaluation_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"give eval\.every=K"):
        accuracy_curves([], scale="tiny")
    write_run(tmp_path, "grpo", 0, {10: 0.2})
    with pytest.raises(ValueError, match="metric: expected one of b/avg_at_2, got 'b/maj'"):
        accuracy_curves(runs(tmp_path), scale="tiny", metric="b/maj")
