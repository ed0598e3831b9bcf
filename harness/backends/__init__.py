"""The trainers that can run a declared experiment, by name. A backend is a pure translation plus a thin launcher."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from harness.backends.errors import CannotExpress
from harness.command.resolve import BACKENDS
from harness.spec.hardware import of_job

if TYPE_CHECKING:
    from harness.runs.outbox import Outbox
    from harness.spec import Training
    from harness.spec.hardware import Hardware
    from harness.spec.job import Job

__all__ = ["Backend", "CannotExpress", "backend", "refusals"]


class Backend(Protocol):
    """What the module of a backend offers (`harness.backends.trl.launch`, `harness.backends.verl.launch`)."""

    def check(self, training: Training, hardware: Hardware) -> None:
        """Raise ValueError (`CannotExpress` is one) for values that the backend cannot train with. Fast; starts
        nothing."""

    def ready(self, hardware: Hardware) -> None:
        """Raise ValueError if this machine cannot run it: not installed, no answer, too little memory."""

    def launch(self, job: Job, base_model: str, out_dir: Path, outbox: Outbox, hardware: Hardware) -> dict[str, Any]:
        """Train `job` into `out_dir/final`, from its last complete checkpoint if there is one.

        Returns:
            The training's part of the record: steps, rows, hash of the data, seconds.
        Raises:
            Diverged: a quantity of a step was not finite. ValueError: the training data are wrong.
            RuntimeError: the training processes ended with an error.
        """


def backend(name: str) -> Backend:
    """The backend of that name, imported when it is first used.

    Raises:
        ValueError: there is no such backend.
    """
    if name not in BACKENDS:
        raise ValueError(f"backend: expected one of {BACKENDS}, got {name!r}")
    return cast(Backend, importlib.import_module(f"harness.backends.{name}.launch"))


def refusals(
    jobs: Iterable[Job], hardware: Hardware | Mapping[tuple[str, str], Hardware]
) -> dict[tuple[str, str], CannotExpress]:
    """(model, arm) -> why the backend cannot train that arm; arms that it can train are absent.

    Args:
        hardware: of all arms, or by (model, arm).

    Raises:
        ValueError: a value that no arm can have (for example, the number of processes does not divide the batch).
    """
    refused: dict[tuple[str, str], CannotExpress] = {}
    for job in jobs:
        if job.experiment is not None and (job.model, job.arm) not in refused:
            try:
                backend(job.backend).check(job.experiment, of_job(hardware, job.model, job.arm))
            except CannotExpress as error:
                refused[job.model, job.arm] = error
    return refused
