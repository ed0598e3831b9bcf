"""The needs of a run on this machine are checked before it starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evals.files import write_text
from harness.backends.trl import backend as trl
from harness.backends.trl.hardware import TrlHardware
from harness.command.options import RunOptions
from harness.command.resolve import resolve
from harness.errors import UsageError
from harness.plan.machine import check_device, check_machine, hardware_of
from harness.spec.architecture import architecture, configuration, positions

READY = trl.BACKEND.ready


def test_gpu_device_needs_a_gpu() -> None:
    with pytest.raises(ValueError, match=r"hardware\.device: expected cpu or auto, got 'gpu'"):
        check_device(TrlHardware(device="gpu"), gpus=0)
    with pytest.raises(ValueError, match=r"hardware\.processes: expected at most the 2 GPUs here, got 4"):
        check_device(TrlHardware(device="gpu", processes=4), gpus=2)
    check_device(TrlHardware(device="gpu", processes=2), gpus=2)
    check_device(TrlHardware(device="cpu", processes=4), gpus=0)


def test_device_gpu_is_never_recorded_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="torch sees no GPU"):
        TrlHardware(device="gpu").with_device()
    assert TrlHardware(device="auto").with_device().device == "cpu"


def test_vllm_must_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trl, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="got 'vllm_colocate': vLLM is not installed"):
        READY(TrlHardware(rollouts="vllm_colocate"))


def test_local_data_are_read_before_the_start(tmp_path: Path) -> None:
    rows = [{"problem": "1+1?", "answer": "2"}] * 16 + [{"problem": "2+2?"}]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    jobs = resolve("egsw", arms=["grpo"], seeds=[0], overrides={"dataset": str(path)})
    with pytest.raises(ValueError, match="row 17: expected text in 'answer', got None"):
        check_machine(jobs, {("math-7b", "grpo"): TrlHardware(device="cpu")}, data_dir=None)


def test_a_benchmark_s_file_is_read_before_the_start(tmp_path: Path) -> None:
    (tmp_path / "math500.jsonl").write_text('{"problem": "1+1?", "answer": "2"}\n')
    jobs = resolve("egsw", arms=["grpo"], seeds=[0], overrides={"protocol.benchmarks": ["math500"]})
    with pytest.raises(UsageError, match=r"math500 from .* is not the pinned version: it has 1 rows, expected 500"):
        check_machine(jobs, {("math-7b", "grpo"): TrlHardware(device="cpu")}, data_dir=str(tmp_path))


def test_unreachable_hub_is_reported_before_the_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from huggingface_hub import HfApi, constants

    calls: list[tuple[str, float]] = []

    def model_info(self: Any, name: str, *, timeout: float) -> None:
        calls.append((name, timeout))
        raise ConnectionError("no route")

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(HfApi, "model_info", model_info)
    jobs = resolve("egsw", arms=["grpo"], seeds=[0], overrides={"base_model": "owner/name"})
    on = {("math-7b", "grpo"): TrlHardware(device="cpu")}
    with pytest.raises(ValueError, match="model 'owner/name': not in the local cache, and the hub does not answer"):
        check_machine(jobs, on, data_dir=None)
    assert calls == [("owner/name", 1.5)]  # once, and for two seconds at most
    cached = tmp_path / "models--owner--name"
    write_text(cached / "snapshots" / "abc" / "config.json", json.dumps(configuration("Qwen/Qwen3-0.6B")))
    write_text(cached / "refs" / "main", "abc")
    assert architecture("owner/name") == architecture("Qwen/Qwen3-0.6B") and positions("owner/name") == 40960
    check_machine(jobs, on, data_dir=None, force=True)  # cached: the hub is not asked
    assert len(calls) == 1


def test_a_setting_of_another_backend_is_named() -> None:
    with pytest.raises(UsageError, match=r"hardware\.nodes=2: .*backend=verl"):
        hardware_of(RunOptions.from_keys({"hardware.nodes": 2}))
    assert hardware_of(RunOptions.from_keys({"hardware.nodes": 2}), "verl").devices == 2
    with pytest.raises(UsageError, match=r"hardware\.deepspeed=zero2: .*backend=trl"):
        hardware_of(RunOptions.from_keys({"hardware.deepspeed": "zero2"}), "verl")
