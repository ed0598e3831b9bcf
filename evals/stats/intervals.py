"""Confidence intervals of scores over problems and training seeds. Of differences: `evals.stats.differences`.

One method throughout; results/coverage.md has its coverage by simulation (benchmarks/coverage.py):

- Problems: Student's t with as many degrees of freedom as problems that vary (Kish's effective number: of 30 problems
  with 29 at zero, one does), capped at the Bernoulli variance. For one sample a problem this is Wilson's
  interval exactly. For differences the cap is that of values -1, 0, 1 with mean zero, as in McNemar's test.
- Seeds: the variance of the seed means, noise included; the noise is then subtracted from the problems' variance (in
  the crossed model this keeps the t distribution of the seeds' part exact). The half-width is the average of Howe's
  (JASA 69, 1974: squares add up), which covers slightly too much, and Satterthwaite's (Biometrics 2, 1946), which
  covers slightly too little; below two degrees of freedom it is Howe's alone.
- Few seeds: their spread alone has almost no degrees of freedom, and two seeds would resolve nothing. Bounded values
  therefore get the narrower of two half-widths: from the seeds' own spread, and from a spread moderated as in Smyth
  (Stat. Appl. Genet. Mol. Biol. 3, 2004), with a prior declared here (`SEED_SD`, `SEED_DF`) and never estimated from
  other runs.
- mean +- half is bent to the bounds of the values as Wilson (JASA 22, 1927) bends that of a proportion: for values that
  vary within problems this is his interval at the effective size of a cluster sample (Korn and Graubard, Survey
  Methodology 24, 1998; Franco et al., J. Survey Stat. Methodol. 7, 2019).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]
Bounds = tuple[float, float] | None  # of a single value; None: unbounded

PROBLEMS = "problems"
SEEDS = "seeds"
BOTH = "problems and seeds"
FEW = 5.0
SEED_SD = 0.10  # of the seeds' means, as a share of the values' width: 10 points of accuracy
SEED_DF = 2.0
"""The declared prior of the seeds' spread: as if two more degrees of freedom had shown a deviation of 10 points.

