"""The options `engine=NAME engine.KEY=VALUE tools=true tools.KEY=VALUE`: which engine samples, with which settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from harness.command.config import take
from harness.errors import UsageError, choose, nearest


def take_engine(values: dict[str, Any], model: str) -> Any:
    """Remove `engine`, `tools` and their keys from `values` and return the engine. Nothing is loaded.

    Raises:
        UsageError: no such engine, no such key for it, or a value that does not fit; or code cannot be run here.
    """
    from evals.sampling import engines
    from evals.sampling.engines.tools import ToolEngine, Tools

    name = take(values, "engine", str, "transformers")
    choose("engine", [name], engines.NAMES)
    options = _take_keys(values, "engine", f"engine {name}", engines.OPTIONS[name])
    with_tools = take(values, "tools", bool, False)
    limits = _take_keys(values, "tools", "tools", {limit.name: int for limit in fields(Tools)})
    if limits and not with_tools:
        raise UsageError(f"tools.{next(iter(limits))}: expected tools=true with it")
    if with_tools and name == "openai":
        raise UsageError("tools=true: expected an engine that holds the model (transformers, vllm, ray), got openai")
    try:
        engine = engines.create(name, model, **options)
    except ValueError as error:
        raise UsageError(f"engine {name}: {error}") from error
    try:
        return ToolEngine(engine, Tools(**limits)) if with_tools else engine
    except ValueError as error:
        raise UsageError(f"tools: {error}") from error


def _take_keys(values: dict[str, Any], prefix: str, of: str, types: Mapping[str, type]) -> dict[str, Any]:
    """Remove every `prefix.KEY` from `values`; by key, each of its type."""
    kinds = {f"{prefix}.{option}": kind for option, kind in types.items()}
    mine = {key: values.pop(key) for key in list(values) if key.startswith(f"{prefix}.")}
    for key, value in mine.items():
        if key not in kinds:
            raise UsageError(f"{key}={value}: no such key of {of}; {nearest(key, kinds)}")
        if kinds[key] is float and isinstance(value, int) and not isinstance(value, bool):
            mine[key] = float(value)
        take(dict(mine), key, kinds[key])
    return {key.removeprefix(f"{prefix}."): value for key, value in mine.items()}
