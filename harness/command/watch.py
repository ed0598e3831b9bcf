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
POLICIES = ("last:N", "every:N", "best:BENCHMARK/METRIC")


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

    def protocol(self, declared: Protocol) -> Protocol:
        """The protocol of the evaluations. Raises ValueError for a value that does not fit."""
        return declared.override(self.values, Origin.USER, "command line, eval.*") if self.values else declared

    def kept(self, steps: Sequence[int], scores: Mapping[int, Mapping[str, float]], stride: int = 1) -> set[int]:
        """The steps whose snapshots are kept; a metric that no step has keeps nothing.

        Args:
            scores: scores of the evaluated steps, 0 for the base model; among equal scores the earlier step is best.
            stride: as `due`.
        """
        stay: set[int] = set()
        for policy in self.keep:
            kind, _, value = policy.partition(":")
            if kind == "last":
                stay |= set(sorted(steps)[-int(value) :])
            elif kind == "every":
                stay |= {step for step in steps if due(step, int(value), stride)}
            else:
                known = [(scores[s][value], -s) for s in scores if s and value in scores[s]]
                stay |= {-max(known)[1]} if known else set()
        return stay & set(steps)


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
        counts = kind in ("last", "every") and value.isascii() and value.isdecimal() and int(value) >= 1
        if not (counts or (kind == "best" and "/" in value)):
            raise UsageError(f"keep: expected one or more of {', '.join(POLICIES)}, got {policy!r}")
        if kind != "every" and every is None:
            raise UsageError(f"keep={policy}: expected eval.every=K with it: it keeps models that are evaluated")
    return Watch(every, mine, policies)


def check_watch(watch: Watch, jobs: Sequence[Any]) -> None:
    """Raise ValueError for values that do not fit the jobs: a protocol, a benchmark, or steps within a rollout."""
    for job in jobs:
        if watch.snapshot_every and hasattr(job.experiment, "rounds"):
            raise ValueError(
                f"eval.every: {job.model}/{job.arm} trains in rounds, and is evaluated when the last one has ended"
            )
        protocol = watch.protocol(job.protocol)
        for policy in watch.keep:
            kind, _, value = policy.partition(":")
            if kind == "best" and value.partition("/")[0] not in protocol.benchmarks.value:
                raise ValueError(
                    f"keep={policy}: no such benchmark among those evaluated; "
                    f"{nearest(value.partition('/')[0], protocol.benchmarks.value)}"
                )
            known = [f"avg_at_{protocol.value('n', name)}" for name in protocol.benchmarks.value]
            if kind == "best" and value.partition("/")[2].partition("_at_")[0] not in METRICS:
                raise ValueError(
                    f"keep={policy}: no such metric; {nearest(value.partition('/')[2], [*known, *METRICS])}"
                )
