"""How far a training is, by its log."""

from __future__ import annotations

from pathlib import Path

from evals.files import append_jsonl
from harness.record.state import last_step


def test_a_later_update_has_the_reward_of_its_rollout(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    assert last_step(log) == (None, {})
    append_jsonl(log, {"step": 1, "metrics": {"train/entropy": 0.9}})
    assert last_step(log) == (1, {"train/entropy": 0.9})  # no rollout has ended yet
    append_jsonl(log, {"step": 3, "metrics": {"train/reward": 0.5, "train/entropy": 0.8}})
    append_jsonl(log, {"step": 4, "metrics": {"train/entropy": 0.7}})
    assert last_step(log) == (4, {"train/reward": 0.5, "train/entropy": 0.7})
    append_jsonl(log, {"step": 4, "metrics": {"curve/b/avg_at_1": 0.25}})  # an evaluation after this step
    assert last_step(log) == (4, {"train/reward": 0.5, "train/entropy": 0.7, "curve/b/avg_at_1": 0.25})
