"""How sure a score is: intervals over problems and training seeds. Of differences: `evals.stats.differences`.

One recipe throughout, whose coverage was measured by simulation (results/coverage.md, from benchmarks/coverage.py):

- The problems' chance: Student's t with as many degrees of freedom as there are problems that show it (Kish's
  effective number: of 30 problems with 29 at zero, one does), and never more than if every value were all or nothing,
  which is the most that a bounded value can vary. For right or wrong answers this is Wilson's interval exactly.
- The seeds' chance: the spread of the seed means, noise included, which is then taken off the problems' (in the crossed
  model that keeps the t distribution of the seeds' part exact). The two are joined by the mean of Howe's half-width
  (JASA 69, 1974: squares add up), which covers a little too much, and Satterthwaite's (Biometrics 2, 1946), which
  covers a little too little.
- The interval mean +- half is bent to the bounds of the values as Wilson (JASA 22, 1927) bends that of a proportion:
  for values that vary within problems this is his interval at the effective size of a cluster sample (Korn and
  Graubard, Survey Methodology 24, 1998; Franco et al., J. Survey Stat. Methodol. 7, 2019).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]
Bounds = tuple[float, float] | None  # what a value can be at all; None where there is no limit

PROBLEMS = "problems"
SEEDS = "seeds"
BOTH = "problems and seeds"
FEW = 5.0
ROUGH = "~: so few problems or seeds show this chance that the 95 % are only roughly kept"


@dataclass(frozen=True)
class Interval:
    """A confidence interval for a mean.

    `covers` says which chance it allows for: "problems" (other problems of the same kind, and other samples of them,
    from the same trained models), "seeds" (other training seeds on the same problems), or "problems and seeds".

    `rough`: so few problems (fewer than `FEW`, as Kish counts them) or seeds (two) show that chance that the level is
    only roughly kept: 95 % intervals then hold 90 to 100 % (results/coverage.md says where, and why no method does
    better).
    """

    low: float
    high: float
    level: float
    covers: str
    rough: bool = False

    @property
    def mark(self) -> str:
        """What stands before it in a table: "~" where it is rough."""
        return "~" if self.rough else ""


def over_problems(values: ArrayLike, *, level: float = 0.95, bounds: Bounds = (0.0, 1.0)) -> Interval | None:
    """The interval for the mean of one value per problem: clustered by problem, as each problem counts once.

    Where all problems have the same value the data show no spread, yet an interval of no width would be untrue. Then at
    most a share 1 - (alpha/2)^(1/P) of all problems can have another value (Clopper and Pearson, 1934, for none seen in
    P), and the ends are where these all lie at a bound. All wrong on 30 problems gives [0, 0.116].

    Args:
        values: [P].
        bounds: the least and the greatest value possible; None for values without limits (plain t interval). Bounds
            that are symmetric about zero are those of differences, where nothing differs at zero.
    Returns:
        None for a single problem, and for unbounded values that are all alike: nothing shows their spread.
    Raises:
        ValueError: not a vector, empty, a value not finite or out of bounds, or level outside (0, 1).
    """
    per_problem = checked(values, 1, level, bounds)
    if len(per_problem) < 2:
        return None
    half = _problems_half(per_problem, _variance_of_mean(per_problem), (1 + level) / 2, bounds)
    rough = effective_number(per_problem, bounds) < FEW
    return bent(float(per_problem.mean()), half, len(per_problem), level, bounds, PROBLEMS, rough)


def over_seeds(values: ArrayLike, *, level: float = 0.95, bounds: Bounds = (0.0, 1.0)) -> Interval | None:
    """The interval for the mean over training seeds on these very problems, from one mean per seed.

    Seeds that happen to be all alike, at most 3 % of the draws with S = 3 and 16 % with S = 2 (30 problems, one sample
    each), have no interval. With S = 2 it is so wide that the bounds cut it (`rough`).

    Args:
        values: [S].
        bounds: as for `over_problems`.
    Returns:
        None for a single seed, and for seeds that are all alike: so few equal values say little about their spread.
    Raises:
        ValueError: as `over_problems`.
    """
    per_seed = checked(values, 1, level, bounds)
    seeds = len(per_seed)
    if seeds < 2 or np.ptp(per_seed) == 0:
        return None
    half = t_quantile((1 + level) / 2, seeds - 1) * math.sqrt(_variance_of_mean(per_seed))
    return bent(float(per_seed.mean()), half, seeds, level, bounds, SEEDS, seeds == 2)


def over_problems_and_seeds(values: ArrayLike, *, level: float = 0.95, bounds: Bounds = (0.0, 1.0)) -> Interval | None:
    """The interval for the mean over training seeds and problems, every seed measured on every problem.

    In the crossed model value = mean + problem + seed + noise the mean's variance is (MS_problems - MS_noise) / (S P),
    the problems' part, and MS_seeds / (S P), the seeds' part with the noise in it.

    Args:
        values: [S, P]. S = 1 gives the interval over problems, and `covers` says so.
        bounds: as for `over_problems`.
    Returns:
        None for a single problem, and for unbounded values that are all alike.
    Raises:
        ValueError: as `over_problems`, for a matrix.
    """
    table = checked(values, 2, level, bounds)
    seeds, problems = table.shape
    if seeds == 1:
        return over_problems(table[0], level=level, bounds=bounds)
    if problems < 2:
        return None
    by_problem = table.mean(axis=0)
    half = half_width(by_problem, [table], (1 + level) / 2, bounds)
    rough = seeds == 2 or effective_number(by_problem, bounds) < FEW
    return bent(float(table.mean()), half, problems, level, bounds, BOTH, rough)


@lru_cache(maxsize=4096)
def t_quantile(probability: float, df: float) -> float:
    """The quantile of Student's t with df > 0 degrees of freedom, for probability < 1; the normal one for df = inf."""
    from scipy.special import ndtri, stdtrit

    return float(ndtri(probability) if math.isinf(df) else stdtrit(df, probability))


