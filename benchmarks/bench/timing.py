"""Medians of alternating calls: a machine that slows down then slows both."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Row:
    """One comparison: work per second (`unit`), ours and theirs, medians of `rounds`; `note` says what was checked and
    what a reader must know."""

    name: str
    unit: str
    ours: float
    theirs: float
    against: str
    rounds: int
    note: str

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs


def medians(
    calls: Mapping[str, Callable[[], Any]],
    rounds: int,
    *,
    warm: bool = True,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Median seconds of each call over the rounds; every call runs once a round. `warm`: one untimed call first.

    `clock`: time.process_time counts the processor's seconds, which other processes do not lengthen as much.
    """
    if warm:
        for call in calls.values():
            call()
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = clock()
            call()
            seconds[name].append(clock() - start)
    return {name: median(values) for name, values in seconds.items()}
