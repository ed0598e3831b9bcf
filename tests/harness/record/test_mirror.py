"""The mirror in MLflow: everything in order, each point once, through every failure of the store."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.files import DamagedFileError
from harness.record.mirror import BackgroundMirror, Mirror, pending
from tests.harness.record.folders import finished, started


class Refused(Exception):
    error_code = "INVALID_PARAMETER_VALUE"


class FakeStore:
    """MLflow as the mirror sees it; `faults` says what the next calls do: "" works, "before" fails without doing
    anything, "after" does it and fails then (the answer is lost)."""

    def __init__(self, faults: list[str] | None = None) -> None:
        self.faults = faults or []
        self.runs: dict[str, dict[str, Any]] = {}
        self.calls: list[str] = []

    def _call(self, name: str, do: Any) -> Any:
        self.calls.append(name)
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "before":
            raise ConnectionError("down")
        answer = do()
        if fault == "after":
            raise ConnectionError("answer lost")
        return answer

    def experiment(self, name: str) -> str:
        return name

    def has_run(self, run_id: str) -> bool:
        return bool(self._call("has_run", lambda: run_id in self.runs))

    def run_of(self, experiment: str, name: str, tags: dict[str, str], token: str, start_time: int) -> str:
        def do() -> str:
            self.runs.setdefault(
                token, {"name": name, "tags": tags, "points": [], "params": {}, "status": [], "files": []}
            )
            return token

        return str(self._call("run_of", do))

    def params(self, run_id: str, params: dict[str, str]) -> None:
        self._call("params", lambda: self.runs[run_id]["params"].update(params))

    def tags(self, run_id: str, tags: dict[str, str]) -> None:
        self._call("tags", lambda: self.runs[run_id]["tags"].update(tags))

    def log_points(self, run_id: str, points: list[Any]) -> None:
        self._call("log_points", lambda: self.runs[run_id]["points"].extend(points))

    def points(self, run_id: str, names: set[str]) -> set[tuple[str, int]]:
        have = {(name, step) for name, step, _, _ in self.runs[run_id]["points"]}
        return set(self._call("points", lambda: {p for p in have if p[0] in names}))

    def artifact(self, run_id: str, path: Path, folder: str | None) -> None:
        self._call("artifact", lambda: self.runs[run_id]["files"].append("/".join(filter(None, (folder, path.name)))))

    def status(self, run_id: str, status: str, at: int) -> None:
        self._call("status", lambda: self.runs[run_id]["status"].append(status))


def check_whole(store: FakeStore, steps: int) -> None:
    (run,) = store.runs.values()  # never a second run
    points = [(name, step, value) for name, step, _, value in run["points"]]
    expected = [p for k in range(1, steps + 1) for p in (("train/loss", k, 1.0 / k), ("train/reward", k, 0.5))]
    assert points == [*expected, ("eval/b/avg_at_1", steps, 5 / 8)]
    assert run["params"]["alpha"] == "0.5" and run["params"]["alpha.source"] == "assumed: why"
    assert run["status"][-1] == "FINISHED" and run["tags"]["rlvr.arm"] == "grpo"
    names = ["metrics.jsonl", "eval/b/verdicts.parquet", "eval/b/manifest.json", "run.json"]
    assert set(run["files"]) == set(names) and run["files"][-1] == "run.json"


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["", "", "before", "after"]), max_size=25), st.lists(st.booleans(), max_size=30))
def test_each_point_arrives_once_and_in_order_after_any_failure(faults: list[str], restarts: list[bool]) -> None:
    """Failures before and after the store has done its work, and new processes (a new Mirror) in between."""
    with tempfile.TemporaryDirectory() as home:
        run = finished(Path(home), steps=5)
        store = FakeStore(list(faults))
        mirror = Mirror(store)  # type: ignore[arg-type]
        for _ in range(len(faults) + 2):
            try:
                mirror.deliver(run.folder)
            except ConnectionError:
                if restarts and restarts.pop():
                    mirror = Mirror(store)  # type: ignore[arg-type]
        assert not pending(run.folder)
        check_whole(store, 5)


def test_a_run_is_mirrored_while_it_grows(tmp_path: Path) -> None:
    recorder, store = started(tmp_path), FakeStore()
    mirror = Mirror(store)  # type: ignore[arg-type]
    assert mirror.deliver(recorder.folder) == 0 and store.calls == []  # it may still fail to start
    for step in (1, 2):
        recorder.metrics(step, {"train/loss": float(step)})
        assert mirror.deliver(recorder.folder) > 0
        assert mirror.deliver(recorder.folder) == 0
    recorder.metrics(2, {"train/loss": 9.0})  # trained again after a kill
    mirror.deliver(recorder.folder)
    (run,) = store.runs.values()
    assert [(step, value) for _, step, _, value in run["points"]] == [(1, 1.0), (2, 2.0)]
    recorder.update(state="stopped", stopped="SIGTERM")
    mirror.deliver(recorder.folder)
    assert run["status"] == ["RUNNING", "KILLED"] and run["tags"]["rlvr.stopped"] == "SIGTERM" and run["files"] == []


def test_another_store_and_a_lost_note_are_filled_from_the_folder(tmp_path: Path) -> None:
    run, first, second = finished(tmp_path), FakeStore(), FakeStore()
    Mirror(first).deliver(run.folder)  # type: ignore[arg-type]
    (run.folder / "mlflow.json").unlink()
    Mirror(first).deliver(run.folder)  # type: ignore[arg-type]
    Mirror(second).deliver(run.folder)  # type: ignore[arg-type]
    for store in (first, second):
        (mirrored,) = store.runs.values()
        assert len(mirrored["points"]) == len({p[:2] for p in mirrored["points"]}) == 7
    check_whole(second, 3)


def test_a_permanent_refusal_of_mlflow_is_reported_and_does_not_block(tmp_path: Path) -> None:
    run, store, warnings = finished(tmp_path), FakeStore(), []

    def refuse(run_id: str, params: dict[str, str]) -> None:
        raise Refused("Changing param values is not allowed")

    store.params = refuse  # type: ignore[method-assign]
    Mirror(store, warn=warnings.append).deliver(run.folder)  # type: ignore[arg-type]
    assert "Changing param values" in warnings[0]
    assert len(next(iter(store.runs.values()))["points"]) == 7


def test_one_damaged_run_does_not_stop_the_others(tmp_path: Path) -> None:
    damaged, whole = finished(tmp_path, arm="egsw"), finished(tmp_path, arm="grpo")
    (damaged.folder / "eval" / "b" / "verdicts.parquet").write_bytes(b"cut")
    store = FakeStore()
    mirror = BackgroundMirror(store)  # type: ignore[arg-type]
    mirror.start()
    mirror.watch(damaged.folder, whole.folder)
    mirror.close(patience_s=1.0)
    assert isinstance(mirror.error, DamagedFileError) and mirror.pending() == [damaged.folder]
    assert len(store.runs) == 2


def test_a_dead_store_does_not_slow_a_training(tmp_path: Path) -> None:
    run, store = finished(tmp_path), FakeStore(["before"] * 10_000)
    mirror = BackgroundMirror(store)  # type: ignore[arg-type]
    mirror.start()
    mirror.watch(run.folder)
    mirror.close(patience_s=0.2)
    assert mirror.pending() == [run.folder] and isinstance(mirror.error, ConnectionError)
    store.faults = []
    other = BackgroundMirror(store)  # type: ignore[arg-type]
    other.start()
    other.watch(run.folder)
    other.close()
    assert other.pending() == []


@pytest.mark.parametrize("content", ["null", "[]", "[" * 100_000, "{"])
def test_a_damaged_note_is_named(tmp_path: Path, content: str) -> None:
    run = finished(tmp_path)
    (run.folder / "mlflow.json").write_text(content)
    with pytest.raises(DamagedFileError, match=r"mlflow\.json"):
        Mirror(FakeStore()).deliver(run.folder)  # type: ignore[arg-type]
