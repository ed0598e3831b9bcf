"""The difference of two runs on the same problems, paired by problem: interval, p-values and verdict.

A verdict about a *method* needs at least three training seeds of each trained run. The interval then includes their
spread. With fewer the difference is between the checkpoints that were measured. Nothing here is random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from evals.stats.intervals import MIN_SEEDS, Bounds, Estimate, Interval, Vector, checked, joined_estimate

ALPHA = 0.05
Word = Literal[
    "higher",
    "lower",
    "equal",
    "higher without collapses",
    "lower without collapses",
    "equal without collapses",
    "not resolved",
    "checkpoint higher",
    "checkpoint lower",
    "checkpoints equal",
    "not known",
]
FEW_SEEDS = (
    "checkpoint higher, checkpoint lower: the measured checkpoints differ. With fewer than three training seeds of a "
    "trained arm, this says nothing about the method"
)
SCOPE = (
    "higher, lower or equal without collapses: the verdict is about trainings that do not collapse. For the mean of "
    "all trainings, the verdict is not resolved. Rare collapses could undo it, and these seeds may show none"
)


@dataclass(frozen=True)
class Paired:
    """The mean of a - b over the same problems.

    Attributes:
        interval: None for one problem, or for unbounded values that are all equal: no spread is known.
        p_value: of "no difference", two-sided. Consistent with the interval at every level (`Estimate.p_value`).
        test: the test in words.
        seeds_covered: every trained side has at least `MIN_SEEDS` training seeds, so that this is about methods.
        p_not_lower, p_not_higher: one-sided p-values of "a loss (gain) of at least the margin", or None without a
            margin.
    """

    difference: float
    interval: Interval | None
    p_value: float | None
    test: str
    seeds_covered: bool = False
    p_not_lower: float | None = None
    p_not_higher: float | None = None

    def parts(self) -> dict[str, Any]:
        """Its fields by name, those of the interval among them."""
        own_fields = {name: value for name, value in vars(self).items() if name != "interval"}
        return {**own_fields, **(vars(self.interval) if self.interval else {})}


def paired(
    a: ArrayLike,
    b: ArrayLike,
    *,
    trained: tuple[bool, bool] = (True, True),
    bounds: Bounds = (0.0, 1.0),
    margin: float | None = None,
) -> Paired:
    """The difference a - b of two runs on the same problems.

    Where every trained side has at least `MIN_SEEDS` seeds, interval and p-values cover problems and seeds, else
    problems only, with the seeds averaged.

    Args:
        a, b: [P], or [S, P] with training seeds that are independent in a and b (S may differ).
        trained: False for a model without a training run here: it has no training seeds, and its rows are averaged.
        bounds: of the values, so a difference lies within (low - high, high - low).
        margin: for the one-sided p-values. In the unit of the values.
    Raises:
        ValueError: different numbers of problems, or as `over_problems`.
    """
    return paired_average([(a, b)], trained=trained, bounds=bounds, margin=margin)


def paired_average(
    pairs: Sequence[tuple[ArrayLike, ArrayLike]],
    *,
    trained: tuple[bool, bool] = (True, True),
    bounds: Bounds = (0.0, 1.0),
    margin: float | None = None,
) -> Paired:
    """`paired` of the mean over several benchmarks, each with the same weight.

    Args:
        pairs: (a, b) of each benchmark, as for `paired`. The seeds of a run are in the same order in all of them.
    """
    estimate, covered = estimated(pairs, trained, bounds)
    return _tested(estimate, margin, covered, "one problem")


def over_seeds_difference(
    a: Sequence[float],
    b: Sequence[float],
    *,
    paired_by_seed: bool = False,
    margin: float | None = None,
) -> Paired:
    """The difference of two means over training seeds alone, from one unbounded value per seed (of a training curve):
    Welch's t.

    Args:
        a, b: [S_a], [S_b]. paired_by_seed: the same runs in the same order (two windows of one curve), by the t of
            their differences.
    Raises:
        ValueError: no value, or paired sides of different lengths.
    """
    sides = [checked(side, 1, None) for side in (a, b)]
    difference = float(sides[0].mean() - sides[1].mean())
    if paired_by_seed:
        if len(sides[0]) != len(sides[1]):
            raise ValueError(f"paired by seed: expected the same seeds, got {len(sides[0])} and {len(sides[1])}")
        sides = [sides[0] - sides[1]]
    if min(len(side) for side in sides) < MIN_SEEDS:
        return Paired(difference, None, None, f"none: fewer than {MIN_SEEDS} training seeds")
    return _tested(Estimate(difference, (), tuple(sides), None), margin, True, "the seeds show no spread")


def estimated(
    pairs: Sequence[tuple[ArrayLike, ArrayLike]],
    trained: tuple[bool, bool] = (True, True),
    bounds: Bounds = (0.0, 1.0),
) -> tuple[Estimate, bool]:
    """The estimate of `paired_average`, and whether it covers the training seeds of every trained side."""
    tables = [_same_problems(a, b, bounds) for a, b in pairs]
    sides: list[list[Vector]] = [[pair[side] for pair in tables] for side in (0, 1)]
    covered = all(len(side[0]) >= MIN_SEEDS for side, was_trained in zip(sides, trained, strict=True) if was_trained)
    sides = [
        side if was_trained and covered else [table.mean(axis=0, keepdims=True) for table in side]
        for side, was_trained in zip(sides, trained, strict=True)
    ]
    wide = None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])
    return joined_estimate(sides, wide), covered


def _tested(estimate: Estimate, margin: float | None, seeds_covered: bool, why_none: str) -> Paired:
    """The interval and p-values of an estimated difference."""
    interval = estimate.interval()
    if interval is None:
        return Paired(estimate.mean, None, None, f"none: {why_none}", seeds_covered)
    low, high = (None, None) if margin is None else (estimate.p_above(-margin), estimate.p_below(margin))
    test = f"t over {estimate.covers}" + (", and McNemar's exact test" if estimate.exact is not None else "")
    return Paired(estimate.mean, interval, estimate.p_value(), test, seeds_covered, low, high)


def word(difference: float | None, p_holm: float | None, p_equal: float | None, seeds_covered: bool) -> Word:
    """The only rule that turns corrected p-values into a verdict. `scoped` says about which trainings.

    Args:
        p_holm: for "no difference", corrected for its family. p_equal: for TOST, corrected in the same way, or None
            without margin.
    """
    if difference is None or p_holm is None:
        return "not known"
    if p_holm <= ALPHA:
        if seeds_covered:
            return "higher" if difference > 0 else "lower"
        return "checkpoint higher" if difference > 0 else "checkpoint lower"
    if p_equal is not None and p_equal <= ALPHA:
        return "equal" if seeds_covered else "checkpoints equal"
    return "not resolved"


def scoped(verdict: Word, undone: bool) -> Word:
    """The verdict with its scope. `undone`: collapses that no seed shows could undo it (`collapses.undoing`), so it is
    about trainings that do not collapse, and not resolved about the mean of all."""
    return cast(Word, f"{verdict} without collapses") if undone and verdict in ("higher", "lower", "equal") else verdict


def holm(p_values: Sequence[float | None], *, family: int | None = None) -> list[float | None]:
    """Holm's adjusted p-values: rejecting those <= alpha errs anywhere in the family at most alpha of the time.

    Args:
        p_values: in any order. None (not measured) remains None.
        family: the size of the declared family. Its members without a p-value count as 1. None: the p-values given.
    Raises:
        ValueError: a p-value outside [0, 1], or a family smaller than the number of p-values.
    """
    measured = [p for p in p_values if p is not None]
    for p in measured:
        if not 0 <= p <= 1:
            raise ValueError(f"a p-value must lie in [0, 1], got {p!r}")
    family = len(measured) if family is None else family
    if family < len(measured):
        raise ValueError(f"family: expected at least the {len(measured)} p-values given, got {family}")
    # not statsmodels' multipletests, which takes seconds to import and collects garbage. The tests compare with it
    adjusted: list[float | None] = [None] * len(p_values)
    reached = 0.0
    order = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    for rank, (p, i) in enumerate(order):
        reached = max(reached, min(1.0, (family - rank) * p))
        adjusted[i] = reached
    return adjusted


def _same_problems(a: ArrayLike, b: ArrayLike, bounds: Bounds) -> list[Vector]:
    """Both as tables [S, P] of the same problems."""
    tables = [checked(np.atleast_2d(np.asarray(x, dtype=float)), 2, bounds) for x in (a, b)]
    of_a, of_b = (table.shape[1] for table in tables)
    if of_a != of_b:
        raise ValueError(f"a and b must have the same problems, got {of_a} and {of_b}")
    return tables
