"""Confidence intervals of scores and differences, over problems and training seeds.

docs/explanation/interval-formulas.md has the formulas.

One estimator: problems and seeds each have a half-width of Student's t, and independent half-widths add as squares
(Howe, JASA 69, 1974). The ends of a score also allow for a hidden share of problems that the sample does not show
(`_score_ends`). Its coverage by simulation: results/coverage.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]
Bounds = tuple[float, float] | None  # the limits of a single value. None: unbounded.

PROBLEMS = "problems"
SEEDS = "seeds"
BOTH = "problems and seeds"
MIN_SEEDS = 3  # a trained arm with fewer is averaged, and its interval covers problems only
FEW = 5  # varying problems, or training seeds: fewer make an interval approximate
ROUGH = (
    "~: approximate, for one of three reasons. (1) Fewer than five problems vary, where each counts by how much it "
    "varies. (2) One more problem could move a difference out of its interval. (3) The interval covers fewer than five "
    "training seeds"
)
TINY = 1e-12  # differences below this are rounding


@dataclass(frozen=True)
class Interval:
    """A confidence interval for a mean.

    `covers`: "problems" (other problems of the same kind and other samples of them, same trained models), "seeds"
    (other training seeds, same problems), or "problems and seeds".

    `rough`: fewer than `FEW` problems vary, the seeds' part has fewer than `FEW` - 1 degrees of freedom, or the
    half-width of a difference is below what one problem can move it. A nominal 95 % is then 79 to 100 % for scores in
    the simulations of results/coverage.md, and less where a method collapses more rarely than its seeds show
    (`evals.stats.collapses`). A difference of pass@k near its ceiling may miss every time: few problems that the sample
    does not show then make the difference.
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
        blocks: a pair for each benchmark: (one value a problem [P], the variance of their mean that the seeds' part
            contains too). None: only seeds are covered.
        seeds: the mean of each training seed [S], of each side that is covered. None: problems only.
        bounds: of a single value, see `over_problems`.
    """

    mean: float
    blocks: tuple[tuple[Vector, float], ...]
    seeds: tuple[Vector, ...]
    bounds: Bounds

    @property
    def covers(self) -> str:
        return PROBLEMS if not self.seeds else BOTH if self.blocks else SEEDS

    def interval(self, level: float = 0.95) -> Interval | None:
        """None without a known spread: for one problem, for unbounded values that are all equal, for equal seeds.

        With differences that are -1, 0 or 1 it holds zero where McNemar's exact test does not reject it.
        """
        interval = self._by_spread(level)
        if interval is None or self.exact is None or self.exact <= 1 - level:
            return interval
        return replace(interval, low=min(interval.low, 0.0), high=max(interval.high, 0.0))

    @cached_property
    def exact(self) -> float | None:
        """The p-value of McNemar's exact test of "no difference" (Psychometrika 12, 1947, two-sided), where every
        problem's difference is -1, 0 or 1, as with one response to each on both sides, else None. Each problem that
        differs is then as likely to be 1 as -1, whatever the shares of right answers."""
        if self.bounds is None or not _of_differences(self.bounds) or self.seeds or len(self.blocks) != 1:
            return None
        from scipy.special import bdtr

        values = self.blocks[0][0] / self.bounds[1]
        if not np.isin(values, (-1.0, 0.0, 1.0)).all():
            return None
        higher, lower = int((values > 0).sum()), int((values < 0).sum())
        return min(1.0, 2 * float(bdtr(min(higher, lower), higher + lower, 0.5)))

    def _by_spread(self, level: float) -> Interval | None:
        """By the t of the values."""
        if any(len(values) < 2 for values, _ in self.blocks):
            return None
        half, rough = self._half((1 + level) / 2), self._rough
        width = abs(self.mean) if self.bounds is None else self.bounds[1] - self.bounds[0]
        if half > 1e-9 * width:  # less is rounding
            if self.bounds is None:
                return Interval(self.mean - half, self.mean + half, level, self.covers, rough)
            return Interval(*self._ends(half, (1 + level) / 2), level, self.covers, rough)
        if self.bounds is None or not self.blocks:
            return None
        unseen = 1 - ((1 - level) / 2) ** (1 / min(len(values) for values, _ in self.blocks))
        low = self.mean - unseen * (self.mean - self.bounds[0])
        return Interval(low, self.mean + unseen * (self.bounds[1] - self.mean), level, self.covers, rough)

    def p_value(self, null: float = 0.0) -> float | None:
        """Two-sided p-value of "the mean is `null`": 1 - the largest confidence level whose interval excludes it.

        To 1e-9. p <= 0.05 and "the 95 % interval excludes `null`" are therefore the same statement.
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
        """One-sided p-value of "the mean is at most `null`". Small if it is above."""
        p = self.p_value(null)
        return None if p is None else p / 2 if self.mean > null else 1 - p / 2

    def p_below(self, null: float) -> float | None:
        """One-sided p-value of "the mean is at least `null`". Small if it is below."""
        p = self.p_value(null)
        return None if p is None else p / 2 if self.mean < null else 1 - p / 2

    def _half(self, quantile: float) -> float:
        """The half-width before it is fitted to the bounds. `quantile` is 0.975 for 95 %."""
        error, df = self._seeds_part
        problems = self._half_of_problems(quantile)
        return math.hypot(problems, t_quantile(quantile, df) * error) if df else problems

    def _half_of_problems(self, quantile: float) -> float:
        """The part of `_half` that comes from the problems."""
        normal = t_quantile(quantile, math.inf)
        halves = [
            min(t_quantile(quantile, df) * error if df else 0.0, normal * most) for error, df, most in self._parts
        ]
        return math.hypot(*halves) / max(1, len(halves))

    def _ends(self, half: float, quantile: float) -> tuple[float, float]:
        """The half-width fitted to the bounds: of a score with room for a hidden share, of a difference without."""
        assert self.bounds is not None
        low, high = self.bounds
        if _of_differences(self.bounds) or not self.blocks:
            return _score_ends(self.mean, half, 0.0, low, high)
        room = sum(_room(len(values), quantile) for values, _ in self.blocks) / len(self.blocks) ** 2
        inside = max(TINY, (self.mean - low) * (high - self.mean))
        return _score_ends(self.mean, half, max(0.0, room - self._half_of_problems(quantile) ** 2 / inside), low, high)

    @cached_property
    def _parts(self) -> list[tuple[float, float, float]]:
        """For each benchmark: the standard error, its degrees of freedom (the number of problems that vary, at most P -
        1), and the standard error if every value were all or nothing."""
        parts = []
        for values, noise in self.blocks:
            error = math.sqrt(max(0.0, _variance_of_mean(values) - noise))
            df = min(len(values) - 1, varying(values, self.bounds))
            parts.append((error, df, math.sqrt(_most_variance(values, self.bounds) / len(values))))
        return parts

    @cached_property
    def _seeds_part(self) -> tuple[float, float]:
        """The standard error and Welch's degrees of freedom (Biometrika 34, 1947). S - 1 for one side, 0 without."""
        if not self.seeds:
            return 0.0, 0.0
        variances = [_variance_of_mean(side) for side in self.seeds]
        squares = sum(v**2 / (len(side) - 1) for v, side in zip(variances, self.seeds, strict=True))
        total, least = sum(variances), min(len(side) for side in self.seeds) - 1.0
        return math.sqrt(total), total**2 / squares if squares else least

    @cached_property
    def _rough(self) -> bool:
        _, df = self._seeds_part
        few = 0 < df < FEW - 1 or any(varying(values, self.bounds) < FEW for values, _ in self.blocks)
        return few or self._below_one_problem

    @property
    def _below_one_problem(self) -> bool:
        """Whether the half-width of a difference is less than what one problem can move it: a problem that the sample
        does not show moves it as far. Equal differences have an interval of their own, which is wide."""
        if self.bounds is None or not self.blocks or not _of_differences(self.bounds):
            return False
        most = self.bounds[1]
        effect_of_one = most / min(len(values) for values, _ in self.blocks) / len(self.blocks)
        return 2e-9 * most < self._half(0.975) < effect_of_one


