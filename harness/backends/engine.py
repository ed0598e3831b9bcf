"""The engine for evaluations and rejection sampling: `hardware.engine`, `engine_replicas`.

It reads a trained model from its folder, which is what a record hashes. During training, weights reach the
trainer's own sampler without a file: TRL's and veRL's colocated vLLM take them from the trainer's memory.
"""

from __future__ import annotations

from typing import Any

from evals.sampling import engines
from evals.sampling.engines import Engine
from harness.spec.hardware import Hardware


def sampling_engine(hardware: Hardware, model: str) -> Engine:
    """The engine that the machine settings name, for a model; nothing is loaded yet."""
    name, _, inner = hardware.engine.partition("_")
    options: dict[str, Any] = {}
    if hardware.device == "cpu" and hardware.engine in ("transformers", "ray"):
        options["device"] = "cpu"
    if hardware.engine_replicas > 1:
        options["replicas"] = hardware.engine_replicas
    if name == "ray":
        options["inner"] = inner or "transformers"
        if hardware.ray_address is not None:
            options["address"] = hardware.ray_address
    return engines.create(name, model, **options)
