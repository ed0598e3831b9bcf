"""How sure a score is: intervals over problems and training seeds, paired differences, Holm's correction.

One recipe throughout. Each source of chance (which problems, which training seeds) gives the half-width that
Student's t would give it alone, and the squares of the half-widths add up (Howe, JASA 69, 1974; Zou and Donner, Stat.
Med. 27, 2008), which is right where one source dominates. The plain interval mean +- half is then bent to the bounds of
the values as Wilson (JASA 22, 1927) bends that of a proportion: for values that vary within problems this is Wilson's
interval at the effective size of a cluster sample (Korn and Graubard, Survey Methodology 24, 1998; Franco et al.,
J. Survey Stat. Methodol. 7, 2019).

Nothing here is random but the sign flips of `sign_flip`, which take a seed. Measured coverage of the 95 % intervals
(tests/evals/test_intervals.py simulates it): see `over_problems` and `over_problems_and_seeds`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]
Bounds = tuple[float, float] | None  # what a value can be at all; None where there is no limit

PROBLEMS = "problems"
SEEDS = "seeds"
BOTH = "problems and seeds"


@dataclass(frozen=True)
class Interval:
    """A confidence interval for a mean.

    `covers` says which chance it allows for: "problems" (other problems of the same kind, and other samples of them,
    from the same trained models), "seeds" (other training seeds on the same problems), or "problems and seeds".
    """

    low: float
    high: float
    level: float
    covers: str


@dataclass(frozen=True)
class Paired:
    """The mean of a - b over the same problems, its interval, and the p-value of no difference.

    `test` names the test in words; the p-value covers what the interval covers. One problem has neither.
    """

    difference: float
    interval: Interval | None
    p_value: float | None
    test: str


def over_problems(values: ArrayLike, *, level: float = 0.95, bounds: Bounds = (0.0, 1.0)) -> Interval | None:
    """The interval for the mean of one value per problem: clustered by problem, as each problem counts once.

    Coverage measured at the 95 % level, 3,000 simulations each, P in (30, 100), n in (1, 4, 16) samples a problem: 93.5
    to 97.7 % for problem rates that are uniform, U-shaped, alike, or skewed with a mean of 0.15 to 0.9; at a mean rate
    of 0.09 and P = 30, 94 to 98.5 %; at a mean rate of 0.05 with most problems hopeless (Beta(0.1, 1.9)) and P = 30,
    only 91 to 94 %. In that last case the t interval holds 79 to 87 %, the percentile bootstrap 78 to 87 %, BCa 77 to
    92 %.

    Where all problems have the same value the data show no spread, yet an interval of no width would be untrue. Then at
    most a share 1 - (alpha/2)^(1/P) of all problems can have another value (Clopper and Pearson, 1934, for none seen in
    P), and the ends are where these all lie at a bound. All wrong on 30 problems gives [0, 0.116].

    Args:
        values: [P].
        bounds: the least and the greatest value possible; None for values without limits (plain t interval).
    Returns:
        None for a single problem, and for unbounded values that are all alike: nothing shows their spread.
    Raises:
        ValueError: not a vector, empty, a value not finite or out of bounds, or level outside (0, 1).
    """
    per_problem = _checked(values, 1, level, bounds)
    count = len(per_problem)
    if count < 2:
        return None
    half = t_quantile((1 + level) / 2, count - 1) * math.sqrt(_variance_of_mean(per_problem))
    return _interval(float(per_problem.mean()), half, count, level, bounds, PROBLEMS)


def over_seeds(values: ArrayLike, *, level: float = 0.95, bounds: Bounds = (0.0, 1.0)) -> Interval | None:
    """The interval for the mean over training seeds on these very problems, from one mean per seed.

    Coverage measured at the 95 % level, 2,000 simulations each, the problems held fixed (logistic problems and seeds,
    seed standard deviation 0 to 12 points, mean rate 0.2 to 0.8, P in (30, 500), n in (1, 16)): with S = 3, 5, 10, 30
    on average 95.3, 94.8, 95.0, 95.1 %, at the lowest 93.9 and at the highest 97.7 %. With S = 2 it is 94.8 to 100 %,
    97 on average: the interval is then so wide that the bounds cut it. Seeds that happen to be all alike, at most 3 %
    of the draws with S = 3 and 16 % with S = 2 (30 problems, one sample each), have no interval and are not counted.

    Args:
        values: [S].
        bounds: as for `over_problems`.
    Returns:
        None for a single seed, and for seeds that are all alike: so few equal values say little about their spread.
    Raises:
        ValueError: as `over_problems`.
    """
    per_seed = _checked(values, 1, level, bounds)
    if len(per_seed) < 2 or np.ptp(per_seed) == 0:
        return None
    half = t_quantile((1 + level) / 2, len(per_seed) - 1) * math.sqrt(_variance_of_mean(per_seed))
    return _interval(float(per_seed.mean()), half, len(per_seed), level, bounds, SEEDS)


def over_problems_and_seeds(values: ArrayLike, *, level: float = 0.95, bounds: Bounds = (0.0, 1.0)) -> Interval | None:
    """The interval for the mean over training seeds and problems, every seed measured on every problem.

    In the crossed model value = mean + problem + seed + noise, the spread of the problem means carries the problems'
    chance and the noise; the spread of the seed means beyond the noise carries the seeds'.

    Coverage measured at the 95 % level for logistic problems and seeds (seed standard deviation 0 to 10 points, mean
    rate 0.07 to 0.77, P in (30, 100, 500), n in (1, 8)): on average 94.8, 95.6, 95.5, 94.9 % with S = 2, 3, 5, 10; at
    the lowest 92 % with S = 3, 91 % with more (low rates, P = 30) and 87 % with S = 2 (seeds that differ much); at the
    highest 97.8 %. What was tried besides: Satterthwaite's degrees of freedom hold 90 to 97.7 % with S = 3; the two-way
    bootstrap 81 to 95 % with S = 2 and 88 to 95 % with S = 3.

    Args:
        values: [S, P]. S = 1 gives the interval over problems, and `covers` says so.
        bounds: as for `over_problems`.
    Returns:
        None for a single problem, and for unbounded values that are all alike.
    Raises:
        ValueError: as `over_problems`, for a matrix.
    """
    table = _checked(values, 2, level, bounds)
    seeds, problems = table.shape
    if seeds == 1:
        return over_problems(table[0], level=level, bounds=bounds)
    if problems < 2:
        return None
    half = _half_width(table.mean(axis=0), [table], (1 + level) / 2)
    return _interval(float(table.mean()), half, problems, level, bounds, BOTH)


def paired(a: ArrayLike, b: ArrayLike, seed: int, *, level: float = 0.95, bounds: Bounds = (0.0, 1.0)) -> Paired:
    """The difference a - b of two runs on the same problems, with its interval and p-value.

    If both have several training seeds, the interval covers problems and seeds, and the p-value is one minus the
    highest level at which that interval does not hold zero. Otherwise both cover problems only (seeds, if one has
    several, are averaged): the interval is that of `over_problems` for the differences, the p-value that of
    `sign_flip`.

    Coverage measured at the 95 % level (1,000 simulations a case; P in (30, 100), n in (1, 16), with and without a true
    difference, seed standard deviation 0 to 10 points): 93.5 to 96.5 % without seeds, and with S = 2, 3, 10 a side 91
    to 98, 92.4 to 97.5, 93.5 to 97.7 %. Two equal methods with S = 3 differ at p <= 0.05 in 3.2 to 6.8 % of 10,000.

    Args:
        a, b: [P], or [S, P] with training seeds that are independent in a and b (S may differ).
        seed: draws the sign flips; unused where the test needs none.
        bounds: of the values, so a difference lies within (low - high, high - low).
    Raises:
        ValueError: different numbers of problems, or as `over_problems`.
    """
    tables = [_checked(np.atleast_2d(np.asarray(x, dtype=float)), 2, level, bounds) for x in (a, b)]
    problems = tables[0].shape[1]
    if tables[1].shape[1] != problems:
        raise ValueError(f"a and b must have the same problems, got {problems} and {tables[1].shape[1]}")
    by_problem = tables[0].mean(axis=0) - tables[1].mean(axis=0)
    difference = float(by_problem.mean())
    wide = None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])
    if problems < 2:
        return Paired(difference, None, None, "none: one problem")
    if min(len(table) for table in tables) < 2:
        p_value, test = sign_flip(by_problem, seed)
        return Paired(difference, over_problems(by_problem, level=level, bounds=wide), p_value, test)

    def at(level: float) -> Interval | None:
        half = _half_width(by_problem, tables, (1 + level) / 2)
        return _interval(difference, half, problems, level, wide, BOTH)

    return Paired(difference, at(level), _inverted(at), "t over problems and seeds")


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


@lru_cache(maxsize=1024)
def t_quantile(probability: float, df: int) -> float:
    """The quantile of Student's t with df >= 1 degrees of freedom, for probability < 1.

    With T = sqrt(df) tan(a), the density of the angle a is scale * cos(a)^(df - 1). Newton's method on the distribution
    function, which is concave for a > 0, climbs from 0 to the quantile and never past it.
    """
    if probability < 0.5:
        return -t_quantile(1 - probability, df)
    angle, step = 0.0, 1.0
    while step > 1e-13:
        density = _t_scale(df) * math.cos(angle) ** (df - 1)
        step = (probability - t_below(math.sqrt(df) * math.tan(angle), df)) / density
        angle += step
    return math.sqrt(df) * math.tan(angle)


def t_below(value: float, df: int) -> float:
    """P(T <= value) for Student's t, the area below the density of the angle (see `t_quantile`)."""
    angle = math.atan(value / math.sqrt(df))
    area = angle / 2 * float(np.sum(_WEIGHTS * np.cos(angle / 2 * (_NODES + 1)) ** (df - 1)))
    return 0.5 + _t_scale(df) * area


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(128)


