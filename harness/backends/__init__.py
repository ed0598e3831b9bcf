"""The trainers that can run a declared experiment, by name. A backend is a pure translation plus a thin launcher."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from harness.backends.errors import CannotExpress
from harness.command.resolve import BACKENDS
from harness.errors import UsageError
from harness.spec.hardware import Machines, of_job

if TYPE_CHECKING:
    from harness.backends.base import Backend
    from harness.spec.job import Job

__all__ = ["CannotExpress", "backend", "refusals"]


def backend(name: str) -> Backend[Any]:
    """The backend of that name, imported when it is first used.

    Raises:
        UsageError: there is no such backend.
    """
    if name not in BACKENDS:
        raise UsageError(f"backend: expected one of {tuple(BACKENDS)}, got {name!r}")
    loaded: Backend[Any] = importlib.import_module(BACKENDS[name]).BACKEND
    return loaded


def refusals(jobs: Iterable[Job], hardware: Machines | None = None) -> dict[tuple[str, str], CannotExpress]:
    """(model, arm) -> why the backend cannot train that arm. Arms that it can train are absent.

    Args:
        hardware: of all arms, or by (model, arm). None: the backend's defaults.

    Raises:
        UsageError: a value that no arm can have (for example, the number of processes does not divide the batch).
    """
    refused: dict[tuple[str, str], CannotExpress] = {}
    for job in jobs:
        if job.experiment is not None and (job.model, job.arm) not in refused:
            trainer = backend(job.backend)
            settings = trainer.hardware() if hardware is None else of_job(hardware, job.model, job.arm)
            try:
                trainer.check(job.experiment, settings)
            except CannotExpress as error:
                refused[job.model, job.arm] = error
    return refused
