"""`engine=NAME engine.KEY=VALUE`: who samples, from the command line."""

from __future__ import annotations

from typing import Any

from harness.config import UsageError, choose, nearest, take


def take_engine(values: dict[str, Any], model: str) -> Any:
    """Remove `engine` and every `engine.KEY` from `values`; the engine they ask for. Nothing is loaded.

    Raises:
        UsageError: no such engine, no such key for it, or a value that does not fit.
    """
    from evals import engines

    name = take(values, "engine", str, "transformers")
    choose("engine", [name], engines.NAMES)
    kinds = {f"engine.{option}": kind for option, kind in engines.OPTIONS[name].items()}
    mine = {key: values.pop(key) for key in list(values) if key.startswith("engine.")}
    for key, value in mine.items():
        if key not in kinds:
            raise UsageError(f"{key}={value}: no such key of engine {name}; {nearest(key, kinds)}")
        if kinds[key] is float and isinstance(value, int) and not isinstance(value, bool):
            mine[key] = float(value)
        take(dict(mine), key, kinds[key])
    try:
        return engines.create(name, model, **{key.removeprefix("engine."): value for key, value in mine.items()})
    except ValueError as error:
        raise UsageError(f"engine {name}: {error}") from error