def estimate(tables: Sequence[ArrayLike], *, bounds: Bounds = (0.0, 1.0)) -> Estimate:
    """The mean over training seeds and problems of one benchmark, or of several with equal weights.

    Args:
        tables: [S, P] for each benchmark, every seed on every problem, the same seeds in the same order in all. With
            fewer than `MIN_SEEDS` seeds the interval covers problems only.
        bounds: as for `over_problems`.
    Raises:
        ValueError: as `over_problems`, for matrices, or the numbers of seeds differ.
    """
    return joined_estimate([[checked(table, 2, bounds) for table in tables]], bounds)


def joined_estimate(sides: Sequence[Sequence[Vector]], bounds: Bounds) -> Estimate:
    """The first side, minus the second if there are two. Each side has one table [S, P] for each benchmark.

    Args:
        bounds: of a value of the result (of a difference if there are two sides).
    """
    if any(len(table) != len(side[0]) for side in sides for table in side):
        raise ValueError("every benchmark must have the same training seeds")
    blocks = []
    for tables in zip(*sides, strict=True):
        by_problem = [table.mean(axis=0) for table in tables]
        values = by_problem[0] if len(by_problem) == 1 else by_problem[0] - by_problem[1]
        blocks.append((values, sum(_noise_of_mean(table) for table in tables)))
    covered = [side for side in sides if len(side[0]) >= MIN_SEEDS]
    seeds = tuple(np.asarray(np.mean([table.mean(axis=1) for table in side], axis=0)) for side in covered)
    mean = float(np.mean([values.mean() for values, _ in blocks]))
    return Estimate(mean, tuple(blocks), seeds, bounds)


