"""Trainings that collapse: which seeds did, and whether collapses that no seed shows could undo a verdict.

A mean over trainings depends on collapses that few seeds do not show. If one training in ten ends 50 points below the
others, 73 % of all triples of seeds show no collapse: they look like three seeds of a method that is 5 points better
than it is, and no rule can tell the two apart. A verdict that needs no such assumption is therefore possible only
where the collapses that would undo it are so frequent that the seeds at hand would have shown one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

COLLAPSED_AT = {  # what a metric has after a training that collapsed as far as one can
    "avg": 0.0,
    "pass": 0.0,
    "maj": 0.0,
    "fmt": 0.0,
    "unsolvable": 1.0,
    "no_answer_rate": 1.0,
    "truncation_rate": 1.0,
}
UNSEEN = 0.05  # how probable it may be that no seed shows a collapse
FAR, PART = 5.0, 0.25  # a collapsed seed is farther below the median: in median distances to it, and as a part of it
UNLIKE = 3.0  # the ratio of two sides' spreads from which each seed is shown


@dataclass(frozen=True)
class Collapses:
    """How many of a side's seeds collapsed. The mean of all its seeds, and that of the seeds that did not collapse."""

    count: int
    seeds: int
    of_all: float
    of_others: float

    def text(self) -> str:
        """ "1 of 5 seeds collapsed: the mean of all is 57.6, of the others 69.0", in percent."""
        return (
            f"{self.count} of {self.seeds} seeds collapsed: the mean of all is {100 * self.of_all:.1f}, of the others "
            f"{100 * self.of_others:.1f}"
        )


MEANS = (
    "The mean of all seeds is what one training gives on average. The mean of the others is what a training gives if "
    "it does not collapse"
)


def collapses(scores: Sequence[float]) -> Collapses:
    """The seeds that lie below the median by more than a quarter of it, and by more than five times the median distance
    to it.

    By simulation, a drop of 30 points from 60 is found in 94 to 100 % of sides with 3 to 10 seeds of a normal spread of
    2 points, one of 20 points in 78 to 99 %. A normal spread of 2, 6 and 10 points gives a false one in 0, 1 to 2 and 6
    to 7 %. Fewer than three seeds show no collapse.

    Args:
        scores: [S], each seed's mean, a fraction. Higher is better.
    """
    values = np.asarray(scores, dtype=float)
    middle = float(np.median(values))
    distance = float(np.median(np.abs(values - middle)))
    low = (middle - values > max(FAR * distance, PART * middle)) & (len(values) > 2)
    return Collapses(int(low.sum()), len(values), float(values.mean()), float(values[~low].mean()))


def unlike(a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether one side's seeds spread three times as much as the other's. False without two seeds of each."""
    if min(len(a), len(b)) < 2:
        return False
    least, most = sorted(float(np.std(side, ddof=1)) for side in (a, b))
    return most > UNLIKE * least


@dataclass(frozen=True)
class Undoing:
    """Collapses that would undo a verdict, and that no seed may show: of the part `share` of the trainings of a side
    ("a" or "b") that has `seeds` seeds."""

    side: str
    share: float
    seeds: int

    @property
    def unseen(self) -> float:
        """The probability that none of the seeds shows one: (1 - r)^S."""
        return (1 - self.share) ** self.seeds

    @property
    def needed(self) -> int | None:
        """How many seeds show one with 95 %, or None for a share of zero, or of all."""
        return math.ceil(math.log(UNSEEN) / math.log1p(-self.share)) if 0 < self.share < 1 else None


def undoing(
    means: tuple[float, float], seeds: tuple[int, int], metric: str, *, within: float | None = None
) -> Undoing | None:
    """The collapses that are most easily missed of those that would undo a resolved difference, or with `within`,
    equality within that margin, or None if the seeds at hand would show each of them with at least 95 %.

    Let m be the mean of the better side, f what a collapsed training has, d the difference. If a share r of that side's
    trainings collapses to f, its mean falls by r |m - f|: d is undone from r = |d| / |m - f| on. S seeds show none of
    these with probability (1 - r)^S. Collapses that are less deep must be more frequent, so they would show sooner.

    A verdict for which this is None is false in at most 5 % for this reason, whatever the collapses are like: let a
    share r of the trainings of one of two methods with equal means collapse. Seeds without a collapse show a difference
    of at most r |m - f|, so the verdict asks for (1 - r)^S <= 0.05, which is how often such seeds come.

    Args:
        means, seeds: of a and b, 0 seeds of a side that was not trained, which cannot collapse.
        metric: one of `COLLAPSED_AT`. No such value is known of lengths and of training curves: None.
    """
    if metric not in COLLAPSED_AT:
        return None
    undoings = []
    heights = [abs(mean - COLLAPSED_AT[metric]) for mean in means]  # above what a collapsed training has
    for side, height, other_height, count in zip("ab", heights, heights[::-1], seeds, strict=True):
        fall = height - other_height + (within or 0.0)  # how far this side's mean falls
        if count and height > 0 and 0 <= fall <= height and (within is not None or height > other_height):
            undoings.append(Undoing(side, fall / height, count))
    least = max(undoings, key=lambda undo: undo.unseen, default=None)
    return least if least is not None and least.unseen > UNSEEN else None
