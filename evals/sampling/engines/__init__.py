"""Engines: they turn prompts into samples.

`create(name, model_path, **options)` makes one. Nothing is loaded before the first request. A new engine is one file
with a class (`base.Engine` for what it does, `base.Kind` for what the harness asks of it) and one entry of `ENGINES`.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any, get_args, get_type_hints

from evals.errors import UsageError
from evals.sampling.engines.base import Completion, Decoding, Engine, EngineError, Kind, Request
from evals.suggest import expected

__all__ = ["ENGINES", "Completion", "Decoding", "Engine", "EngineError", "Kind", "Request", "create", "kind", "options"]

ENGINES = {
    "transformers": "evals.sampling.engines.transformers:TransformersEngine",
    "vllm": "evals.sampling.engines.vllm:VllmEngine",
    "openai": "evals.sampling.engines.openai:OpenAIEngine",
}
"""Name -> MODULE:CLASS."""


def kind(name: str) -> type[Kind]:
    """The class of an engine.

    Raises:
        UsageError: there is none of that name (the nearest name is given).
    """
    if name not in ENGINES:
        raise UsageError(f"engine: got {name!r}. {expected(name, ENGINES)}")
    module, _, attribute = ENGINES[name].partition(":")
    loaded: type[Kind] = getattr(import_module(module), attribute)
    return loaded


def options(name: str) -> dict[str, type]:
    """The options of an engine, with the type of the value: the keyword-only parameters of its class, and `replicas`
    where it may have several.

    Raises:
        UsageError: as `kind`.
    """
    of_kind = kind(name)
    hints = get_type_hints(of_kind.__init__)
    keys = [k for k, p in inspect.signature(of_kind).parameters.items() if p.kind is p.KEYWORD_ONLY]
    types = {key: next((part for part in get_args(hints[key]) if part is not type(None)), hints[key]) for key in keys}
    return types | ({"replicas": int} if of_kind.replicated else {})


def can(field: str) -> list[str]:
    """The engines that can express a field of `Decoding`."""
    return [name for name in ENGINES if field in kind(name).decoding]


def create(name: str, model_path: str, **values: Any) -> Engine:
    """The engine of that name for a model (a folder, or an id on the hub).

    Raises:
        UsageError: no such engine (the nearest name is given), or an option's value does not fit.
    """
    of_kind: Any = kind(name)
    replicas = values.pop("replicas", None) if of_kind.replicated else None
    if replicas is not None:
        from evals.sampling.engines.replicas import Replicas

        return Replicas(of_kind, model_path, count=replicas, options=values)
    engine: Engine = of_kind(model_path, **values)
    return engine