def _t_scale(df: int) -> float:
    return math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(math.pi)


def _half_width(by_problem: Vector, tables: Sequence[Vector], quantile: float) -> float:
    """Half the plain interval: the problems' part from their means [P], the seeds' part pooled from tables [S, P]."""
    square = t_quantile(quantile, len(by_problem) - 1) ** 2 * _variance_of_mean(by_problem)
    from_seeds = max(0.0, sum(map(_variance_from_seeds, tables)))
    square += t_quantile(quantile, sum(len(table) - 1 for table in tables)) ** 2 * from_seeds
    return math.sqrt(square)


def _variance_of_mean(values: Vector) -> float:
    return float(values.var(ddof=1)) / len(values)


def _variance_from_seeds(table: Vector) -> float:
    """The seeds' part in the variance of the mean of [S, P]: that of the seed means less the noise's, so maybe < 0."""
    seeds, problems = len(table), len(table[0])
    noise = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0, keepdims=True) + table.mean()
    per_value = float(np.square(noise).sum()) / ((seeds - 1) * (problems - 1))
    return _variance_of_mean(table.mean(axis=1)) - per_value / (seeds * problems)


def _interval(mean: float, half: float, problems: int, level: float, bounds: Bounds, covers: str) -> Interval | None:
    """mean +- half, bent to the bounds; by Clopper and Pearson where the data show no spread."""
    spread = half > 1e-9 * (abs(mean) if bounds is None else bounds[1] - bounds[0])  # less is rounding
    if bounds is None:
        return Interval(mean - half, mean + half, level, covers) if spread else None
    if spread:
        return Interval(*_wilson(mean, half, *bounds), level, covers)
    unseen = 1 - ((1 - level) / 2) ** (1 / problems)
    return Interval(mean - unseen * (mean - bounds[0]), mean + unseen * (bounds[1] - mean), level, covers)


