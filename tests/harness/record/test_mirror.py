"""The mirror in MLflow: each point once, through every failure of the store."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from evals.errors import DamagedFileError
from evals.stats.intervals import Interval
from evals.stats.score import bounds_text
from harness.record import mirror as module
from harness.record.mirror import BackgroundMirror, pending, sync_run
from harness.record.run import Run
from harness.record.write import Recorder
from harness.runs.track import Tracker
from rlvr.cli import main
from tests.damages import DAMAGES
from tests.harness.record.folders import finished, started


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


class Faulty:
    """MLflow's client, whose next calls work (""), fail without doing anything ("before"), or do their work and fail
    then ("after": the answer is lost)."""

    def __init__(self, client: Any, faults: list[str]) -> None:
        self.client, self.faults = client, faults

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            fault = self.faults.pop(0) if self.faults else ""
            if fault == "before":
                raise ConnectionError("the server at http://alice:hunter2pw@mlflow has gone")
            answer = getattr(self.client, name)(*args, **kwargs)
            if fault == "after":
                raise ConnectionError("answer lost")
            return answer

        return call


def broken(*faults: str) -> Tracker:
    return Tracker(Faulty(Tracker.open().client, list(faults)))  # type: ignore[arg-type]


def check_whole(run: Run) -> None:
    """MLflow has one run, each point of it once, its params, its tags and its files."""
    client = Tracker.open().client
    (mirrored,) = [arm for arm in Tracker.open().arms("egsw") if arm.data.tags["rlvr.arm"] == "grpo"]
    points = {
        (name, point.step, point.value): point.timestamp
        for name in mirrored.data.metrics
        for point in client.get_metric_history(mirrored.info.run_id, name)
    }
    assert points.keys() == {
        *((name, step, value) for step, values in run.curve.items() for name, value in values.items()),
        ("verdicts/b/avg_at_1", max(run.curve), 5 / 8),
    }
    assert len(points) == sum(len(client.get_metric_history(mirrored.info.run_id, n)) for n in mirrored.data.metrics)
    assert mirrored.info.run_name == "tiny/grpo/seed0"  # the model that was trained, not the paper's
    named = {"model": "tiny", "arm": "grpo", "scale": "tiny", "backend": "trl", "seed": "0"}
    assert mirrored.data.params.keys() == named.keys() | run.settings.keys()
    assert mirrored.data.params.items() >= {**named, "alpha": "0.5"}.items()
    assert "| b | avg@1 | 62.5 " in mirrored.data.tags["mlflow.note.content"]
    assert mirrored.data.tags["b"] == "62.5 avg@1"
    experiment = Tracker.open().client.get_experiment_by_name("egsw")
    view = json.loads(experiment.tags["mlflow.sharedViewState.rlvr"])
    assert view["selectedColumns"] == ["params.`arm`", "params.`seed`", "tags.`b`"]
    assert Tracker.open().views("http://x")["egsw"].startswith("http://x/#/experiments/")
    assert mirrored.data.tags["rlvr.arm"] == "grpo" and mirrored.info.status == "FINISHED"
    artifacts = Path(mirrored.info.artifact_uri.removeprefix("file://"))
    names = {str(path.relative_to(artifacts)) for path in artifacts.rglob("*") if path.is_file()}
    files = {"metrics.jsonl", "eval/b/verdicts.parquet", "eval/b/manifest.json", "run.json"}
    assert names == files | {"values.csv", "samples.json"}
    assert "alpha,0.5,assumed,why" in (artifacts / "values.csv").read_text().splitlines()
    table = json.loads((artifacts / "samples.json").read_text())
    assert len(table["data"]) == 8 and table["columns"][:2] == ["benchmark", "problem_id"]  # each once
    assert json.loads(mirrored.data.tags["mlflow.loggedArtifacts"]) == [{"path": "samples.json", "type": "table"}]


@pytest.mark.parametrize("seed", range(8))
def test_everything_arrives_once_after_any_failure(seed: int, home: Path) -> None:
    generator = random.Random(seed)
    tracker = broken(*(generator.choice(["", "", "before", "after"]) for _ in range(25)))
    run = finished(home, steps=5)
    for _ in range(30):
        try:
            sync_run(run.folder, tracker)
        except ConnectionError:
            assert pending(run.folder)
    assert not pending(run.folder) and not sync_run(run.folder, tracker)
    check_whole(run)


def test_a_run_is_mirrored_while_it_grows(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "METRICS_AT_ONCE", 2)  # several calls for the steps of one
    recorder, tracker = started(home), Tracker.open()
    assert not sync_run(recorder.folder, tracker)  # it may still fail to start
    for step in (1, 2, 3):
        recorder.metrics(step, {"train/loss": float(step), "train/reward": 0.5, "train/entropy": 0.1})
        assert sync_run(recorder.folder, tracker) and not sync_run(recorder.folder, tracker)
    recorder.metrics(2, {"train/loss": 9.0})  # it is there
    assert not sync_run(recorder.folder, tracker)
    (run,) = tracker.arms("egsw", finished=False)
    assert run.info.status == "RUNNING"
    recorder.update(state="stopped", stopped="SIGTERM")
    assert sync_run(recorder.folder, tracker)
    (run,) = tracker.arms("egsw", finished=False)
    assert [point.value for point in tracker.client.get_metric_history(run.info.run_id, "train/loss")] == [1, 2, 3]
    assert run.info.status == "KILLED" and run.data.tags["rlvr.stopped"] == "SIGTERM"
    assert not tracker.client.list_artifacts(run.info.run_id)
    recorder.start()  # it goes on
    assert sync_run(recorder.folder, tracker)
    (run,) = tracker.arms("egsw", finished=False)
    assert run.info.status == "RUNNING" and "rlvr.stopped" not in run.data.tags


@pytest.mark.parametrize("again", [1, 2, 3])
def test_a_training_that_went_back_has_the_points_of_its_second_try(again: int, home: Path) -> None:
    """Points 1, 2 and 3 were sent. The second try is looked at when its file is shorter, as long, and longer."""
    recorder, tracker = started(home), broken("", "", "", "", "", "", "", "", "after")
    for step in (1, 2, 3):
        recorder.metrics(step, {"train/loss": float(step)})
    assert sync_run(recorder.folder, Tracker.open()) and not pending(recorder.folder)
    recorder.rewind(1)
    for step in range(2, 2 + again):
        recorder.metrics(step, {"train/loss": step + 0.5})
    recorder.update(state="running", so_far="it goes on")
    for _ in range(3):
        with suppress(ConnectionError):
            sync_run(recorder.folder, tracker)
    assert not pending(recorder.folder)
    (run,) = tracker.arms("egsw", finished=False)
    points = tracker.client.get_metric_history(run.info.run_id, "train/loss")
    assert [(point.step, point.value) for point in points] == [(1, 1.0), *((s, s + 0.5) for s in range(2, 2 + again))]


@pytest.mark.parametrize("name", ["cut", "a bit flipped"])
def test_a_damaged_curve_deletes_no_run_in_mlflow(name: str, home: Path) -> None:
    run, tracker = finished(home), Tracker.open()
    sync_run(run.folder, tracker)
    DAMAGES[name](run.folder / "metrics.jsonl", run.folder / "metrics.jsonl")
    Recorder(run.folder).update(so_far="so that there is something to send")
    with pytest.raises(DamagedFileError):
        sync_run(run.folder, tracker)
    assert len(tracker.arms("egsw")) == 1


def test_a_name_holds_no_folders_and_can_be_read(home: Path) -> None:
    """Longer ones fill the list of runs in MLflow, and the warnings of tables.md."""
    overrides = {"dataset": "/home/me/of/sums.jsonl?problem=question", "base_model": "/models/a/smol", "x": "org/name"}
    name = module.run_name(finished(home, overrides=overrides).record)
    assert name == "tiny/grpo/seed0 [base_model=smol dataset=sums.jsonl?problem=question x=org/name]"
    long = module.run_name(finished(home, arm="egsw", overrides={f"value_{i}": "/a/b" for i in range(40)}).record)
    assert len(long) == 120 and long.endswith("…") and "value_0=b" in long


def test_intervals_are_written_as_rlvr_show_writes_them() -> None:
    interval = Interval(0.904, 1.0, 0.95, "problems", rough=True)
    record = {
        "scores": {"b": {"avg_at_4": {"value": 0.925, "interval": asdict(interval)}, "pass_at_4": {"value": 1.0}}}
    }
    assert module.scores_table(record).splitlines()[2:] == [
        f"| b | avg@4 | 92.5 {bounds_text(interval, 100)} |",
        "| b | pass@4 | 100.0  |",
    ]
    assert bounds_text(interval, 100) == "~[90.4, 100.0]"


@pytest.mark.parametrize("word", ["00aabb", "math-7b", "assumed", "egsw-grpo", "finished", "default"])
def test_a_credential_that_is_an_ordinary_word_breaks_no_record(
    word: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SECRET", word)
    run = finished(home)
    sync_run(run.folder, Tracker.open())
    check_whole(run)
    assert run.record["base_model"]["sha256"].startswith("00aabb") and main(["show", str(run.folder)]) == 0
    (mirrored,) = Tracker.open().arms("egsw")
    assert mirrored.data.tags["rlvr.model"] == "tiny" and run.digest == mirrored.data.tags["rlvr.digest"]


def test_another_store_and_a_lost_note_are_filled_from_the_folder(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = finished(home)
    for change in (lambda: None, (run.folder / "mlflow.json").unlink, (home / "mlflow.db").unlink):
        change()
        assert main(["sync"]) == 0
        check_whole(run)
    with monkeypatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'other.db'}")
        assert main(["sync"]) == 0
        check_whole(run)
    capsys.readouterr()
    assert pending(run.folder)  # as far as the note says, which is of the other store
    assert main(["sync"]) == 0
    assert "brought 0 runs and" in capsys.readouterr().out
    check_whole(run)


def test_a_store_that_fails_is_named_and_the_rest_is_sent_later(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = finished(home)
    with monkeypatch.context() as patch:
        tracker = broken("", "", "", "", "before")
        patch.setattr(Tracker, "open", lambda: tracker)
        assert main(["sync"]) == 1
    out = capsys.readouterr().out
    assert "has gone" in out and "hunter2pw" not in out and pending(run.folder)
    assert main(["sync"]) == 0
    check_whole(run)


def test_one_damaged_run_does_not_stop_the_others(home: Path) -> None:
    damaged, whole = finished(home, arm="egsw"), finished(home, arm="grpo")
    (damaged.folder / "eval" / "b" / "verdicts.parquet").write_bytes(b"cut")
    mirror = BackgroundMirror(Tracker.open())
    mirror.watch(damaged.folder, whole.folder)
    mirror.start()
    mirror.close()
    assert isinstance(mirror.error, DamagedFileError) and mirror.pending() == [damaged.folder]
    check_whole(whole)


def test_a_dead_store_does_not_slow_a_training(home: Path) -> None:
    run = finished(home)
    mirror = BackgroundMirror(broken(*["before"] * 10_000))
    mirror.watch(run.folder)
    mirror.start()
    mirror.close(patience_s=0.2)
    assert mirror.pending() == [run.folder] and isinstance(mirror.error, ConnectionError)


@pytest.mark.parametrize("content", ["null", "[" * 100_000, "another run's"])
def test_a_damaged_note_is_written_again_and_nothing_goes_to_another_run(home: Path, content: str) -> None:
    run, other = finished(home), finished(home, arm="egsw")
    assert sync_run(run.folder, Tracker.open()) and sync_run(other.folder, Tracker.open())
    note = run.folder / "mlflow.json"
    note.write_text((other.folder / "mlflow.json").read_text() if content == "another run's" else content)
    assert pending(run.folder)
    assert not sync_run(run.folder, Tracker.open())  # nothing was lacking: the note alone is made again
    assert json.loads(note.read_text())["run"] == run.record["id"] and not pending(run.folder)
    mirrored = Tracker.open().arms("egsw")
    assert sorted((arm.data.tags["rlvr.arm"], len(arm.data.metrics)) for arm in mirrored) == [("egsw", 3), ("grpo", 3)]
