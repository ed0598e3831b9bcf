"""Evaluation and rejection sampling use the engine that the machine settings name."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evals.sampling import engines
from evals.sampling.engines.vllm import VllmEngine
from harness.backends.engine import close, sampling_engine
from harness.backends.trl.hardware import TrlHardware
from harness.errors import UsageError
from harness.jobs import run as jobs
from harness.plan import machine
from harness.plan.machine import check_engine


@pytest.mark.parametrize(
    ("values", "name", "options"),
    [
        ({}, "transformers", {}),
        ({"device": "cpu"}, "transformers", {"device": "cpu"}),
        ({"engine_dtype": "bfloat16"}, "transformers", {"dtype": "bfloat16"}),
        ({"engine": "vllm", "engine_replicas": 8}, "vllm", {"replicas": 8}),
        ({"engine": "vllm", "engine_tensor_parallel": 4}, "vllm", {"tensor_parallel": 4}),
    ],
)
def test_the_named_engine_is_made(
    values: dict[str, Any], name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[str, str, dict[str, Any]]] = []
    monkeypatch.setattr(engines, "create", lambda name, model, **options: made.append((name, model, options)))
    sampling_engine(TrlHardware(**values), "m")
    assert made == [(name, "m", options)]
    assert set(options) <= set(engines.options(name))  # which `create` would refuse otherwise


def test_an_engine_must_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"hardware\.engine: expected transformers, got 'vllm'"):
        check_engine(TrlHardware(engine="vllm"))


@pytest.mark.parametrize("given", [{"engine_url": "http://x"}, {"engine": "openai", "engine_dtype": "bfloat16"}])
def test_a_setting_that_the_engine_does_not_have_is_refused(given: dict[str, Any]) -> None:
    settings = {"engine_url": "http://x"} | given
    with pytest.raises(UsageError, match=r"hardware\.engine_(url|dtype)=\S+: not used with hardware\.engine=\w+"):
        check_engine(TrlHardware(**settings))


def test_vllm_reserves_what_the_protocol_needs_and_no_more_than_the_model_has(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, Any]] = []
    monkeypatch.setattr(engines, "create", lambda name, model, **options: made.append(options))
    hardware = TrlHardware(engine="vllm")
    sampling_engine(hardware, "Qwen/Qwen3-32B", 8192)  # it has 40,960 positions
    sampling_engine(
        hardware, "Qwen/Qwen2.5-Math-7B", 3072, apart=True
    )  # it has 4,096 positions, in a process of its own
    assert made == [{"context": 8192 + 4096}, {"context": 4096, "replicas": 1}]


def test_a_closed_vllm_is_shut_down_and_made_again_when_asked() -> None:
    """Only `shutdown` frees it: when it starts, vLLM hides all objects from the garbage collector."""
    ended: list[str] = []
    engine = VllmEngine("m")
    close(engine)  # nothing is loaded
    core = SimpleNamespace(shutdown=lambda: ended.append("core"))
    engine.llm = SimpleNamespace(llm_engine=SimpleNamespace(engine_core=core))
    close(engine)
    assert ended == ["core"] and "llm" not in vars(engine)
    close(object())  # an engine that holds nothing


def test_the_evaluation_of_a_job_frees_its_engine_also_when_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []
    monkeypatch.setattr(jobs, "sampling_engine", lambda *_: SimpleNamespace(close=lambda: ended.append("engine")))
    monkeypatch.setattr(jobs, "finishing", nullcontext)
    job = SimpleNamespace(seed=0, protocol=SimpleNamespace(longest=8, benchmarks=SimpleNamespace(value=["b"])))
    self: Any = SimpleNamespace(job=job, hardware=TrlHardware(), folder=tmp_path, data_dir=None)
    with pytest.raises(Exception, match=r"."):  # it has no run
        jobs.JobRun.evaluate(self, "model")
    assert ended == ["engine"]
