"""Why a training cannot start, or had to stop."""

from __future__ import annotations

from evals.provenance import Origin, Sourced
from harness.errors import UsageError


class CannotExpress(UsageError):
    """A declared value that a backend cannot train with. Names the value and its source."""

    def __init__(self, backend: str, key: str, sourced: Sourced[object], why: str) -> None:
        super().__init__(f"{backend} cannot express {key}={sourced.value!r} ({sourced.origin}: {sourced.note}): {why}")
        self.asked_for = sourced.origin is Origin.USER  # by the command line, not by the declaration
