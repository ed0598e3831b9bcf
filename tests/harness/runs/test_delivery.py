"""Outboxes and their delivery: in order, each message once, through every failure of the store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.files import DamagedFileError
from evals.provenance import assumed
from harness.runs.delivery import Courier, Deliverer
from harness.runs.outbox import Outbox, outboxes


class Refused(Exception):
    error_code = "INVALID_PARAMETER_VALUE"


class FakeStore:
    """MLflow as the deliverer sees it; `faults` says what the next calls do: "" works, "before" fails without doing
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
        self._call("artifact", lambda: self.runs[run_id]["files"].append((path.name, folder)))

    def status(self, run_id: str, status: str, at: int) -> None:
        self._call("status", lambda: self.runs[run_id]["status"].append(status))


def written(folder: Path, steps: int = 3) -> Outbox:
    outbox = Outbox(folder)
    outbox.start("egsw", "7b/egsw/seed0", {"kind": "arm"})
    outbox.settings({"alpha": assumed(0.5, "why")})
    for step in range(1, steps + 1):
        outbox.metrics(step, {"train/loss": 1.0 / step, "train/reward": 0.5})
    outbox.scores(steps, {"eval/x": 1.0})
    outbox.finish("FINISHED")
    return outbox


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["", "", "before", "after"]), max_size=25), st.lists(st.booleans(), max_size=30))
def test_each_point_arrives_once_and_in_order_after_any_failure(faults: list[str], restarts: list[bool]) -> None:
    """Failures before and after the store has done its work, and new processes (a new Deliverer) in between."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        outbox = written(Path(folder), steps=5)
        store = FakeStore(list(faults))
        deliverer = Deliverer(store)  # type: ignore[arg-type]
        for _ in range(len(faults) + 2):
            try:
                deliverer.deliver(outbox)
            except ConnectionError:
                if restarts and restarts.pop():
                    deliverer = Deliverer(store)  # type: ignore[arg-type]
        assert outbox.pending() == 0
        (run,) = store.runs.values()  # never a second run
        points = [(name, step, value) for name, step, _, value in run["points"]]
        expected = [p for k in range(1, 6) for p in (("train/loss", k, 1.0 / k), ("train/reward", k, 0.5))]
        assert points == [*expected, ("eval/x", 5, 1.0)]
        assert run["params"] == {"alpha": "0.5", "alpha.source": "assumed: why"}
        assert run["status"][-1] == "FINISHED"


def test_a_step_that_is_trained_again_is_logged_once(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path)
    outbox.start("p", "n", {})
    outbox.metrics(1, {"a": 1.0})
    again = Outbox(tmp_path)  # the process after a kill
    again.start("p", "n", {})
    again.metrics(1, {"a": 9.0})
    again.metrics(2, {"a": 2.0})
    assert [(m["step"], m["values"]) for m in again.messages() if m["op"] == "metrics"] == [
        (1, {"a": 1.0}),
        (2, {"a": 2.0}),
    ]
    assert sum(m["op"] == "run" for m in again.messages()) == 1


def test_a_run_that_never_started_is_not_delivered(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path)
    outbox.start("p", "n", {})
    outbox.settings({"alpha": assumed(0.5, "why")})
    store = FakeStore()
    assert Deliverer(store).deliver(outbox) == 0  # type: ignore[arg-type]
    outbox.finish("FAILED")
    assert not outbox.file.exists() and store.calls == []


def test_another_store_is_filled_from_the_start(tmp_path: Path) -> None:
    outbox = written(tmp_path)
    first, second = FakeStore(), FakeStore()
    Deliverer(first).deliver(outbox)  # type: ignore[arg-type]
    Deliverer(second).deliver(outbox)  # type: ignore[arg-type]
    assert next(iter(first.runs.values()))["points"] == next(iter(second.runs.values()))["points"]


def test_a_deleted_outbox_is_rebuilt_without_duplicates(tmp_path: Path) -> None:
    store = FakeStore()
    Deliverer(store).deliver(written(tmp_path))  # type: ignore[arg-type]
    (tmp_path / "mlflow.jsonl").unlink()  # it was damaged
    Deliverer(store).deliver(written(tmp_path))  # type: ignore[arg-type]
    (run,) = store.runs.values()
    assert len(run["points"]) == len({p[:2] for p in run["points"]}) == 7


def test_a_permanent_refusal_of_mlflow_is_reported_and_does_not_block(tmp_path: Path) -> None:
    store = FakeStore()

    def refuse(run_id: str, params: dict[str, str]) -> None:
        raise Refused("Changing param values is not allowed")

    store.params = refuse  # type: ignore[method-assign]
    told: list[str] = []
    Deliverer(store, warn=told.append).deliver(written(tmp_path))  # type: ignore[arg-type]
    assert "MLflow refuses params" in told[0] and "Changing param values" in told[0]
    assert len(next(iter(store.runs.values()))["points"]) == 7


def test_a_child_run_creates_its_parent(tmp_path: Path) -> None:
    parent = Outbox(tmp_path / "egsw" / "tiny", "command-1234")
    parent.start("egsw", "a command", {"kind": "command"})
    child = Outbox(tmp_path / "egsw" / "tiny" / "job")
    child.start("egsw", "a job", {"kind": "arm"}, parent)
    child.metrics(1, {"a": 1.0})
    assert [box.stem for box in outboxes(tmp_path)] == ["command-1234", "mlflow"]
    store = FakeStore()
    Deliverer(store).deliver(child)  # type: ignore[arg-type]
    by_name = {run["name"]: (token, run) for token, run in store.runs.items()}
    assert by_name["a job"][1]["tags"]["mlflow.parentRunId"] == by_name["a command"][0]
    assert parent.pending() == 1  # its status: its own delivery brings it


def test_a_dead_store_does_not_slow_a_courier(tmp_path: Path) -> None:
    store = FakeStore(["before"] * 10_000)
    courier = Courier(store)  # type: ignore[arg-type]
    outbox = written(tmp_path)
    courier.start()
    courier.watch(outbox)
    courier.close(patience_s=0.2)
    assert courier.pending() == {outbox.file: 8} and isinstance(courier.error, ConnectionError)
    store.faults = []
    other = Courier(store)  # type: ignore[arg-type]
    other.start()
    other.watch(outbox)
    other.close()
    assert other.pending() == {}


def test_a_damaged_outbox_is_named(tmp_path: Path) -> None:
    outbox = written(tmp_path)
    outbox.file.write_bytes(b"garbage\n" + outbox.file.read_bytes())
    with pytest.raises(DamagedFileError, match=r"mlflow\.jsonl is damaged"):
        outbox.messages()