def over_problems(values: ArrayLike, *, bounds: Bounds = (0.0, 1.0)) -> Interval | None:
    """The 95 % interval for the mean of one value per problem: clustered by problem, as each problem counts once.

    If all problems have the same value, the data show no spread, but an interval of zero width would be wrong. At most
    a share 1 - (alpha/2)^(1/P) of all problems can then have another value (Clopper and Pearson, 1934, for none seen in
    P). At each end of the interval these lie at a bound. All wrong on 30 problems gives [0, 0.116].

    Args:
        values: [P].
        bounds: the least and the greatest value possible, or None for values without limits (plain t interval). Bounds
            that are symmetric about zero are those of differences, where nothing differs at zero.
    Returns:
        None for a single problem, and for unbounded values that are all equal: no spread is known.
    Raises:
        ValueError: not a vector, empty, or a value not finite or out of bounds.
    """
    per_problem = checked(values, 1, bounds)
    return joined_estimate([[per_problem[None, :]]], bounds).interval()


def over_seeds(values: ArrayLike, *, bounds: Bounds = (0.0, 1.0)) -> Interval | None:
    """The 95 % interval for the mean over training seeds on these fixed problems, from one mean per seed.

    Args:
        values: [S]. bounds: as for `over_problems`.
    Returns:
        None for fewer than `MIN_SEEDS` seeds, and for equal seeds: so few equal values say little about their spread.
    Raises:
        ValueError: as `over_problems`.
    """
    per_seed = checked(values, 1, bounds)
    if len(per_seed) < MIN_SEEDS:
        return None
    return Estimate(float(per_seed.mean()), (), (per_seed,), bounds).interval()


@lru_cache(maxsize=4096)
def t_quantile(probability: float, df: float) -> float:
    """The quantile of Student's t with df > 0 degrees of freedom, for probability < 1. The normal one for df = inf."""
    from scipy.special import ndtri, stdtrit

    return float(ndtri(probability) if math.isinf(df) else stdtrit(df, probability))


def varying(values: Vector, bounds: Bounds) -> float:
    """How many of the values [P] vary, counted by how much: (sum w)^2 / sum w^2, as Kish counts weights (Survey
    Sampling, 1965). w is the distance to the least possible value, or to the greatest, whichever gives fewer; of
    differences |d|. It is 1 if one problem of thirty is ever solved, or one ever failed, and 1 where one problem fails
    always and the others once in a million times.
    """
    if bounds is None:
        return len(values)
    low, high = bounds
    distances = [np.abs(values)] if _of_differences(bounds) else [values - low, high - values]
    return min(_effective_number(np.where(w > TINY * (high - low), w, 0.0)) for w in distances)


def _effective_number(weights: Vector) -> float:
    """The effective number for weights >= 0: N if all are equal, about 1 if one outweighs the others, 0 if all are
    zero."""
    squares = float(np.square(weights).sum())
    return round(float(weights.sum()) ** 2 / squares, 9) if squares else 0.0  # five equal ones are 5, not 4.9999999


