"""Accuracy over training: records identify the runs, and the means over seeds are those of the evaluations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.analysis.accuracy_curves import accuracy_curves, evaluated_runs


def write_run(home: Path, arm: str, seed: int, values: dict[int, float], digest: str = "aa") -> None:
    folder = home / "egsw" / "tiny" / f"m-{arm}-{digest}-seed{seed}"
    folder.mkdir(parents=True)
    (folder / "record.json").write_text(json.dumps({"model": "m", "arm": arm, "digest": digest, "seed": seed}))
    rows = [{"step": step, "scores": {"b": {"avg_at_2": {"value": value}}}} for step, value in values.items()]
    (folder / "curve.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_means_over_seeds(tmp_path: Path) -> None:
    write_run(tmp_path, "grpo", 0, {10: 0.2, 20: 0.6})
    write_run(tmp_path, "grpo", 1, {10: 0.4, 20: 0.6})
    write_run(tmp_path, "egsw", 0, {10: 0.5})
    runs = evaluated_runs(tmp_path, "egsw", "tiny")
    assert [(arm, seed) for arm, seed, _ in runs] == [("m/egsw", 0), ("m/grpo", 0), ("m/grpo", 1)]
    (plot,) = accuracy_curves(runs, scale="tiny")
    numbers = plot.numbers.set_index(["arm", "step"])
    assert numbers.loc[("m/grpo", 10), "mean"] == pytest.approx(0.3)  # (0.2 + 0.4) / 2
    assert numbers.loc[("m/grpo", 20), "low"] == pytest.approx(0.6)  # equal seeds: a band of width 0
    assert numbers.loc[("m/egsw", 10), "seeds"] == 1
    assert "tiny scale" in plot.caption


def test_other_values_of_an_arm_are_another_curve(tmp_path: Path) -> None:
    write_run(tmp_path, "grpo", 0, {10: 0.2})
    write_run(tmp_path, "grpo", 0, {10: 0.4}, digest="bb")
    assert [arm for arm, *_ in evaluated_runs(tmp_path, "egsw", "tiny")] == ["m/grpo aa", "m/grpo bb"]


def test_no_evaluation_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"give eval\.every=K"):
        accuracy_curves(evaluated_runs(tmp_path, "egsw", "tiny"), scale="tiny")
    write_run(tmp_path, "grpo", 0, {10: 0.2})
    with pytest.raises(ValueError, match="metric: expected one of b/avg_at_2, got 'b/maj'"):
        accuracy_curves(evaluated_runs(tmp_path, "egsw", "tiny"), scale="tiny", metric="b/maj")
