"""The engine for evaluations and rejection sampling: `hardware.engine`, `engine_replicas`.

It reads a finished model from its folder, because a record hashes that folder. During training, weights need no file:
the colocated vLLM of TRL and veRL takes them from the trainer's memory, and so does an evaluation (`eval.every`) in the
trainer's process. With several training processes, an evaluation reads the snapshot.
"""

from __future__ import annotations

from typing import Any

from evals.sampling import engines
from evals.sampling.engines import Engine
from harness.spec.hardware import Hardware


def sampling_engine(hardware: Hardware, model: str) -> Engine:
    """The engine of the machine settings, for a model; loads nothing yet."""
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
