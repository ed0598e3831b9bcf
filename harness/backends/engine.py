"""The engine for evaluations and rejection sampling: `hardware.engine` and `hardware.engine_*`.

It reads a finished model from its folder, because a record hashes that folder. During training, weights need no file:
the colocated vLLM of TRL and veRL takes them from the trainer's memory.
"""

from __future__ import annotations

from evals.sampling import engines
from evals.sampling.engines import Engine
from harness.spec.architecture import positions
from harness.spec.hardware import Hardware

PROMPT_TOKENS = 4096  # room for a prompt beside the longest response. A longer prompt is an error before the sampling


def sampling_engine(hardware: Hardware, model: str, longest: int | None = None, *, apart: bool = False) -> Engine:
    """The engine of the machine settings, for a model. Loads nothing yet.

    Args:
        longest: tokens of a response. An engine with the option `context` then reserves a cache for it and a prompt,
            instead of for the model's whole context, 131,072 tokens for some.
        apart: in processes of its own, with which it leaves the GPU (`Replicas.close`).
    """
    takes, several = engines.options(hardware.engine), hardware.engine_tensor_parallel
    given: dict[str, object] = {
        "url": hardware.engine_url,
        "dtype": hardware.engine_dtype,
        "device": "cpu" if hardware.device == "cpu" else None,
        "replicas": hardware.engine_replicas if hardware.engine_replicas > 1 or apart else None,
        "tensor_parallel": several if several > 1 else None,
    }
    if longest is not None and "context" in takes:
        given["context"] = min(longest + PROMPT_TOKENS, positions(model) or longest + PROMPT_TOKENS)
    options = {key: value for key, value in given.items() if value is not None and key in takes}
    return engines.create(hardware.engine, model, **options)


def close(engine: object) -> None:
    """Free the model of an engine in this process, or end its processes, if it has any."""
    if hasattr(engine, "close"):
        engine.close()
