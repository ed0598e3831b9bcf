"""The needs of a difference between two methods: problems, samples and training seeds.

The model, for the share of correct samples of method m under training seed s on problem p, n samples each:

    y = mean_m + seed_ms + problem_mp + noise / sqrt(n)

All terms are normal and independent, but for the problems, which are about equally hard for both methods: only their
difference counts. Both methods are measured on the same P problems, each with its own S seeds, and the difference of
the two means has the variance

    difference^2 / P  +  2 within^2 / (n S P)  +  2 seed^2 / S

The test is that of `evals.stats.differences.paired`: with fewer than `MIN_SEEDS` seeds a side, over the problems alone
(it does not cover other seeds, and `seed_sd` has no effect). With `MIN_SEEDS` or more, over problems and seeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evals.errors import UsageError
from evals.provenance import Origin, Sourced, assumed, paper
from evals.stats.intervals import MIN_SEEDS, TINY, t_quantile

if TYPE_CHECKING:
    from evals.stats.verdict_table import VerdictTable

Vector = NDArray[np.float64]
QUANTILE = 0.975  # for a two-sided test at 5 %
MOST = 4096  # seeds. A difference that needs more is reported as out of reach


@dataclass(frozen=True)
class Spread:
    """Standard deviations, as fractions, each with its source.

    `within_sd` of single samples within a problem. `difference_sd` of the true difference of the two methods over
    problems. `seed_sd` of training seeds.

    Raises:
        UsageError: a value outside [0, 1].
    """

    within_sd: Sourced[float]
    difference_sd: Sourced[float]
    seed_sd: Sourced[float]

    def __post_init__(self) -> None:
        for name, sourced in self.sourced().items():
            value = sourced.value
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
                raise UsageError(f"{name}: expected a number from 0 to 1, got {value!r}")

    def sourced(self) -> Mapping[str, Sourced[object]]:
        """Every value with its source."""
        return dict(vars(self))

    def override(self, values: Mapping[str, float], source: str = "given by the caller") -> Spread:
        """The spread with some values replaced.

        Raises:
            UsageError: as `Spread`.
        """
        before = self.sourced()
        return replace(self, **{name: before[name].replace(v, Origin.USER, source) for name, v in values.items()})


def chance(difference: float, spread: Spread, *, problems: int, samples: int, seeds: int) -> float:
    """The power: the chance that the test resolves a true difference, at the 5 % level.

    The difference is normal, its three estimated variances (from the problems, from either side's seeds with the noise)
    are chi-square, and all are independent: the chance is integrated over the three. Exact in the normal model, except
    that the noise's own degrees of freedom, 2 (S - 1)(P - 1), are treated as infinite.

    Args:
        difference: a fraction, not 0. problems: P >= 3. samples: n >= 1. seeds: S >= 1, on either side.
    Raises:
        UsageError: a value out of these ranges.
    """
    from scipy.special import erfc, stdtrit

    _check(difference, problems, samples, seeds)
    noise = 2 * spread.within_sd.value**2 / (samples * seeds * problems)
    variance = spread.difference_sd.value**2 / problems + noise
    ratio, weight = _chi_square_over_df(problems - 1)
    half = t_quantile(QUANTILE, problems - 1) * np.sqrt(variance * ratio)
    if seeds >= MIN_SEEDS:
        half = t_quantile(QUANTILE, problems - 1) * np.sqrt(
            np.maximum(0.0, variance * ratio - noise)
        )  # noise: of seeds
        from_seeds = 2 * spread.seed_sd.value**2 / seeds
        variance += from_seeds
        side, side_weight = _chi_square_over_df(seeds - 1)
        welch = (seeds - 1) * (side[:, None] + side) ** 2 / (side[:, None] ** 2 + side**2)
        of_seeds = stdtrit(welch, QUANTILE) * np.sqrt((from_seeds + noise) / 2 * (side[:, None] + side))
        half = np.hypot(half[:, None, None], of_seeds)
        weight = weight[:, None, None] * side_weight[:, None] * side_weight
    if variance == 0:
        return 1.0
    scale = math.sqrt(2 * variance)
    resolved = 0.5 * (erfc((half - difference) / scale) + erfc((half + difference) / scale))
    return min(1.0, float(np.sum(weight * resolved)))


def seeds_needed(difference: float, spread: Spread, *, target_power: float, problems: int, samples: int) -> int | None:
    """The fewest training seeds (at least `MIN_SEEDS`, so that the interval covers them) that give that power, by
    doubling and halving. None beyond MOST."""
    if not 0 < target_power < 1:
        raise UsageError(f"power: expected a number between 0 and 1, got {target_power!r}")

    def suffice(seeds: int) -> bool:
        return chance(difference, spread, problems=problems, samples=samples, seeds=seeds) >= target_power

    low, high = MIN_SEEDS - 1, MIN_SEEDS
    while not suffice(high):
        low, high = high, 2 * high
        if low >= MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffice(middle) else (middle, high)
    return high if high <= MOST else None


def seeds_of_claim(over: str, parts: Sequence[tuple[float, Spread, int, int]], target_power: float) -> int | None:
    """The fewest training seeds that resolve the differences on several benchmarks. None beyond `MOST`.

    Args:
        over: "each", "most" (the median one), or "average": their mean, as on one benchmark with as many problems as
            the smallest has. parts: difference, spread, problems and samples of each benchmark.
    """
    if over == "average":
        fewest, k2 = min(problems for *_, problems, _ in parts), len(parts) ** 2
        within = fewest * sum(s.within_sd.value**2 / (n * problems) for _, s, problems, n in parts) / k2
        between = fewest * sum(s.difference_sd.value**2 / problems for _, s, problems, _ in parts) / k2
        pooled = parts[0][1].override({"within_sd": math.sqrt(within), "difference_sd": math.sqrt(between)})
        parts = [(sum(difference for difference, *_ in parts) / len(parts), pooled, fewest, 1)]
    needed = [d and seeds_needed(d, s, target_power=target_power, problems=p, samples=n) for d, s, p, n in parts]
    ordered = sorted(int(seeds) if seeds else MOST + 1 for seeds in needed)
    seeds = ordered[len(ordered) // 2 if over == "most" else -1]
    return seeds if seeds <= MOST else None


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


def _check(difference: float, problems: int, samples: int, seeds: int) -> None:
    if isinstance(difference, bool) or not isinstance(difference, (int, float)) or not 0 < abs(difference) < 1:
        raise UsageError(f"difference: expected a fraction such as 0.05, not 0 and within -1 to 1, got {difference!r}")
    for name, value, least in (("problems", problems, 3), ("samples", samples, 1), ("seeds", seeds, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise UsageError(f"{name}: expected a whole number of at least {least}, got {value!r}")


NO_MORE = ": no more than independent samples vary, taken as 0"
# Standard deviation in points over repeated evaluations of one checkpoint, one response a problem (arXiv 2504.07086):
# Qwen2.5-Math-7B, -Math-7B-Instruct, Qwen2.5-7B, and for AIME24 DAPO-32B.
_PUBLISHED = {
    "aime24": (30, (3.8, 3.9, 3.2, 4.0)),
    "aime25": (30, (3.9, 3.8, 3.7)),
    "amc23": (40, (5.7, 3.9, 4.9)),
    "math500": (500, (0.5, 0.1, 0.3)),
}


def default_spread(benchmark: str = "") -> Spread:
    """The published noise of a benchmark, and assumptions for the rest.

    A repeated evaluation with one response for each of P problems has the variance within^2 / P, averaged over the
    published models.
    """
    within = assumed(0.3, "nothing published on this benchmark; about the largest published, that of amc23")
    if benchmark in _PUBLISHED:
        problems, deviations = _PUBLISHED[benchmark]
        variance = problems * sum((points / 100) ** 2 for points in deviations) / len(deviations)
        source = f"one, arXiv 2504.07086: std over seeds of {len(deviations)} models, times sqrt({problems})"
        within = paper(math.sqrt(variance), source)
    return Spread(
        within,
        assumed(0.15, "stated nowhere; two methods from one base find nearly the same problems hard"),
        assumed(0.02, "stated nowhere: the published spread over seeds is of evaluations, not of trainings"),
    )


def measured_spread(table: VerdictTable, name: str, *, fallback: Spread, second: VerdictTable | None = None) -> Spread:
    """The components that a verdict table shows, by the method of moments. The others come from `fallback`, and all of
    them where the samples of each problem are alike (all incorrect, say): a zero would promise that nothing varies. A
    component that is not above the noise of independent samples is 0, and its note says so. Two methods measured with
    the same seeds have less noise than that.

    Args:
        table: of one benchmark. `seed_sd` needs three training seeds.
        name: of the table, for the source.
        second: the table of a second method, for `difference_sd`. That is the variance of the difference over the
            problems that both have, less the noise of both.
    Raises:
        UsageError: fewer than 3 problems with 2 scored samples under every seed (of both).
    """
    tables = [table] if second is None else [table, second]
    of_tables = [np.array(t.problems)[(t.scored >= 2).all(axis=0)].tolist() for t in tables]
    problems = sorted(set(of_tables[0]).intersection(*of_tables))
    if len(problems) < 3:
        ids = [set(t.problems) for t in tables]
        common = f"; of {len(ids[0])} and {len(ids[-1])} ids, {len(ids[0] & ids[-1])} are in both"
        same = "" if second is None else common
        raise UsageError(f"{name}: expected at least 3 problems with 2 scored samples each, got {len(problems)}{same}")

    means, within, cell = _moments(table, problems)
    variances = {"within_sd": min(0.25, within)}  # 0.25: a coin's, the greatest
    if len(means) >= MIN_SEEDS:
        variances["seed_sd"] = float(means.mean(axis=1).var(ddof=1)) - cell / len(problems)
    if second is not None:
        means_b, within_b, cell_b = _moments(second, problems)
        within = (within + within_b) / 2  # the mean of both, in either order
        variances["within_sd"] = min(0.25, within)
        difference = means.mean(axis=0) - means_b.mean(axis=0)
        noise = cell / len(means) + cell_b / len(means_b)
        variances["difference_sd"] = float(difference.var(ddof=1)) - noise
    components = {
        key: Sourced(math.sqrt(max(0.0, variance)), Origin.USER, f"measured on {name}{'' if variance > 0 else NO_MORE}")
        for key, variance in variances.items()
    }
    return replace(fallback, **components) if within > TINY else fallback


def _moments(table: VerdictTable, problems: Sequence[str]) -> tuple[Vector, float, float]:
    """The means [S, P] of these problems, the variance of single samples within a problem, and that of all that is
    random in a cell (with several seeds: also how a problem changes between trainings)."""
    chosen = [table.problems.index(problem) for problem in problems]
    sizes = table.scored[:, chosen]
    means = table.correct[:, chosen] / sizes
    within = float((means * (1 - means) * sizes / (sizes - 1)).mean())
    if len(means) == 1:
        return means, within, within * float((1 / sizes).mean())
    residual = means - means.mean(axis=1, keepdims=True) - means.mean(axis=0, keepdims=True) + means.mean()
    return means, within, float(np.square(residual).sum()) / ((len(means) - 1) * (len(problems) - 1))
