"""Engines: they turn prompts into samples.

`create(name, model_path, **options)` makes one; nothing is loaded before the first request.
"""

from __future__ import annotations

from typing import Any

from evals.sampling.engines.base import Completion, Decoding, Engine, EngineError, Request
from evals.suggest import expected

__all__ = ["NAMES", "OPTIONS", "Completion", "Decoding", "Engine", "EngineError", "Request", "create"]

LOCAL = {
    "transformers": "evals.sampling.engines.transformers:TransformersEngine",
    "vllm": "evals.sampling.engines.vllm:VllmEngine",
}
"""Engines that hold the model themselves, of which there can be replicas."""

_LOCAL_OPTIONS: dict[str, dict[str, type]] = {
    "transformers": {"device": str, "dtype": str, "batch_rows": int},
    "vllm": {"dtype": str, "batch_rows": int, "gpu_memory": float, "context": int, "tensor_parallel": int},
}
OPTIONS: dict[str, dict[str, type]] = {
    **{name: {**options, "replicas": int} for name, options in _LOCAL_OPTIONS.items()},
    "ray": {
        **{"inner": str, "address": str, "replicas": int, "gpus": float, "cpus": float},
        **_LOCAL_OPTIONS["transformers"],
        **_LOCAL_OPTIONS["vllm"],
    },
    "openai": {"url": str, "key_env": str, "concurrency": int, "attempts": int, "timeout_s": float},
}
"""The options of each engine, with the type of the value."""

NAMES = tuple(OPTIONS)


def create(name: str, model_path: str, **options: Any) -> Engine:
    """The engine of that name for a model (a folder, or an id on the hub).

    Raises:
        ValueError: no such engine or option (the nearest name is given), or an option's value does not fit.
    """
    _check("engine", name, NAMES)
    for key in options:
        _check(f"engine {name}, option", key, tuple(OPTIONS[name]))
    if name == "openai":
        from evals.sampling.engines.openai import OpenAIEngine

        return OpenAIEngine(model_path, **options)
    if name == "ray":
        return _on_ray(model_path, **options)
    from evals.sampling.engines.replicas import Replicas, load_factory

    replicas = options.pop("replicas", 1)
    if replicas != 1:
        return Replicas(LOCAL[name], model_path, count=replicas, options=options)
    engine: Engine = load_factory(LOCAL[name])(model_path, **options)
    return engine


def _on_ray(model_path: str, *, inner: str = "transformers", **options: Any) -> Engine:
    from evals.sampling.engines.ray import RayEngine

    _check("inner", inner, tuple(LOCAL))
    ray_options = {key: options.pop(key) for key in ("address", "replicas", "gpus", "cpus") if key in options}
    for key in options:
        _check(f"engine {inner}, option", key, tuple(_LOCAL_OPTIONS[inner]))
    return RayEngine(LOCAL[inner], model_path, options=options, **ray_options)


def _check(what: str, given: str, valid: tuple[str, ...]) -> None:
    if given not in valid:
        raise ValueError(f"{what}: got {given!r}, {expected(given, valid)}")
