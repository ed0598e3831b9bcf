"""Runs of versions before run.json are named, and never absent without a word."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evals.files import RefusedError
from harness.record import run as module
from harness.record.find import runs
from harness.record.mirror import mirrored_runs, run_folders
from harness.record.run import Run
from harness.runs.state import job_states
from harness.runs.track import Tracker
from rlvr.cli import main
from tests.harness.record.folders import finished


@pytest.fixture(params=["record.json", "mlflow.jsonl"])
def earlier(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run that an earlier version made, in a home with a run of this one."""
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr(module, "_noted", set())
    finished(tmp_path)
    folder = tmp_path / "egsw" / "tiny" / "math-7b-egsw-00000001-00aabb-seed0"
    (folder / "train").mkdir(parents=True)
    (folder / request.param).write_text(json.dumps({"paper": "egsw", "arm": "egsw"}) + "\n")
    return folder


def test_a_list_of_runs_names_it_once(earlier: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for listed in (runs, run_folders, lambda: runs(tmp_path), lambda: runs(earlier.parent)):
        assert len(listed()) == 1
        assert capsys.readouterr().err.count(str(earlier)) == (listed is runs)  # the first
    assert {state.folder: state.state for state in job_states(tmp_path)}[earlier] == "earlier version"


def test_a_command_that_is_given_it_refuses(earlier: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for place in (earlier, earlier / "eval"):
        place.mkdir(exist_ok=True)
        with pytest.raises(RefusedError, match="earlier version"):
            runs(place)
    with pytest.raises(RefusedError, match="earlier version"):
        _ = Run(earlier).record
    assert main(["show", str(earlier)]) == 2
    err = capsys.readouterr().err
    assert str(earlier) in err and "Traceback" not in err


def test_commands_that_list_name_it(earlier: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "format=mlflow"]) == 0
    assert str(earlier) in capsys.readouterr().err
    (mirrored,) = Tracker.open().arms("egsw")
    local = Tracker.open().local_artifacts(mirrored)
    assert local is not None and len(mirrored_runs()) == 1
    (local / "run.json").rename(local / "record.json")
    assert mirrored_runs() == []
    assert mirrored.info.run_id in capsys.readouterr().err
