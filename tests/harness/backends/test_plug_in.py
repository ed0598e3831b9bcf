"""A new backend is one folder and one entry: everything else asks the backend."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.backends import backend
from harness.command.resolve import BACKENDS
from rlvr.cli import main

TOY = """
from dataclasses import dataclass

from harness.backends.base import Backend
from harness.backends.errors import CannotExpress
from harness.backends.memory import Need
from harness.backends.seconds import rollout_seconds
from harness.spec.hardware import Hardware, setting


@dataclass(frozen=True)
class ToyHardware(Hardware):
    slices: int = setting(1, "into which a model is cut")


class Toy(Backend[ToyHardware]):
    hardware = ToyHardware
    label = "(toy)"
    profile = {"slices": 1}

    def check(self, training, hardware):
        if training.learning_rate.value > 0.1:
            raise CannotExpress("toy", "learning_rate", training.learning_rate, "it would diverge")

    def launch(self, job, base_model, out_dir, recorder, hardware):
        raise AssertionError("a plan starts nothing")

    def need(self, a, training, hardware, gpu_memory):
        return Need({"weights": 16.0 * a.parameters / hardware.slices}, {})

    def step_seconds(self, a, gpu, e, hardware, rules, mean):
        return rollout_seconds(a, gpu, e, hardware, rules, mean, passes=0, eager=False)

    def candidates(self, training, base):
        yield from ({"slices": slices} for slices in (1, 2, 4))


BACKEND = Toy()
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "toy_trainer").mkdir()
    (tmp_path / "toy_trainer" / "__init__.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(BACKENDS, "toy", "toy_trainer")


@pytest.mark.usefixtures("toy")
def test_a_new_backend_plans_with_its_own_settings_memory_and_time(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["plan", "--json", "paper=egsw", "scale=paper", "arm=grpo", "model=math-7b", "seeds=1", "backend=toy"]
    assert main([*command, "hardware=h100x8"]) == 0
    (arm,) = json.loads(capsys.readouterr().out)["arms"]
    # 16 bytes of 7.6e9 parameters are 122 GB: two slices of 61 GB are the first that fit 85 GB
    assert "hardware.slices=2" in arm["memory"]["settings"] and arm["memory"]["fits"]
    assert arm["memory"]["training"]["weights"] == pytest.approx(8 * 7.615e9, rel=1e-3)
    assert arm["cost_per_run"]["gpu_hours"] > 0
    assert main([*command, "hardware.slices=1", "hardware.gpu=h100"]) == 0
    (arm,) = json.loads(capsys.readouterr().out)["arms"]
    assert not arm["memory"]["fits"] and arm["memory"]["remedy"].endswith("hardware.slices=2")
    assert main([*command, "hardware.deepspeed=zero2"]) != 0
    assert "backend=toy has no such setting; backend=trl has it" in capsys.readouterr().err
    assert main([*command, "learning_rate=0.5"]) == 0
    (arm,) = json.loads(capsys.readouterr().out)["arms"]
    assert "toy cannot express learning_rate" in arm["refused"]
    assert (backend("trl").label, backend("toy").label) == ("", "(toy)")  # in tables
