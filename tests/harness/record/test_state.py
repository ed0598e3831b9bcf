"""How far a training is, by its log."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest

from evals.files import append_jsonl, write_jsonl
from evals.sampling.store import GROWING
from harness.record.find import beginning
from harness.record.record import RECORD
from harness.record.state import last_step
from harness.record.verdict_files import benchmarks_of
from harness.runs.track import Tracker


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


def test_an_evaluation_without_a_sample_makes_no_name_ambiguous(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    failed, begun, whole = (tmp_path / "evaluations" / f"model-{name}" for name in ("failed", "half", "whole"))
    for folder in (failed, begun):
        (folder / "sums" / "shards").mkdir(parents=True)
        (folder / "sums" / GROWING).write_text("{}")
    assert beginning("model") == [failed, begun]  # neither has a sample: both are named
    (begun / "sums" / "shards" / "0.parquet").write_bytes(b"")
    assert beginning("model") == [begun]
    whole.mkdir()
    (whole / RECORD).write_text("{}")
    assert beginning("model-w") == [whole] and beginning("model") == [whole, begun]
    assert beginning("model-f") == [failed]  # by itself it is found


@pytest.mark.parametrize(("ended", "duration"), [(1000, False), (2000, True), (None, True)])
def test_an_import_has_no_duration_in_mlflow(ended: int | None, duration: bool) -> None:
    # its record has one time: 0 ms would be a duration that nobody measured. A run that is stopped ends now (None)
    client = Mock()
    Tracker(client).end("id", "FINISHED", 1000, ended)
    assert client.set_terminated.called is duration and client.update_run.called is not duration


def test_verdicts_with_a_line_separator_in_a_response_are_read(tmp_path: Path) -> None:
    rows = [{"benchmark": "b", "response": "so\u2028 7"}, {"benchmark": "c", "response": ""}]
    write_jsonl(tmp_path / "v.jsonl", rows)
    assert benchmarks_of(tmp_path / "v.jsonl") == ["b", "c"]
