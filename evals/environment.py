"""This process's environment variables."""

from __future__ import annotations

import os


def threads_sleep() -> None:
    """Let waiting threads sleep instead of spin, unless the user chose otherwise: beside other work a step then takes a
    third of the time. Call it before torch is imported, which reads the variable once."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def variables() -> dict[str, str]:
    """A copy. `dict(os.environ)` raises KeyError if a thread deletes one meanwhile; MLflow's telemetry does."""
    there = ((name, os.environ.get(name)) for name in list(os.environ))
    return {name: value for name, value in there if value is not None}
