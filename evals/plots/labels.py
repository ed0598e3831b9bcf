"""Labels of points that lie too close together for one each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def clusters(places: np.ndarray) -> list[list[int]]:
    """Points that are connected by steps of at most 1 in both coordinates, as ascending indices.

    Args:
        places: (points, 2).
    """
    near = (np.abs(places[:, None] - places[None]) <= 1).all(axis=2)
    left, groups = set(range(len(places))), []
    while left:
        group, new = set[int](), {min(left)}
        while new:
            group |= new
            new = {int(j) for i in new for j in np.flatnonzero(near[i])} - group
        groups.append(sorted(group))
        left -= group
    return groups


def number_ranges(numbers: Sequence[int]) -> str:
    """ "1, 5–8, 12" for numbers in any order."""
    runs: list[list[int]] = []
    for one in sorted(numbers):
        if runs and one == runs[-1][-1] + 1:
            runs[-1].append(one)
        else:
            runs.append([one])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
