"""Estimate the time of the remaining jobs from those that this process has run."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

FINISHED_BEFORE_S = 2.0
"""A job that returns sooner already had a record, so it does not count for the pace."""


def time_left(seconds: Sequence[float], jobs_left: int) -> str:
    """ "; 12.5 min left at this pace", from the median of the jobs that ran; "" if none did.

    Args:
        seconds: wall time of each job so far, including jobs that were already finished.
    """
    ran = [took for took in seconds if took > FINISHED_BEFORE_S]
    return f"; {duration(statistics.median(ran) * jobs_left)} left at this pace" if ran else ""


def duration(seconds: float) -> str:
    """ "42 s", "3.5 min", "2.1 h"."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
