"""The engine for evaluations and rejection sampling: `hardware.engine`, `engine_replicas`.

It reads a finished model from its folder, which is what a record hashes. During training, weights need no file: TRL's
and veRL's colocated vLLM, which sample for the trainer, take them from its memory, and so does an evaluation
(`eval.every`) in the trainer's process. One beside several training processes reads the snapshot.
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
