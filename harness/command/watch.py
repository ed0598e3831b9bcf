"""`eval.every=K eval.KEY=VALUE keep=POLICY`: evaluations during training, and which snapshots are kept. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from evals.data.protocols import Protocol
from evals.provenance import Origin
from harness.errors import UsageError, nearest

FIELDS = tuple(f.name for f in fields(Protocol) if f.name != "name")
METRICS = ("avg", "pass", "maj", "fmt", "mean_tokens", "truncation_rate")  # of a job's evaluations
POLICIES = ("last:N", "every:N")


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
        every: optimiser steps between two evaluations; None: none.
        values: how their protocol differs from the job's (`eval.n`, `eval.rows`, `eval.benchmarks`, ...).
        keep: policies; a snapshot is kept if any policy keeps it. Without policies none is kept.
    """

    every: int | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    keep: tuple[str, ...] = ()

    @property
    def snapshot_every(self) -> int | None:
        """Optimiser steps between two snapshots: every evaluation and every `every:N` needs one."""
        cadences = [self.every] if self.every else []
        cadences += [int(policy.partition(":")[2]) for policy in self.keep if policy.startswith("every:")]
        return math.gcd(*cadences) if cadences else None

    def most_kept(self, steps: int) -> int:
        """How many snapshots of a training of that many steps stay, at most."""
        policies = [policy.partition(":") for policy in self.keep]
        return sum(int(value) if kind == "last" else steps // int(value) for kind, _, value in policies)

    def protocol(self, declared: Protocol) -> Protocol:
        """The protocol of the evaluations. Raises ValueError for a value that does not fit."""
        return declared.override(self.values, Origin.USER, "command line, eval.*") if self.values else declared

    def kept(self, steps: Sequence[int], stride: int = 1) -> set[int]:
        """The steps whose snapshots are kept. `stride`: as `due`."""
        stay: set[int] = set()
        for policy in self.keep:
            kind, _, value = policy.partition(":")
            if kind == "last":
                stay |= set(sorted(steps)[-int(value) :])
            else:
                stay |= {step for step in steps if due(step, int(value), stride)}
        return stay


def take_watch(values: dict[str, Any]) -> Watch:
    """Remove `keep` and every `eval.KEY` from `values`.

    Raises:
        UsageError: no such key, or a value that does not fit.
    """
    mine = {key.removeprefix("eval."): values.pop(key) for key in list(values) if key.startswith("eval.")}
    every = mine.pop("every", None)
    if every is not None and not (isinstance(every, int) and not isinstance(every, bool) and every >= 1):
        raise UsageError(f"eval.every: expected a whole number of optimiser steps >= 1, got {every!r}")
    for key, value in mine.items():
        if key not in FIELDS:
            raise UsageError(f"eval.{key}={value}: no such key; {nearest(key, (*FIELDS, 'every'))}")
    if mine and every is None:
        raise UsageError(f"eval.{next(iter(mine))}: expected eval.every=K with it")
    given = values.pop("keep", [])
    policies = tuple(str(policy) for policy in (given if isinstance(given, list) else [given]))
    for policy in policies:
        kind, _, value = policy.partition(":")
        if not (kind in ("last", "every") and value.isascii() and value.isdecimal() and int(value) >= 1):
            raise UsageError(f"keep: expected one or more of {', '.join(POLICIES)}, got {policy!r}")
        if kind != "every" and every is None:
            raise UsageError(f"keep={policy}: expected eval.every=K with it: it keeps models that are evaluated")
    return Watch(every, mine, policies)


def check_watch(watch: Watch, jobs: Sequence[Any]) -> None:
    """Raise ValueError for values that do not fit the jobs: a protocol, or steps within a training of rounds."""
    for job in jobs:
        if watch.snapshot_every and hasattr(job.experiment, "rounds"):
            raise ValueError(
                f"eval.every: {job.model}/{job.arm} trains in rounds, and is evaluated when the last one has ended"
            )
        watch.protocol(job.protocol)