def _wilson(mean: float, half: float, low: float, high: float) -> tuple[float, float]:
    """The two x with (x - p)^2 = h^2 x(1 - x) / (p(1 - p)): p is the mean, h the half-width, low..high is 0..1.

    For a proportion of n, h = z sqrt(p(1 - p)/n), and this is Wilson's equation.
    """
    width = high - low
    p, h = (mean - low) / width, half / width
    ratio = h * h / (p * (1 - p))
    centre, reach = (p + ratio / 2) / (1 + ratio), math.sqrt(h * h + ratio * ratio / 4) / (1 + ratio)
    return low + width * max(0.0, centre - reach), low + width * min(1.0, centre + reach)


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


def _checked(values: ArrayLike, dimensions: int, level: float, bounds: Bounds) -> Vector:
    array = np.asarray(values, dtype=float)
    if array.ndim != dimensions or array.size == 0:
        shape = "[P], one value per problem (or seed)" if dimensions == 1 else "[S, P], seeds x problems"
        raise ValueError(f"values must be {shape} and not empty, got shape {array.shape}")
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level!r}")
    if not np.isfinite(array).all():
        raise ValueError("values must be finite: leave out what was not measured")
    if bounds is not None and (array.min() < bounds[0] or array.max() > bounds[1]):
        raise ValueError(f"values must lie in {list(bounds)}, got {array.min()} to {array.max()}")
    return array
