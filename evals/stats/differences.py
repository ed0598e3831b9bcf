"""How sure a difference is: two runs on the same problems, paired; and Holm's correction of several.

The intervals are those of `evals.stats.intervals`, of differences. Nothing here is random but the sign flips of
`sign_flip`,
which take a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evals.stats.intervals import (
    BOTH,
    FEW,
    Bounds,
    Interval,
    Vector,
    bent,
    checked,
    effective_number,
    half_width,
    over_problems,
)


@dataclass(frozen=True)
class Paired:
    """The mean of a - b over the same problems, its interval, and the p-value of no difference.

    `test` names the test in words; the p-value covers what the interval covers. One problem has neither.
    """

    difference: float
    interval: Interval | None
    p_value: float | None
    test: str


def paired(a: ArrayLike, b: ArrayLike, seed: int, *, level: float = 0.95, bounds: Bounds = (0.0, 1.0)) -> Paired:
    """The difference a - b of two runs on the same problems, with its interval and p-value.

    If both have several training seeds, both cover problems and seeds, and the p-value is one minus the highest level
    at which the interval does not hold zero. Otherwise they cover problems only (seeds, if one has several, are
    averaged), and the p-value is that of `sign_flip`.

    Args:
        a, b: [P], or [S, P] with training seeds that are independent in a and b (S may differ).
        seed: draws the sign flips; unused where the test needs none.
        bounds: of the values, so a difference lies within (low - high, high - low).
    Raises:
        ValueError: different numbers of problems, or as `over_problems`.
    """
    tables = _same_problems(a, b, level, bounds)
    by_problem = tables[0].mean(axis=0) - tables[1].mean(axis=0)
    difference = float(by_problem.mean())
    if len(by_problem) < 2:
        return Paired(difference, None, None, "none: one problem")
    interval = paired_interval(a, b, level=level, bounds=bounds)
    if min(map(len, tables)) < 2:
        p_value, test = sign_flip(by_problem, seed)
        return Paired(difference, interval, p_value, test)
    p_of_interval = _inverted(lambda level: paired_interval(a, b, level=level, bounds=bounds))
    return Paired(difference, interval, p_of_interval, "t over problems and seeds")


def paired_interval(a: ArrayLike, b: ArrayLike, *, level: float = 0.95, bounds: Bounds = (0.0, 1.0)) -> Interval | None:
    """The interval of `paired` alone; None for a single problem, and for unbounded differences that are all alike."""
    tables = _same_problems(a, b, level, bounds)
    by_problem = tables[0].mean(axis=0) - tables[1].mean(axis=0)
    wide = None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])
    if min(map(len, tables)) < 2:
        return over_problems(by_problem, level=level, bounds=wide)
    if len(by_problem) < 2:
        return None
    half = half_width(by_problem, tables, (1 + level) / 2, wide)
    rough = sum(map(len, tables)) == 4 or effective_number(by_problem, wide) < FEW
    return bent(float(by_problem.mean()), half, len(by_problem), level, wide, BOTH, rough)


def sign_flip(differences: ArrayLike, seed: int, *, draws: int = 10_000) -> tuple[float, str]:
    """The two-sided p-value of a mean difference, and the test in words.

    If the two runs do not differ, every problem's difference could as well have the other sign: the share of sign
    patterns whose mean is at least as far from zero (Fisher's randomisation test). All patterns are tried where there
    are at most 2^14 (differences of zero have no sign); else `draws` random ones, with the observed one counted among
    them, so that the p-value is never too small (Phipson and Smyth, 2010).

    Args:
        differences: [P].
        seed: draws the patterns.
    """
    values = np.asarray(differences, dtype=float)
    moved = values[values != 0]
    observed = abs(moved.sum()) - 1e-12 * np.abs(moved).sum()  # equal sums may differ by rounding
    if len(moved) <= 14:
        patterns = np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved)) & 1
        return float((abs((1 - 2 * patterns) @ moved) >= observed).mean()), "sign flip over problems, exact"
    generator = np.random.default_rng(seed)
    beyond = 0
    for start in range(0, draws, 500):  # in blocks, for memory
        signs = 1 - 2 * generator.integers(0, 2, (min(500, draws - start), len(moved)))
        beyond += int((abs(signs @ moved) >= observed).sum())
    return (1 + beyond) / (1 + draws), f"sign flip over problems, {draws} draws"


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for their number: rejecting those <= alpha errs anywhere at most alpha of the time.

    The i-th smallest of m (from 0) becomes the greatest of (m - j) p_j over j <= i, at most 1 (Holm, 1979). In the
    order given.

    Raises:
        ValueError: a p-value outside [0, 1].
    """
    for p in p_values:
        if not 0 <= p <= 1:
            raise ValueError(f"a p-value must lie in [0, 1], got {p!r}")
    adjusted, reached = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        reached = max(reached, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = reached
    return adjusted


def _inverted(at: Callable[[float], Interval | None]) -> float | None:
    """The p-value, to 1e-9, of an interval known at every level: 1 - the level at which it just reaches zero."""
    low, high = 0.0, 1.0
    for _ in range(30):
        p = (low + high) / 2
        interval = at(1 - p)
        if interval is None:
            return None
        low, high = (p, high) if interval.low <= 0 <= interval.high else (low, p)
    return (low + high) / 2


def _same_problems(a: ArrayLike, b: ArrayLike, level: float, bounds: Bounds) -> list[Vector]:
    """Both as tables [S, P] of the same problems."""
    tables = [checked(np.atleast_2d(np.asarray(x, dtype=float)), 2, level, bounds) for x in (a, b)]
    of_a, of_b = (table.shape[1] for table in tables)
    if of_a != of_b:
        raise ValueError(f"a and b must have the same problems, got {of_a} and {of_b}")
    return tables
