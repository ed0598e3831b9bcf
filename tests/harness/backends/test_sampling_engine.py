"""Evaluation and rejection sampling use the engine that the machine settings name."""

from __future__ import annotations

from typing import Any

import pytest

from evals.sampling import engines
from harness.backends.engine import sampling_engine
from harness.backends.trl.hardware import TrlHardware
from harness.plan import machine
from harness.plan.machine import check_engine


@pytest.mark.parametrize(
    ("values", "name", "options"),
    [
        ({}, "transformers", {}),
        ({"device": "cpu"}, "transformers", {"device": "cpu"}),
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
    assert set(options) <= set(engines.OPTIONS[name])  # which `create` would refuse otherwise


def test_an_engine_must_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"hardware\.engine: expected transformers, got 'vllm'"):
        check_engine(TrlHardware(engine="vllm"))


def test_vllm_reserves_what_the_protocol_needs_and_no_more_than_the_model_has(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, Any]] = []
    monkeypatch.setattr(engines, "create", lambda name, model, **options: made.append(options))
    hardware = TrlHardware(engine="vllm")
    sampling_engine(hardware, "Qwen/Qwen3-32B", 8192)  # of 40,960 positions
    sampling_engine(hardware, "Qwen/Qwen2.5-Math-7B", 3072, apart=True)  # of 4,096; in a process of its own
    assert made == [{"context": 8192 + 4096}, {"context": 4096, "replicas": 1}]
