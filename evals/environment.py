"""This process's environment variables, read while other threads may change them."""

from __future__ import annotations

import os


def variables() -> dict[str, str]:
    """A copy. `dict(os.environ)` raises KeyError if a thread deletes one meanwhile; MLflow's telemetry does."""
    there = ((name, os.environ.get(name)) for name in list(os.environ))
    return {name: value for name, value in there if value is not None}
