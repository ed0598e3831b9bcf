"""`rlvr export format=mlflow` with a store that fails on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.record.mirror import pending
from harness.runs.track import Tracker
from rlvr.cli import main
from tests.harness.record.folders import finished


def test_a_store_that_fails_on_the_way_is_named_and_the_rest_is_sent_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    run = finished(tmp_path)
    from mlflow.exceptions import MlflowException

    log_points = Tracker.log_points

    def down(*_: Any) -> None:
        raise MlflowException("the server at http://alice:hunter2pw@mlflow has gone")

    monkeypatch.setattr(Tracker, "log_points", down)
    assert main(["export", "format=mlflow"]) == 1
    out = capsys.readouterr().out
    assert "has gone" in out and "hunter2pw" not in out and pending(run.folder)
    monkeypatch.setattr(Tracker, "log_points", log_points)
    assert main(["export", "format=mlflow"]) == 0 and not pending(run.folder)
    (mirrored,) = Tracker.open().arms("egsw")
    assert {a.path for a in Tracker.open().client.list_artifacts(mirrored.info.run_id)} == {
        "eval", "metrics.jsonl", "run.json"
    }  # fmt: skip
