"""Trainers that can run a declared experiment. A backend is a pure translation plus a thin launcher."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from evals.provenance import Origin, Sourced

if TYPE_CHECKING:
    from harness.command.resolve import Job
    from harness.spec import Training
    from harness.spec.hardware import Hardware


class CannotExpress(ValueError):
    """A declared value that a backend has no way to train with; names the value and its source."""

    def __init__(self, backend: str, key: str, sourced: Sourced[Any], why: str) -> None:
        super().__init__(f"{backend} cannot express {key}={sourced.value!r} ({sourced.origin}: {sourced.note}): {why}")
        self.asked_for = sourced.origin is Origin.USER  # by the command line, not by the declaration


def launcher(backend: str) -> Callable[..., dict[str, Any]]:
    """The function that trains a job with that backend: see `harness.backends.trl.launch.launch`."""
    if backend == "verl":
        from harness.backends.verl.launch import launch as launch_verl

        return launch_verl
    from harness.backends.trl.launch import launch as launch_trl

    return launch_trl


def check(backend: str, training: Training, hardware: Hardware) -> None:
    """Raise ValueError (`CannotExpress` is one) for what a backend cannot train with. Fast; starts nothing."""
    if backend == "verl":
        from harness.backends.verl.translate import check as check_verl

        check_verl(training, hardware)
    else:
        from harness.backends.trl.launch import check as check_trl

        check_trl(training, hardware)


def ready(backend: str, hardware: Hardware) -> None:
    """Raise ValueError where this machine cannot run a backend: not installed, no answer, too little memory."""
    if backend == "verl":
        from harness.backends.verl.launch import ready as verl_ready

        verl_ready(hardware)


def refusals(jobs: Iterable[Job], hardware: Hardware) -> dict[tuple[str, str], CannotExpress]:
    """(model, arm) -> why the backend cannot train that arm; arms that it can train are not in it.

    Raises:
        ValueError: a value that fits nowhere (the machine does not divide the batch, say).
    """
    refused: dict[tuple[str, str], CannotExpress] = {}
    for job in jobs:
        if job.experiment is not None and (job.model, job.arm) not in refused:
            try:
                check(job.backend, job.experiment, hardware)
            except CannotExpress as error:
                refused[job.model, job.arm] = error
    return refused
