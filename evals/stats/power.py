"""How many problems, samples and training seeds a difference between two methods needs.

The model, for the share of correct samples of method m under training seed s on problem p, n samples each:

    y = mean_m + seed_ms + problem_mp + interaction_msp + noise / sqrt(n)

All terms are normal and independent, except that a problem is about equally hard for both methods: their problem terms
have correlation rho. Both methods are measured on the same P problems, each with its own S seeds, and the difference D
= mean of a - mean of b has the variance

    (effect^2 + 2 (1 - rho) between^2) / P  +  2 (interaction^2 + within^2 / n) / (S P)  +  2 seed^2 / S

The test is that of `evals.stats.differences.paired`: with one seed a side, over the problems alone (it does not cover
other seeds, and `seed_sd` has no effect); with more, over problems and seeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.provenance import Sourced, assumed
from evals.stats.intervals import joined_half, moderated_seeds, seeds_df, t_quantile

Vector = NDArray[np.float64]
MOST = 4096  # seeds or problems; a difference that needs more is reported as out of reach


ALIKE: Sourced[float] = assumed(0.0, "every problem has the same true difference, the most favourable case")


@dataclass(frozen=True)
class Spread:
    """Standard deviations, as fractions, each with its source.

    `within_sd` of single samples within a problem; `between_sd` of problems around the mean; `interaction_sd` of
    problems under one training seed; `seed_sd` of training seeds; `correlation` of two methods' problems; `effect_sd`
    of the true difference over problems, beyond the correlation's part.

    Raises:
        ValueError: a standard deviation outside [0, 1], or a correlation outside [-1, 1].
    """

    within_sd: Sourced[float]
    between_sd: Sourced[float]
    correlation: Sourced[float]
    interaction_sd: Sourced[float]
    seed_sd: Sourced[float]
    effect_sd: Sourced[float] = ALIKE

    def __post_init__(self) -> None:
        for field in fields(self):
            value, low = getattr(self, field.name).value, -1 if field.name == "correlation" else 0
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= 1:
                raise ValueError(f"{field.name}: expected a number from {low} to 1, got {value!r}")

    def sourced(self) -> Mapping[str, Sourced[Any]]:
        """Every value with its source."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def power(difference: float, spread: Spread, *, problems: int, samples: int, seeds: int, level: float = 0.95) -> float:
    """The chance that the test resolves a true difference, at significance 1 - level.

    The difference is normal, its three estimated variances (from the problems; from either side's seeds with the noise)
    are chi-square, and all are independent: the chance is integrated over the three. Exact in the normal model, except
    that the noise's own degrees of freedom, 2 (S - 1)(P - 1), are treated as infinite.

    Args:
        difference: a fraction, not 0. problems: P >= 3. samples: n >= 1. seeds: S >= 1, on either side.
    Raises:
        ValueError: a value out of these ranges, or level outside (0, 1).
    """
    from scipy.special import erfc

    _check(difference, problems, samples, seeds, level)
    quantile = (1 + level) / 2
    cell = spread.interaction_sd.value**2 + spread.within_sd.value**2 / samples
    effect = spread.effect_sd.value**2 + 2 * (1 - spread.correlation.value) * spread.between_sd.value**2
    variance = (effect + 2 * cell / seeds) / problems
    ratio, weight = _chi_square_over_df(problems - 1)
    half = t_quantile(quantile, problems - 1) * np.sqrt(variance * ratio)
    if seeds > 1:
        noise = 2 * cell / (seeds * problems)  # in the seeds' part of the interval, not in the problems'
        half = t_quantile(quantile, problems - 1) * np.sqrt(np.maximum(0.0, variance * ratio - noise))
        from_seeds = 2 * spread.seed_sd.value**2 / seeds
        variance += from_seeds
        side, side_weight = _chi_square_over_df(seeds - 1)
        of_a, of_b = side[:, None], side[None, :]
        of_one = (from_seeds + noise) / 2
        variances, counts = [of_one * of_a, of_one * of_b], [seeds, seeds]
        own = joined_half(half[:, None, None], sum(variances), seeds_df(variances, counts), quantile)
        half = np.minimum(own, joined_half(half[:, None, None], *moderated_seeds(variances, counts), quantile))
        weight = weight[:, None, None] * side_weight[:, None] * side_weight
    if variance == 0:
        return 1.0
    scale = math.sqrt(2 * variance)
    chance = 0.5 * (erfc((half - difference) / scale) + erfc((half + difference) / scale))
    return min(1.0, float(np.sum(weight * chance)))


def carried_by(difference: float, share: float) -> float:
    """The `effect_sd` if a share of the problems carries the whole mean difference: |d| sqrt(1 / share - 1).

    A share f of the problems differs by d / f, the others by 0.

    Raises:
        ValueError: share outside (0, 1].
    """
    if not 0 < share <= 1:
        raise ValueError(f"share: expected a number in (0, 1], got {share!r}")
    return abs(difference) * math.sqrt(1 / share - 1)


def seeds_needed(
    difference: float, spread: Spread, *, wanted: float, problems: int, samples: int, level: float = 0.95
) -> int | None:
    """The fewest training seeds (at least 2, so that the interval covers them) that give power `wanted`; None beyond
    MOST."""
    return _fewest(
        lambda s: power(difference, spread, problems=problems, samples=samples, seeds=s, level=level), 2, wanted
    )


def problems_needed(
    difference: float, spread: Spread, *, wanted: float, samples: int, seeds: int, level: float = 0.95
) -> int | None:
    """The fewest problems that give power `wanted`; None beyond MOST."""
    return _fewest(
        lambda p: power(difference, spread, problems=p, samples=samples, seeds=seeds, level=level), 3, wanted
    )


def _fewest(at: Any, least: int, wanted: float) -> int | None:
    """The smallest count whose power reaches `wanted`, by doubling and halving.

    Power grows with the count wherever it is well above the level; near the level, and with very few problems, the size
    of the test itself moves by a point or two.
    """
    if not 0 < wanted < 1:
        raise ValueError(f"power: expected a number between 0 and 1, got {wanted!r}")
    low, high = least - 1, least
    while at(high) < wanted:
        low, high = high, 2 * high
        if low >= MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if at(middle) < wanted else (low, middle)
    return high if high <= MOST else None


@lru_cache(maxsize=256)
def _chi_square_over_df(df: int) -> tuple[Vector, Vector]:
    """Nodes and weights of chi-square / df: Gauss-Legendre over its root r, of density r^(df-1) exp(-df r^2 / 2)."""
    reach = 9 / math.sqrt(2 * df)
    low, high = max(0.0, 1 - reach), 1 + reach
    root = low + (high - low) * (_NODES + 1) / 2
    log_density = (df - 1) * np.log(root) - df * root**2 / 2
    density = _WEIGHTS * np.exp(log_density - log_density.max())
    return root**2, density / density.sum()


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)


def _check(difference: float, problems: int, samples: int, seeds: int, level: float) -> None:
    if isinstance(difference, bool) or not isinstance(difference, (int, float)) or not 0 < abs(difference) < 1:
        raise ValueError(f"difference: expected a fraction such as 0.05, not 0 and within -1 to 1, got {difference!r}")
    for name, value, least in (("problems", problems, 3), ("samples", samples, 1), ("seeds", seeds, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{name}: expected a whole number of at least {least}, got {value!r}")
    if not 0 < level < 1:
        raise ValueError(f"level: expected a number between 0 and 1, got {level!r}")
