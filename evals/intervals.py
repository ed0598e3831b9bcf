"""How sure a score is: 95 % intervals over problems and training seeds, paired differences, Holm's correction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]
Bounds = tuple[float, float]

PROBLEMS = "problems"
SEEDS = "seeds"
BOTH = "problems and seeds"


@dataclass(frozen=True)
class Interval:
    """A confidence interval for a mean, and what would have to be drawn anew for it to be missed: `covers`."""

    low: float
    high: float
    level: float
    covers: str  # "problems" | "seeds" | "problems and seeds"


def over_problems(
    values: ArrayLike, *, level: float = 0.95, bounds: Bounds | None = (0.0, 1.0)
) -> Interval | None:
    """An interval for the mean of one value per problem, [P]; None for P = 1."""
    per_problem = np.asarray(values, dtype=float)
    count = len(per_problem)
    if count < 2:
        return None
    variance = float(per_problem.var(ddof=1)) / count
    low, high = _limits(float(per_problem.mean()), variance, count - 1, count, bounds, level)
    return Interval(low, high, level, PROBLEMS)


def over_problems_and_seeds(
    values: ArrayLike, *, level: float = 0.95, bounds: Bounds | None = (0.0, 1.0)
) -> Interval | None:
    """An interval for the mean over training seeds and problems, [S, P]; covers problems only when S = 1."""
    table = np.asarray(values, dtype=float)
    seeds, problems = table.shape
    if seeds == 1:
        return over_problems(table[0], level=level, bounds=bounds)
    if problems < 2:
        return None
    mean, variance, df = _two_way(table)
    low, high = _limits(mean, variance, df, problems, bounds, level)
    return Interval(low, high, level, BOTH)


def _two_way(table: Vector) -> tuple[float, float, float]:
    """Mean of [S, P], the variance of that mean in a crossed random-effects model, and its degrees of freedom."""
    seeds, problems = table.shape
    mean = float(table.mean())
    by_seed, by_problem = table.mean(axis=1), table.mean(axis=0)
    rest = table - by_seed[:, None] - by_problem[None, :] + mean
    noise = float((rest**2).sum()) / ((seeds - 1) * (problems - 1)) / (seeds * problems)
    from_problems = float(by_problem.var(ddof=1)) / problems
    from_seeds = float(by_seed.var(ddof=1)) / seeds
    extra = max(0.0, from_seeds - noise)
    variance = from_problems + extra
    if variance == 0:
        return mean, 0.0, problems - 1
    df = variance**2 / (from_problems**2 / (problems - 1) + (extra and from_seeds**2 / (seeds - 1)))
    return mean, variance, df


def _limits(
    mean: float, variance: float, df: float, problems: int, bounds: Bounds | None, level: float
) -> tuple[float, float]:
    t = t_quantile((1 + level) / 2, df)
    if bounds is None:
        half = t * math.sqrt(variance)
        return mean - half, mean + half
    low, high = bounds
    if variance == 0:
        miss = 1 - ((1 - level) / 2) ** (1 / problems)
        return mean - miss * (mean - low), mean + miss * (high - mean)
    p = (mean - low) / (high - low)
    n = p * (1 - p) / (variance / (high - low) ** 2)
    centre = (p + t * t / (2 * n)) / (1 + t * t / n)
    half = t * math.sqrt(p * (1 - p) / n + t * t / (4 * n * n)) / (1 + t * t / n)
    return low + (high - low) * (centre - half), low + (high - low) * (centre + half)


def t_quantile(probability: float, df: float) -> float:
    """The quantile of Student's t with `df` degrees of freedom, by bisection of its distribution function."""
    if probability < 0.5:
        return -t_quantile(1 - probability, df)
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        if t_below(math.sqrt(df) * math.tan(middle), df) < probability:
            low = middle
        else:
            high = middle
    return math.sqrt(df) * math.tan((low + high) / 2)


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(128)


def t_below(value: float, df: float) -> float:
    """P(T <= value) for Student's t: with T = sqrt(df) tan(a), the density of a is proportional to cos(a)^(df - 1)."""
    angle = math.atan(value / math.sqrt(df))
    area = angle / 2 * float(np.sum(_WEIGHTS * np.cos(angle / 2 * (_NODES + 1)) ** (df - 1)))
    scale = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(math.pi)
    return 0.5 + scale * area


@dataclass(frozen=True)
class Paired:
    """a - b on the same problems."""

    difference: float
    interval: Interval | None
    p_value: float | None
    test: str


def paired(
    a: ArrayLike, b: ArrayLike, seed: int = 0, *, level: float = 0.95, bounds: Bounds | None = (0.0, 1.0)
) -> Paired:
    """The paired difference of two runs on the same problems, [P] or [S, P] each (the S may differ)."""
    a, b = np.atleast_2d(np.asarray(a, dtype=float)), np.atleast_2d(np.asarray(b, dtype=float))
    by_problem = a.mean(axis=0) - b.mean(axis=0)
    difference_bounds = None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])
    interval = over_problems(by_problem, level=level, bounds=difference_bounds)
    p_value, test = sign_flip(by_problem, seed)
    return Paired(float(by_problem.mean()), interval, p_value, test)


def sign_flip(differences: Vector, seed: int, *, draws: int = 10_000) -> tuple[float, str]:
    """Two-sided p-value of the mean difference when each problem's difference is as likely to have the other sign."""
    moved = differences[differences != 0]
    observed = abs(moved.sum()) * (1 - 1e-12)
    if len(moved) <= 14:
        signs = 1 - 2 * (np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved)) & 1)
        return float((abs(signs @ moved) >= observed).mean()), "sign flip over problems, exact"
    generator = np.random.default_rng(seed)
    beyond = sum(
        int((abs(generator.choice((-1.0, 1.0), (1000, len(moved))) @ moved) >= observed).sum())
        for _ in range(draws // 1000)
    )
    return (1 + beyond) / (1 + draws), f"sign flip over problems, {draws} draws"


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values, in the order given, that bound the chance of any false finding (Holm, 1979)."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, reached = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        reached = max(reached, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = reached
    return adjusted