Assumed, and deliberately larger than the spread of arms with many seeds (1 to 8 points, results/egsw/aa.md). If the
seeds of a method truly differ by 20 points, equal methods get verdicts too often (results/coverage.md says how often).
"""
ROUGH = "~: approximate; too few varying problems or seeds for nominal coverage"
FEW_SEEDS = (
    f"With few training seeds the interval assumes that a method's seeds differ by about {100 * SEED_SD:g} points at "
    "most (standard deviation; results/coverage.md, few seeds)"
)


@dataclass(frozen=True)
class Interval:
    """A confidence interval for a mean.

    `covers`: "problems" (other problems of the same kind and other samples of them, same trained models), "seeds"
    (other training seeds, same problems), or "problems and seeds".

    `rough`: fewer than `FEW` problems vary (as Kish counts them), or there are only two seeds (three
    against an untrained model); a 95 % interval then contains the truth in 90 to 100 % of cases (results/coverage.md).
    """

    low: float
    high: float
    level: float
    covers: str
    rough: bool = False

    @property
    def mark(self) -> str:
        """Printed before it in a table: "~" if it is approximate."""
        return "~" if self.rough else ""


@dataclass(frozen=True)
class Estimate:
    """A mean with all data for its interval and p-values at any level.

    Attributes:
        mean: the estimate: the mean over blocks of the mean over problems.
        blocks: a pair for each benchmark: (one value a problem [P], the sampling noise in their mean that belongs to
            the seeds' part).
        seeds: the variance of `mean` that comes from training seeds, on `df` degrees of freedom; df = 0: not covered.
        bounds: of a single value, see `over_problems`.
        moderated: the same variance and its degrees of freedom by `moderated_seeds`; None: unbounded, or not covered.
    """

    mean: float
    blocks: tuple[tuple[Vector, float], ...]
    seeds: float
    df: float
    bounds: Bounds
    moderated: tuple[float, float] | None = None

    @property
    def covers(self) -> str:
        return BOTH if self.df else PROBLEMS

    def interval(self, level: float = 0.95) -> Interval | None:
        """None if a benchmark has one problem, or if unbounded values are all equal: no spread is known."""
        if self._count < 2:
            return None
        half = self._half((1 + level) / 2)
        return bent(self.mean, half, self._count, level, self.bounds, self.covers, self._rough)

    def p_value(self, null: float = 0.0) -> float | None:
        """Two-sided p-value of "the mean is `null`": 1 - the largest confidence level whose interval excludes it.

        To 1e-9; p <= 0.05 and "the 95 % interval excludes `null`" are therefore the same statement.
        """
        low, high = 0.0, 1.0
        for _ in range(30):
            p = (low + high) / 2
            interval = self.interval(1 - p)
            if interval is None:
                return None
            low, high = (p, high) if interval.low <= null <= interval.high else (low, p)
        return (low + high) / 2

    def p_above(self, null: float) -> float | None:
        """One-sided p-value of "the mean is at most `null`"; small if it is above."""
        p = self.p_value(null)
        return None if p is None else p / 2 if self.mean > null else 1 - p / 2

    def p_below(self, null: float) -> float | None:
        """One-sided p-value of "the mean is at least `null`"; small if it is below."""
        p = self.p_value(null)
        return None if p is None else p / 2 if self.mean < null else 1 - p / 2

    @cached_property
    def _count(self) -> int:
        return min(len(values) for values, _ in self.blocks)

    @cached_property
    def _rough(self) -> bool:
        return 0 < self.df <= 1 or any(effective_number(values, self.bounds) < FEW for values, _ in self.blocks)

    @cached_property
    def _parts(self) -> list[tuple[float, float, float]]:
        return [_problems_part(values, noise, self.bounds) for values, noise in self.blocks]

    def _half(self, quantile: float) -> float:
        normal = t_quantile(quantile, math.inf)
        halves = [
            min(t_quantile(quantile, df) * error if df else 0.0, normal * most) for error, df, most in self._parts
        ]
        alone = math.hypot(*halves) / len(halves)
        if not self.df:
            return alone
        own = float(joined_half(alone, self.seeds, self.df, quantile))
        return own if self.moderated is None else min(own, float(joined_half(alone, *self.moderated, quantile)))


def estimate(tables: Sequence[ArrayLike], *, bounds: Bounds = (0.0, 1.0)) -> Estimate:
    """The mean over training seeds and problems of one benchmark, or of several with equal weights.

    In the crossed model value = mean + problem + seed + noise the mean's variance is (MS_problems - MS_noise) / (S P),
    the problems' part, and MS_seeds / (S P), the seeds' part with the noise in it.

    Args:
        tables: [S, P] for each benchmark, every seed on every problem, the same seeds in the same order in all. With
            S = 1 the interval covers problems only.
        bounds: as for `over_problems`.
    Raises:
        ValueError: as `over_problems`, for matrices; or the numbers of seeds differ.
    """
    return joined_estimate([[checked(table, 2, 0.95, bounds) for table in tables]], bounds)


def joined_estimate(sides: Sequence[Sequence[Vector]], bounds: Bounds) -> Estimate:
    """The first side, minus the second if there are two; each side has one table [S, P] for each benchmark. A side with
    one row has no seeds' part.

    Args:
        bounds: of a value of the result (of a difference if there are two sides). The seeds' part has the degrees of
            freedom of `seeds_df` for two sides, S - 1 for one.
    """
    if any(len(table) != len(side[0]) for side in sides for table in side):
        raise ValueError("every benchmark must have the same training seeds")
    signs = (1.0, -1.0)
    blocks = []
    for number in range(len(sides[0])):
        tables = [side[number] for side in sides]
        values = sum(sign * table.mean(axis=0) for sign, table in zip(signs, tables, strict=False))
        blocks.append((np.asarray(values), sum(map(_noise_of_mean, tables))))
    seeded = [np.mean([table.mean(axis=1) for table in side], axis=0) for side in sides if len(side[0]) > 1]
    variances, counts = [_variance_of_mean(means) for means in seeded], [len(means) for means in seeded]
    df = 0.0 if not seeded else float(seeds_df(variances, counts)) if len(sides) == 2 else counts[0] - 1.0
    moderated = None
    if bounds is not None and df:
        width = bounds[1] if len(sides) == 2 else bounds[1] - bounds[0]  # of the values, not of their difference
        variance, its_df = moderated_seeds(variances, counts, width)
        moderated = float(variance), float(its_df)
    mean = float(np.mean([values.mean() for values, _ in blocks]))
    return Estimate(mean, tuple(blocks), sum(variances), df, bounds, moderated)


def seeds_df(variances: Sequence[ArrayLike], counts: Sequence[int]) -> Vector:
    """Degrees of freedom of the seeds' part of a difference: Welch's, from half of each side's, at most min(S) - 1.

    Two sides whose seeds vary alike have min(S) - 1: these never give too narrow an interval with normal seeds,
    whatever the two variances are (Mickey and Brown, Ann. Math. Stat. 37, 1966), and a skew of both sides cancels. The
    more one side carries the variance, as a trained arm does against a base model, the less cancels: a few seeds of a
    skewed or bimodal distribution may be close together by chance, and Student's t on S - 1 then errs in up to a
    quarter of cases (results/coverage.md). One side alone therefore has (S - 1) / 2.

    Args:
        variances: of the mean, one for each side with several seeds, [...]. counts: their numbers of seeds, S >= 2.
    """
    sides = [np.asarray(variance, dtype=float) for variance in variances]
    most = (min(counts) - 1.0) / (1 if len(sides) > 1 else 2)  # even if no side varies
    return np.minimum(most, _welch(sides, [(count - 1) / 2 for count in counts]))


def _welch(variances: Sequence[Vector], degrees: Sequence[float]) -> Vector:
    """Degrees of freedom of a sum of estimated variances; infinite if all are 0."""
    squares = np.asarray(sum(v**2 / df for v, df in zip(variances, degrees, strict=True)), dtype=float)
    total = np.asarray(sum(variances), dtype=float)
    return np.asarray(np.divide(total**2, squares, out=np.full_like(squares, np.inf), where=squares > 0))


def moderated_seeds(variances: Sequence[ArrayLike], counts: Sequence[int], width: float = 1.0) -> tuple[Vector, Vector]:
    """The seeds' part of a mean with the declared prior: its variance and degrees of freedom.

    Each side's spread s^2 of S seeds becomes (d0 s0^2 + (S - 1) s^2) / (d0 + S - 1) on d0 + S - 1 degrees of freedom;
    the sum of both has Welch's, and at most those of the side with fewer seeds.

    Args:
        variances: of the mean, s^2 / S, one for each side with several seeds, [...]. counts: their S. width: of the
            values' bounds.
    """
    known = [SEED_DF + count - 1 for count in counts]
    sides = [
        (SEED_DF * (SEED_SD * width) ** 2 / count + (count - 1) * np.asarray(variance, dtype=float)) / df
        for variance, count, df in zip(variances, counts, known, strict=True)
    ]
    return np.asarray(sum(sides)), np.minimum(min(known), _welch(sides, known))


def over_problems(values: ArrayLike, *, level: float = 0.95, bounds: Bounds = (0.0, 1.0)) -> Interval | None:
    """The interval for the mean of one value per problem: clustered by problem, as each problem counts once.

    If all problems have the same value, the data show no spread, but an interval of zero width would be wrong. At most
    a share 1 - (alpha/2)^(1/P) of all problems can then have another value (Clopper and Pearson, 1934, for none seen in
    P); at each end of the interval these lie at a bound. All wrong on 30 problems gives [0, 0.116].

    Args:
        values: [P].
        bounds: the least and the greatest value possible; None for values without limits (plain t interval). Bounds
            that are symmetric about zero are those of differences, where nothing differs at zero.
    Returns:
        None for a single problem, and for unbounded values that are all equal: no spread is known.
    Raises:
        ValueError: not a vector, empty, a value not finite or out of bounds, or level outside (0, 1).
    """
    per_problem = checked(values, 1, level, bounds)
    return joined_estimate([[per_problem[None, :]]], bounds).interval(level)


def over_seeds(values: ArrayLike, *, level: float = 0.95, bounds: Bounds = (0.0, 1.0)) -> Interval | None:
    """The interval for the mean over training seeds on these fixed problems, from one mean per seed.

    Seeds that happen to be equal (at most 3 % of simulated cases with S = 3 and 16 % with S = 2; 30 problems, one
    sample each) have no interval. With S = 2 it is so wide that the bounds cut it (`rough`).

    Args:
        values: [S]. bounds: as for `over_problems`.
    Returns:
        None for a single seed, and for equal seeds: so few equal values say little about their spread.
    Raises:
        ValueError: as `over_problems`.
    """
    per_seed = checked(values, 1, level, bounds)
    seeds = len(per_seed)
    if seeds < 2 or np.ptp(per_seed) == 0:
        return None
    half = t_quantile((1 + level) / 2, seeds - 1) * math.sqrt(_variance_of_mean(per_seed))
    return bent(float(per_seed.mean()), half, seeds, level, bounds, SEEDS, seeds == 2)


@lru_cache(maxsize=4096)
def t_quantile(probability: float, df: float) -> float:
    """The quantile of Student's t with df > 0 degrees of freedom, for probability < 1; the normal one for df = inf."""
    from scipy.special import ndtri, stdtrit

    return float(ndtri(probability) if math.isinf(df) else stdtrit(df, probability))


def effective_number(values: Vector, bounds: Bounds) -> float:
    """The effective number of values in a mean: (sum |v|)^2 / sum v^2, as Kish (Survey Sampling, 1965) counts weights.

    Counted from the bound that gives fewer: it is 1 if one problem of thirty is ever solved, or one ever failed.
    Differences are counted from zero; unbounded values all count. values: [P]. bounds: as for `over_problems`.
    """
    if bounds is None:
        return float(len(values))
    if _of_differences(bounds):
        return _kish(np.abs(values))
    return min(_kish(values - bounds[0]), _kish(bounds[1] - values))


def joined_half(problems: ArrayLike, seeds: ArrayLike, df: ArrayLike, quantile: float) -> Vector:
    """The half-width of a sum of two independent parts (see the module's text).

    Args:
        problems: the half-width from the problems alone, [...].
        seeds: the seeds' estimated variance of the mean, on `df` > 0 degrees of freedom, [...].
    """
    from scipy.special import stdtrit

    alone, seeds, df = (np.asarray(x, dtype=float) for x in (problems, seeds, df))
    howe = np.hypot(alone, stdtrit(df, quantile) * np.sqrt(seeds))
    if (df < 2).all():  # Satterthwaite's degrees of freedom are then unreliable, and the average covers too little
        return np.asarray(howe)
    variance = (alone / t_quantile(quantile, math.inf)) ** 2 + seeds
    share = np.divide(seeds, variance, out=np.ones_like(variance), where=variance > 0)
    df_joined = df / np.maximum(share**2, 1e-9)  # beyond 1e9 degrees of freedom, t is normal
    mixed = (howe + stdtrit(df_joined, quantile) * np.sqrt(variance)) / 2
    return np.asarray(np.where(df < 2, howe, mixed))


def _problems_part(by_problem: Vector, noise: float, bounds: Bounds) -> tuple[float, float, float]:
    """(standard error, degrees of freedom, the largest standard error possible) of the mean of [P] values.

    `noise` is the variance in it that belongs to the seeds' part. No degrees of freedom: all values are at one bound.
    """
    count = len(by_problem)
    error = math.sqrt(max(0.0, _variance_of_mean(by_problem) - noise))
    if bounds is None:
        return error, count - 1.0, math.inf
    effective = min(count - 1.0, round(effective_number(by_problem, bounds), 6))
    nothing, everything = (0.0, bounds[1]) if _of_differences(bounds) else bounds
    share = (by_problem - nothing) / (everything - nothing)
    # values of 0 or 1 with this mean have the variance m - m^2; values of -1, 0 or 1 with this mean size and, as where
    # nothing differs, mean zero have E|x|
    centre = 0.0 if _of_differences(bounds) else float(share.mean())
    most = float(np.abs(share).mean()) - centre**2
    return error, effective, (everything - nothing) * math.sqrt(max(0.0, most) / count)


def _of_differences(bounds: tuple[float, float]) -> bool:
    return bounds[0] == -bounds[1]


def _kish(values: Vector) -> float:
    squares = float(np.square(values).sum())
    return float(values.sum()) ** 2 / squares if squares > 0 else 0.0


def _variance_of_mean(values: Vector) -> float:
    return float(values.var(ddof=1)) / len(values)


def _noise_of_mean(table: Vector) -> float:
    """The part of the variance of the mean of [S, P] that comes from residual noise (neither the problem's nor the
    seed's)."""
    seeds, problems = len(table), len(table[0])
    if seeds < 2 or problems < 2:
        return 0.0
    noise = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0, keepdims=True) + table.mean()
    return float(np.square(noise).sum()) / ((seeds - 1) * (problems - 1)) / (seeds * problems)


def bent(
    mean: float, half: float, count: int, level: float, bounds: Bounds, covers: str, rough: bool
) -> Interval | None:
    """mean +- half, fitted to the bounds; by Clopper and Pearson if the data show no spread."""
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
        raise ValueError("values must be finite: exclude what was not measured")
    if bounds is not None and (array.min() < bounds[0] or array.max() > bounds[1]):
        raise ValueError(f"values must lie in {list(bounds)}, got {array.min()} to {array.max()}")
    return array