def _most_variance(values: Vector, bounds: Bounds) -> float:
    """The variance of values with this mean that are all or nothing: m (1 - m) for 0 and 1; of differences that are
    -1, 0 or 1 with mean zero it is E|x|, as in McNemar's test."""
    if bounds is None:
        return math.inf
    low, high = bounds
    if _of_differences(bounds):
        return float(np.abs(values).mean()) * high
    return max(0.0, float((values.mean() - low) * (high - values.mean())))


def _of_differences(bounds: tuple[float, float]) -> bool:
    return bounds[0] == -bounds[1]


def _variance_of_mean(values: Vector) -> float:
    """The estimated variance of the mean of independent values [N], N >= 2."""
    return float(values.var(ddof=1)) / len(values)


def _noise_of_mean(table: Vector) -> float:
    """The part of the variance of the mean of [S, P] that comes from neither the problem nor the seed, if the seeds are
    covered: it is then in the seeds' part as well."""
    seeds, problems = table.shape
    if seeds < MIN_SEEDS or problems < 2:
        return 0.0
    noise = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0, keepdims=True) + table.mean()
    return float(np.square(noise).sum() / ((seeds - 1) * (problems - 1)) / (seeds * problems))


def _room(problems: int, quantile: float) -> float:
    """q / (1 - q) of the share q that can be hidden: none of `problems` problems shows a share q = 1 - alpha^(1/P) with
    probability alpha (Clopper and Pearson, Biometrika 26, 1934).

    alpha is that of both ends, 0.05 for 95 %: where a hidden share decides an end, the sample has little spread, and
    the other end hardly ever misses. At most z^2 / P, which is Wilson's room for values that are 0 or 1.
    """
    alpha = 2 * (1 - quantile)
    return min(math.expm1(-math.log(alpha) / problems), t_quantile(quantile, math.inf) ** 2 / problems)


def _score_ends(mean: float, half: float, hidden: float, low: float, high: float) -> tuple[float, float]:
    """The two x at which the mean is as far from x as its error under x allows. Scaled to low..high = 0..1, with the
    mean p, the half-width h and the hidden room e, and with the distance d = |p - x|:

        d^2 = h^2 x(1 - x) / (p(1 - p)) + e x d                      (lower end, x < p, the upper end is its mirror)

    Without the last term it is Wilson's equation (JASA 22, 1927): for a proportion of n, h = z sqrt(p(1 - p)/n).

    The last term: a mean x < p with the sample at hand is least unlikely if a share q = d / p of all problems has the
    value 0 and the others are like the sample, with mean p and variance s^2. Such a mixture has the variance
    (1 - q) s^2 + q(1 - q) p^2, which is x(1 - x) s^2 / (p(1 - p)), as the first term has it, plus x d V / (p(1 - p))
    with V = p(1 - p) - s^2. Divided by P and with `_room` for the hidden share, the factor of x d is
    e = room - h^2 / (p(1 - p)), at least 0. Where every value is 0 or 1, e = 0. Where all are equal to p, h = 0, and
    the lower end is p / (1 + room), which is p (1 - q).
    """
    width = high - low
    p, h = (mean - low) / width, half / width
    spread = max(TINY, p * (1 - p))
    ratio = h * h / spread

    def distance(p: float) -> float:
        """To the lower end of the mean p: the positive root of (1 + r + e) d^2 - (p(r + e) - r(1 - p)) d - h^2 = 0."""
        a, b = 1 + ratio + hidden, p * (ratio + hidden) - ratio * (1 - p)
        return (b + math.sqrt(b * b + 4 * a * h * h)) / (2 * a)

    return low + width * max(0.0, p - distance(p)), low + width * min(1.0, p + distance(1 - p))


def checked(values: ArrayLike, dimensions: int, bounds: Bounds) -> Vector:
    """The values as an array. The errors of `over_problems`."""
    array = np.asarray(values, dtype=float)
    if array.ndim != dimensions or array.size == 0:
        shape = "[P], one value per problem (or seed)" if dimensions == 1 else "[S, P], seeds x problems"
        raise ValueError(f"values must be {shape} and not empty, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("values must be finite: exclude what was not measured")
    if bounds is not None and (array.min() < bounds[0] or array.max() > bounds[1]):
        raise ValueError(f"values must lie in {list(bounds)}, got {array.min()} to {array.max()}")
    return array
