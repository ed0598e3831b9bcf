"""A quantity in one group of tokens (or sentences) against the rest, problem by problem.

The papers average over all tokens at once (`pooled`). Tokens of one problem are not independent, so an interval needs
one value per problem: the mean over its tokens. `mean` averages these values; each problem counts once, as everywhere
in `evals.stats.intervals`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evals.stats.differences import Paired, paired
from evals.stats.intervals import Bounds, Interval, over_problems


@dataclass(frozen=True)
class Side:
    """A group: the number of values and problems, and the mean (NaN if empty). `interval` is None for one problem or
    equal problems: no spread is known.
    """

    count: int
    problems: int
    mean: float
    interval: Interval | None
    pooled: float

    @property
    def low(self) -> float:
        return math.nan if self.interval is None else self.interval.low

    @property
    def high(self) -> float:
        return math.nan if self.interval is None else self.interval.high


@dataclass(frozen=True)
class Contrast:
    """The group, the rest, and the mean of group - rest over the `problems` that have both; None if none has."""

    group: Side
    rest: Side
    problems: int
    difference: Paired | None


def measure_side(values: ArrayLike, problems: ArrayLike, *, bounds: Bounds = None) -> Side:
    """The mean of a group of values.

    Args:
        values: [N], finite. problems: [N], the problem of each.
        bounds: the least and greatest possible value, see `evals.stats.intervals.over_problems`.
    Raises:
        ValueError: another shape, or a value that is not finite.
    """
    values, means, _ = _by_problem(values, problems)
    if not len(values):
        return Side(0, 0, math.nan, None, math.nan)
    interval = over_problems(means, bounds=bounds)
    return Side(len(values), len(means), float(means.mean()), interval, float(values.mean()))


def contrast(values: ArrayLike, member: ArrayLike, problems: ArrayLike) -> Contrast:
    """The values of the members against those of the rest.

    Args:
        values: [N], finite, without known bounds. member: [N] booleans. problems: [N].
    Raises:
        ValueError: as `measure_side`.
    """
    values, member, problems = np.asarray(values, float), np.asarray(member, bool), np.asarray(problems)
    if not values.shape == member.shape == problems.shape:
        lengths = f"{len(values)}, {len(member)}, {len(problems)}"
        raise ValueError(f"values, member, problems: expected one length, got {lengths}")
    _, inside, have_in = _by_problem(values[member], problems[member])
    _, outside, have_out = _by_problem(values[~member], problems[~member])
    both, at_in, at_out = np.intersect1d(have_in, have_out, return_indices=True)
    return Contrast(
        measure_side(values[member], problems[member]),
        measure_side(values[~member], problems[~member]),
        len(both),
        paired(inside[at_in], outside[at_out], bounds=None) if len(both) else None,
    )


def _by_problem(
    values: ArrayLike, problems: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.object_]]:
    """(values, the mean of each problem, the problems in the same order)."""
    array, named = np.asarray(values, float), np.asarray(problems)
    if array.ndim != 1 or array.shape != named.shape:
        raise ValueError(f"values, problems: expected one of each for each other, got {array.shape} and {named.shape}")
    if not np.isfinite(array).all():
        raise ValueError("values: expected finite numbers; exclude what was not measured")
    unique, which = np.unique(named.astype(str), return_inverse=True)
    sums = np.bincount(which, array, len(unique)) if len(array) else np.zeros(0)
    return array, sums / np.bincount(which, minlength=len(unique)), unique.astype(object)
