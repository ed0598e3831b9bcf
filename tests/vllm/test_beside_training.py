"""An evaluation during a training with TRL, by the vLLM of its rollouts, which has the trained weights; on a CPU."""

from __future__ import annotations

import json
import os
import weakref
from pathlib import Path
from typing import Any

import pytest

from evals.files import read_jsonl
from harness.backends.trl.trainer import MethodTrainer
from harness.jobs import run as jobs
from rlvr.cli import main

pytest.importorskip("vllm", reason="vLLM is not installed here: nox -s vllm")


def test_the_rollouts_engine_measures_the_trained_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    # a step so large that the model answers nothing any more: an engine with the weights of before would still answer
    words = "arm=grpo seeds=1 max_steps=2 eval.every=2 eval.n=1 eval.max_tokens=64 protocol.n=1 prompts_per_rollout=8"
    machine = "learning_rate=1e-2 hardware.device=cpu hardware.rollouts=vllm_colocate"
    assert main(["run", "paper=egsw", *words.split(), *machine.split()]) == 0
    (run,) = (path.parent for path in tmp_path.glob("egsw/tiny/*/run.json"))
    scores = {row["step"]: row["scores"]["tiny_short"]["avg_at_1"]["value"] for row in read_jsonl(run / "curve.jsonl")}
    assert scores.keys() == {0, 2} and scores[0] > 0.3 and scores[2] < 0.1
    for step in ("step-000000", "step-000002"):
        manifest = json.loads((run / "curve" / step / "tiny_short" / "manifest.json").read_text())
        engine = manifest["identity"]["engine"]
        assert (engine["name"], engine["dtype"]) == ("vllm", "bfloat16")  # what vLLM makes of a float32 model
    gaps = [row["metrics"].get("train/mismatch_kl") for row in read_jsonl(run / "metrics.jsonl")]
    assert max(gap for gap in gaps if gap is not None) < 1e-3


def test_trainings_in_one_process_leave_no_model_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU the evaluation's vLLM found no memory after the first training (an H200, 2026-11-26)."""
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    trainers: list[weakref.ref[Any]] = []
    alive: list[list[bool]] = []  # at the start of each evaluation: which trainers and engines still exist
    made, engine = MethodTrainer.__init__, jobs.sampling_engine

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        trainers.extend((weakref.ref(self), weakref.ref(self.vllm_generation.llm)))

    def watched(*args: Any) -> Any:
        alive.append([ref() is not None for ref in trainers])
        made = engine(*args)
        trainers.append(weakref.ref(made))
        return made

    monkeypatch.setattr(MethodTrainer, "__init__", init)
    monkeypatch.setattr(jobs, "sampling_engine", watched)
    words = "arm=grpo seeds=2 max_steps=1 protocol.n=1 protocol.rows=4 prompts_per_rollout=8 protocol.ks=[1]"
    machine = "hardware.device=cpu hardware.rollouts=vllm_colocate hardware.engine=vllm"
    assert main(["run", "paper=egsw", *words.split(), *machine.split()]) == 0
    assert alive == [[False] * 2, [False] * 5]
    assert "WORLD_SIZE" not in os.environ  # the second training is no part of a distributed one
