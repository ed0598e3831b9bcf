"""Trackio and W&B beside MLflow: the same runs, metrics and names, with stand-ins for the packages."""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.record.run import Run
from rlvr.cli import main
from tests.harness.record.folders import finished


class Stub(types.ModuleType):
    """What trackio and wandb have in common, as this repository calls them."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.calls: list[tuple[Any, ...]] = []

    def init(self, **given: Any) -> Stub:
        self.calls.append(("init", given))
        return self

    def log(self, values: Mapping[str, float], step: int) -> None:
        self.calls.append(("log", step, dict(values)))

    def finish(self) -> None:
        self.calls.append(("finish",))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "runs"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return finished(tmp_path / "runs", steps=2)


@pytest.mark.parametrize("name", ["trackio", "wandb"])
def test_equal_names_and_values_at_every_step(run: Run, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stub = Stub(name)
    monkeypatch.setitem(sys.modules, name, stub)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    assert main(["export", f"format={name}", "paper=egsw"]) == 0
    (_, given), *logged, last = stub.calls
    assert (given["project"], given["name"]) == ("egsw", "math-7b/grpo/seed0")
    assert given["config"]["alpha"] == "0.5" and given["config"]["rlvr.arm"] == "grpo"
    assert given.get("mode") == ("offline" if name == "wandb" else None)
    scores = ("log", 2, {"eval/b/avg_at_1": 5 / 8})
    assert logged == [*(("log", step, values) for step, values in run.curve.items()), scores] and last == ("finish",)
    assert main(["export", f"format={name}", "paper=egsw"]) == 0
    assert len(stub.calls) == len(run.curve) + 3  # it has the run already


def test_an_absent_package_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "trackio", None)  # importing it raises ModuleNotFoundError
    assert main(["export", "format=trackio", "paper=egsw"]) == 2
    assert "tracker=trackio: its package is not installed; pip install trackio" in capsys.readouterr().err
    assert main(["export", "format=comet"]) == 2
    assert "trackio, wandb" in capsys.readouterr().err
