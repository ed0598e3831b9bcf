"""Trainers that can run a declared experiment. A backend is a pure translation plus a thin launcher."""

from __future__ import annotations

from typing import Any

from evals.provenance import Sourced


class CannotExpress(ValueError):
    """A declared value that a backend has no way to train with; names the value and its source."""

    def __init__(self, backend: str, key: str, sourced: Sourced[Any], why: str) -> None:
        super().__init__(f"{backend} cannot express {key}={sourced.value!r} ({sourced.origin}: {sourced.note}): {why}")
