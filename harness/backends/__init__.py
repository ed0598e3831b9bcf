"""Trainers that can run a declared experiment. A backend is a pure translation plus a thin launcher."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from evals.provenance import Origin, Sourced

if TYPE_CHECKING:
    from harness.hardware import Hardware
    from harness.resolve import Job


class CannotExpress(ValueError):
    """A declared value that a backend has no way to train with; names the value and its source."""

    def __init__(self, backend: str, key: str, sourced: Sourced[Any], why: str) -> None:
        super().__init__(f"{backend} cannot express {key}={sourced.value!r} ({sourced.origin}: {sourced.note}): {why}")
        self.asked_for = sourced.origin is Origin.USER  # by the command line, not by the declaration


def refusals(jobs: Iterable[Job], hardware: Hardware) -> dict[tuple[str, str], CannotExpress]:
    """(model, arm) -> why the backend cannot train that arm; arms that it can train are not in it.

    Raises:
        ValueError: a value that fits nowhere (the machine does not divide the batch, say).
    """
    from harness.backends.trl.launch import check

    refused: dict[tuple[str, str], CannotExpress] = {}
    for job in jobs:
        if job.experiment is not None and (job.model, job.arm) not in refused:
            try:
                check(job.experiment, hardware)
            except CannotExpress as error:
                refused[job.model, job.arm] = error
    return refused
