"""Engines: they turn prompts into samples.

`create(name, model_path, **options)` makes one; nothing is loaded before the first request.
"""

from __future__ import annotations

import difflib
from typing import Any

from evals.engines.base import Completion, Decoding, Engine, Request

__all__ = ["NAMES", "Completion", "Decoding", "Engine", "Request", "create"]

NAMES = ("transformers",)


def create(name: str, model_path: str, **options: Any) -> Engine:
    """The engine of that name for a model (a folder, or an id on the hub).

    Raises:
        ValueError: no such engine (the nearest name is given).
    """
    if name == "transformers":
        from evals.engines.transformers import TransformersEngine

        return TransformersEngine(model_path, **options)
    near = difflib.get_close_matches(name, NAMES, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ValueError(f"engine: got {name!r}, {hint}expected one of {', '.join(NAMES)}")
