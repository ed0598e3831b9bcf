"""The plan for a machine without a GPU: hours by its processor, its own memory, no price, and a shorter run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rlvr
from harness.backends.seconds import FAST, MIDDLE, SLOW, reached
from harness.spec import hardware
from harness.spec.architecture import architecture
from harness.spec.hardware import Gpu

SLOWEST = Gpu(64e9, 1e11, 1e9, measured=True)
BASE = "Qwen/Qwen2.5-0.5B"  # of scale small


def test_a_processor_reaches_twice_a_gpus_share_of_what_was_measured() -> None:
    a = architecture(BASE)
    assert a is not None
    # 2 x 0.30, 0.45 and 0.18 of 1e11; neither the width of the layers nor the speed of the chip counts once more
    assert [reached(a, SLOWEST, rules) for rules in (MIDDLE, FAST, SLOW)] == pytest.approx([6e10, 9e10, 3.6e10])


def test_hours_and_memory_are_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "this_processor", lambda: SLOWEST)
    planned = rlvr.plan("egsw", scale="small", arm="grpo", seeds=1, max_steps=11, **{"hardware.device": "cpu"})
    (arm,) = planned["arms"]
    assert arm["label"] == "Qwen2.5-0.5B/grpo"  # what is trained, not the paper's math-7b
    assert (arm["memory"]["gpu"], arm["memory"]["gpu_bytes"]) == ("cpu", 64e9) and planned["total"]["price"] is None
    hours, first = planned["total"]["hours"], arm["one_step"]
    # a rollout is 256 responses of about 307 + 154 tokens, 118,000 tokens: at 6 x 0.49e9 FLOPs each and 6e10 FLOP/s the
    # update alone takes 1.6 hours; sampling is some 1,024 steps of at least 1.2 s, a third of an hour
    assert 10 * 1.9 < hours - first < 10 * 6
    line = (
        f"max_steps=1 takes about {first:.2f} hours with its evaluation, each further step {(hours - first) / 10:.2f}"
    )
    assert line in str(planned)
    assert not any(word in str(planned) for word in ("GPU memory", "GPU-hours", "USD"))
    assert "too large for this machine; it fits with hardware.micro_batch=" in str(planned)


def test_a_training_of_no_step_is_refused(tmp_path: Path, random_model: Path) -> None:
    rows = [{"problem": f"{i} + 1 = ?", "answer": str(i + 1)} for i in range(40)]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = {"scale": "small", "arm": "grpo", "data": tmp_path / "sums.jsonl", "base_model": str(random_model)}
    with pytest.raises(rlvr.UsageError, match=r"epochs=0.8: expected .* rollout .*=32, and 40 problems .* give none"):
        rlvr.plan("egsw", **given)
    (arm,) = rlvr.plan("egsw", **given, epochs=1.0)["arms"]
    assert arm["steps"] == 1 and arm["label"] == f"{random_model.name}/grpo"  # 40 // 32
    with pytest.raises(rlvr.UsageError, match=r"got 40 .*; prompts_per_rollout=40 epochs=1 .* takes them all in each"):
        rlvr.plan("egsw", **given, prompts_per_rollout=64)
