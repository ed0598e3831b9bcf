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
        ({"engine": "ray", "device": "cpu"}, "ray", {"inner": "transformers", "device": "cpu"}),
        ({"engine": "ray_vllm", "ray_address": "a:1"}, "ray", {"inner": "vllm", "address": "a:1"}),
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
    for engine in ("vllm", "ray", "ray_vllm"):
        with pytest.raises(ValueError, match=rf"hardware\.engine: expected transformers, got '{engine}'"):
            check_engine(TrlHardware(engine=engine))  # type: ignore[arg-type]