def effective_number(values: Vector, bounds: Bounds) -> float:
    """How many values carry the mean: (sum |v|)^2 / sum v^2, as Kish (Survey Sampling, 1965) counts weights.

    Counted from the bound that leaves fewer: with one problem of thirty ever solved, or one ever failed, it is 1. Of
    differences, from zero; unbounded values all count.

    Args:
        values: [P]. bounds: as for `over_problems`.
    """
    if bounds is None:
        return float(len(values))
    if _of_differences(bounds):
        return _kish(np.abs(values))
    return min(_kish(values - bounds[0]), _kish(bounds[1] - values))


def joined_half(problems: ArrayLike, seeds: ArrayLike, df: int, quantile: float) -> Vector:
    """Half the plain interval of a sum of two independent chances (see the module's text).

    Args:
        problems: the half-width that the problems' chance has alone, [...].
        seeds: the seeds' estimated variance of the mean, on `df` degrees of freedom, [...].
    """
    from scipy.special import stdtrit

    alone, seeds = np.asarray(problems, dtype=float), np.asarray(seeds, dtype=float)
    howe = np.hypot(alone, t_quantile(quantile, df) * np.sqrt(seeds))
    variance = (alone / t_quantile(quantile, math.inf)) ** 2 + seeds
    share = np.divide(seeds, variance, out=np.ones_like(variance), where=variance > 0)
    df_joined = df / np.maximum(share**2, 1e-9)  # beyond a thousand million, t is normal
    return np.asarray((howe + stdtrit(df_joined, quantile) * np.sqrt(variance)) / 2)


def half_width(by_problem: Vector, tables: Sequence[Vector], quantile: float, bounds: Bounds) -> float:
    """Half the plain interval: the problems' part from their means [P], the seeds' part pooled from tables [S, P]."""
    noise = sum(map(_noise_of_mean, tables))
    problems = _problems_half(by_problem, max(0.0, _variance_of_mean(by_problem) - noise), quantile, bounds)
    seeds = sum(_variance_of_mean(table.mean(axis=1)) for table in tables)
    return float(joined_half(problems, seeds, sum(len(table) - 1 for table in tables), quantile))


def _problems_half(by_problem: Vector, variance: float, quantile: float, bounds: Bounds) -> float:
    """Half the plain interval that the problems' chance has alone; `variance` is what of it is in the mean of [P]."""
    count = len(by_problem)
    if bounds is None:
        return t_quantile(quantile, count - 1) * math.sqrt(variance)
    effective = min(count - 1.0, round(effective_number(by_problem, bounds), 6))
    if effective == 0:  # all at one bound: no spread
        return 0.0
    nothing, everything = (0.0, bounds[1]) if _of_differences(bounds) else bounds
    share = (by_problem - nothing) / (everything - nothing)
    # E|x| - (E x)^2 is the variance of values that are -1, 0 or 1 with the same mean and mean size
    most = (everything - nothing) ** 2 * float(np.abs(share).mean() - share.mean() ** 2) / count
    return min(
        t_quantile(quantile, effective) * math.sqrt(variance),
        t_quantile(quantile, math.inf) * math.sqrt(max(0.0, most)),
    )


def _of_differences(bounds: tuple[float, float]) -> bool:
    return bounds[0] == -bounds[1]


def _kish(values: Vector) -> float:
    squares = float(np.square(values).sum())
    return float(values.sum()) ** 2 / squares if squares > 0 else 0.0


def _variance_of_mean(values: Vector) -> float:
    return float(values.var(ddof=1)) / len(values)


def _noise_of_mean(table: Vector) -> float:
    """What the noise (whatever is neither the problem's nor the seed's) adds to the variance of the mean of [S, P]."""
    seeds, problems = len(table), len(table[0])
    if seeds < 2:
        return 0.0
    noise = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0, keepdims=True) + table.mean()
    return float(np.square(noise).sum()) / ((seeds - 1) * (problems - 1)) / (seeds * problems)


def bent(
    mean: float, half: float, count: int, level: float, bounds: Bounds, covers: str, rough: bool
) -> Interval | None:
    """mean +- half, bent to the bounds; by Clopper and Pearson where the data show no spread."""
    spread = half > 1e-9 * (abs(mean) if bounds is None else bounds[1] - bounds[0])  # less is rounding
    if bounds is None:
        return Interval(mean - half, mean + half, level, covers, rough) if spread else None
    if spread:
        return Interval(*_wilson(mean, half, *bounds), level, covers, rough)
    unseen = 1 - ((1 - level) / 2) ** (1 / count)
    return Interval(mean - unseen * (mean - bounds[0]), mean + unseen * (bounds[1] - mean), level, covers, rough)


def _wilson(mean: float, half: float, low: float, high: float) -> tuple[float, float]:
    """The two x with (x - p)^2 = h^2 x(1 - x) / (p(1 - p)): p is the mean, h the half-width, low..high is 0..1.

    For a proportion of n, h = z sqrt(p(1 - p)/n), and this is Wilson's equation.
    """
    width = high - low
    p, h = (mean - low) / width, half / width
    ratio = h * h / (p * (1 - p))
    centre, reach = (p + ratio / 2) / (1 + ratio), math.sqrt(h * h + ratio * ratio / 4) / (1 + ratio)
    return low + width * max(0.0, centre - reach), low + width * min(1.0, centre + reach)


def checked(values: ArrayLike, dimensions: int, level: float, bounds: Bounds) -> Vector:
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
