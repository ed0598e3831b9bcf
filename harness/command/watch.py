"""`eval.every=K eval.KEY=VALUE keep=N minutes=M`: evaluations during training, which snapshots are kept, and for how
long a command trains. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from evals.data.protocols import Protocol
from evals.provenance import Origin
from harness.command.options import RunOptions
from harness.errors import UsageError, nearest

if TYPE_CHECKING:
    from harness.spec.job import Job

FIELDS = tuple(f.name for f in fields(Protocol) if f.name != "name")


def due(step: int, every: int, stride: int) -> bool:
    """Whether the model of a step is the first since a multiple of `every`.

    Args:
        stride: optimiser steps between two models that the backend can save (`Backend.stride`).
    """
    return step // every > (step - stride) // every


@dataclass(frozen=True)
class Watch:
    """Evaluations and snapshots during a training.

    Args:
        every: optimiser steps between two evaluations. None: none.
        values: how their protocol differs from the job's (`eval.n`, `eval.rows`, `eval.benchmarks`, ...).
        keep: optimiser steps between two snapshots that stay. None: none stays.
        minutes: for which a command trains each run. It is then evaluated as it is. None: to its end.
    """

    every: int | None = None
    values: Mapping[str, object] = field(default_factory=dict)
    keep: int | None = None
    minutes: float | None = None

    @property
    def snapshot_every(self) -> int | None:
        """Optimiser steps between two snapshots: every evaluation needs one, and every one that stays."""
        return math.gcd(self.every or 0, self.keep or 0) or None

    def protocol(self, declared: Protocol) -> Protocol:
        """The protocol of the evaluations. Raises ValueError for a value that does not fit."""
        return declared.override(self.values, Origin.USER, "command line, eval.*") if self.values else declared


def watch_of(options: RunOptions) -> Watch:
    """The meaning of `keep`, `minutes` and `eval.KEY`.

    Raises:
        UsageError: no such key, or a value that does not fit.
    """
    values = options.group("eval")
    minutes = options.minutes
    if minutes is not None and not (_is_number(minutes) and 0 < minutes < math.inf):
        raise UsageError(f"minutes: expected for how many minutes each run is trained, above 0, got {minutes!r}")
    every, keep = _steps("eval.every", values.pop("every", None)), _steps("keep", options.values.get("keep"))
    for key, value in values.items():
        if key not in FIELDS:
            raise UsageError(f"eval.{key}={value}: no such key. {nearest(key, (*FIELDS, 'every'))}")
    if values and every is None:
        raise UsageError(f"eval.{next(iter(values))}: expected eval.every=K with it")
    return Watch(every, values, keep, minutes)


def _steps(key: str, value: object) -> int | None:
    if value is not None and not (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        raise UsageError(f"{key}: expected a whole number of optimiser steps >= 1, got {value!r}")
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def check_watch(watch: Watch, jobs: Sequence[Job]) -> None:
    """Raise UsageError for values that do not fit the jobs: a protocol, or steps within a training of rounds."""
    for job in jobs:
        if watch.snapshot_every and hasattr(job.experiment, "rounds"):
            name = "eval.every" if watch.every else "keep"
            raise UsageError(f"{name}: {job.label} trains in rounds, and only the model of the last round is kept")
        if (longest := watch.protocol(job.protocol).longest) > job.protocol.longest:
            raise UsageError(
                f"eval.max_tokens: expected at most {job.protocol.longest}, by which context and memory of "
                f"{job.label} are judged (protocol.max_tokens), got {longest}"
            )
