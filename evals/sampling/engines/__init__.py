"""Engines: they turn prompts into samples.

`create(name, model_path, **options)` makes one; nothing is loaded before the first request.
"""

from __future__ import annotations

from typing import Any

from evals.sampling.engines.base import Completion, Decoding, Engine, EngineError, Request
from evals.suggest import expected

__all__ = ["NAMES", "OPTIONS", "Completion", "Decoding", "Engine", "EngineError", "Request", "create"]

OPTIONS: dict[str, dict[str, type]] = {
    "transformers": {"device": str, "dtype": str, "batch_rows": int, "replicas": int},
    "vllm": {
        "dtype": str,
        "batch_rows": int,
        "gpu_memory": float,
        "context": int,
        "tensor_parallel": int,
        "replicas": int,
    },
    "openai": {"url": str, "concurrency": int},
}
"""The options of each engine, with the type of the value."""

NAMES = tuple(OPTIONS)


def create(name: str, model_path: str, **options: Any) -> Engine:
    """The engine of that name for a model (a folder, or an id on the hub).

    Raises:
        ValueError: no such engine (the nearest name is given), or an option's value does not fit.
    """
    if name not in NAMES:
        raise ValueError(f"engine: got {name!r}, {expected(name, NAMES)}")
    if name == "openai":
        from evals.sampling.engines.openai import OpenAIEngine

        return OpenAIEngine(model_path, **options)
    kind: Any
    if name == "vllm":
        from evals.sampling.engines.vllm import VllmEngine as kind
    else:
        from evals.sampling.engines.transformers import TransformersEngine as kind
    replicas = options.pop("replicas", None)
    if replicas is not None:
        from evals.sampling.engines.replicas import Replicas

        return Replicas(kind, model_path, count=replicas, options=options)
    engine: Engine = kind(model_path, **options)
    return engine
