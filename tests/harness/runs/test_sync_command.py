"""`rlvr sync` with a store that fails on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.runs.track import Tracker
from rlvr.cli import main
from tests.harness.runs.test_delivery import written


def test_a_store_that_fails_on_the_way_is_named_and_the_rest_is_sent_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    outbox = written(tmp_path / "egsw" / "tiny" / "7b-egsw-0-0-seed0")
    there = outbox.pending()
    from mlflow.exceptions import MlflowException

    log_points = Tracker.log_points

    def down(*_: Any) -> None:
        raise MlflowException("the server at http://alice:hunter2pw@mlflow has gone")

    monkeypatch.setattr(Tracker, "log_points", down)
    assert main(["export", "format=mlflow"]) == 1
    out = capsys.readouterr().out
    # the run, its settings and its tags (3 messages) are sent before the first metrics
    assert f"delivered 3 messages to sqlite:///{tmp_path}/mlflow.db; {there - 3} are pending: " in out
    assert "has gone" in out and "hunter2pw" not in out
    monkeypatch.setattr(Tracker, "log_points", log_points)
    assert main(["export", "format=mlflow"]) == 0
    assert f"delivered {there - 3} messages" in capsys.readouterr().out and outbox.pending() == 0
