"""The inputs of a power calculation: published noise, a measured run, or an assumption."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from evals.provenance import Origin, Sourced, assumed, paper
from evals.stats.intervals import Vector
from evals.stats.power import Spread
from evals.stats.verdict_table import VerdictTable

# Mean and standard deviation in points over repeated evaluations of one checkpoint, one response a problem (arXiv
# 2504.07086): Qwen2.5-Math-7B, -Math-7B-Instruct, Qwen2.5-7B, and for AIME24 DAPO-32B.
_PUBLISHED = {
    "aime24": (30, ((20.7, 3.8), (15.7, 3.9), (8.0, 3.2), (43.0, 4.0))),
    "aime25": (30, ((8.7, 3.9), (10.7, 3.8), (3.7, 3.7))),
    "amc23": (40, ((56.2, 5.7), (67.0, 3.9), (35.8, 4.9))),
    "math500": (500, ((64.3, 0.5), (82.9, 0.1), (59.7, 0.3))),
}
_SOURCE = "arXiv 2504.07086, mean and std over seeds"


def default_spread(benchmark: str | None) -> Spread:
    """The published noise of a benchmark, and assumptions for the rest.

    A repeated evaluation with one response for each of P problems has the variance within^2 / P; one sample, correct at
    the mean rate r, has r (1 - r) = within^2 + between^2. Averages over the published models.
    """
    correlation = assumed(0.9, "stated nowhere; methods trained from one base find the same problems hard")
    interaction = assumed(0.0, "stated nowhere; 0 is the most favourable")
    seed = assumed(0.02, "stated nowhere: the published spread over seeds is of evaluations, not of trainings")
    if benchmark not in _PUBLISHED:
        return Spread(
            assumed(0.3, "nothing published on this benchmark; about the largest published, that of amc23"),
            assumed(0.4, "nothing published on this benchmark; with within_sd 0.3, a mean rate of one half"),
            correlation,
            interaction,
            seed,
        )
    problems, models = _PUBLISHED[benchmark]
    within = problems * sum((std / 100) ** 2 for _, std in models) / len(models)
    single = sum(mean / 100 * (1 - mean / 100) for mean, _ in models) / len(models)
    return Spread(
        paper(math.sqrt(within), f"{_SOURCE}, {len(models)} models: sqrt({problems}) std"),
        paper(math.sqrt(single - within), f"{_SOURCE}, {len(models)} models: mean (1 - mean) less within^2"),
        correlation,
        interaction,
        seed,
    )


def measured_spread(rows: Any, name: str, *, fallback: Spread, other: Any = None) -> Spread:
    """The components that a verdict table shows, by the method of moments; the others come from `fallback`.

    Args:
        rows: a verdict table of one benchmark, as for `score`. One training seed gives neither `seed_sd` nor
            `interaction_sd`, which is then part of `between_sd`.
        name: of the table, for the source.
        other: a second method on the same problems, for the correlation.
    Raises:
        ValueError: fewer than 3 problems with 2 scored samples under every seed; or as `VerdictTable`.
    """
    moments = _moments(rows, name)
    seeds, problems = moments.means.shape
    interaction, seed, correlation = fallback.interaction_sd, fallback.seed_sd, fallback.correlation
    if seeds > 1:
        interaction = _measured(moments.cell - moments.noise, name)
        seed = _measured(float(moments.means.mean(axis=1).var(ddof=1)) - moments.cell / problems, name)
    effect = fallback.effect_sd
    if other is not None:
        correlation = _correlation(moments, _moments(other, name), name)
        effect = assumed(0.0, f"problems that differ in their effect lower the correlation, measured on {name}")
    return Spread(
        _measured(moments.within, name), _measured(moments.between, name), correlation, interaction, seed, effect
    )


@dataclass(frozen=True)
class _Moments:
    """The means [S, P] of the problems with two scored samples under every seed, and variances: `within` of single
    samples, `noise` that this leaves in a cell of `means`, `cell` all that is random in it, `between` the problems."""

    problems: tuple[str, ...]
    means: Vector
    within: float
    noise: float
    cell: float
    between: float


def _moments(rows: Any, name: str) -> _Moments:
    table = VerdictTable(rows)
    usable = np.asarray((table.scored >= 2).all(axis=0))
    problems = tuple(p for p, has_two in zip(table.problems, usable, strict=True) if has_two)
    if len(problems) < 3:
        raise ValueError(f"{name}: expected at least 3 problems with 2 scored samples each, got {len(problems)}")
    sizes = table.scored[:, usable]
    means = table.correct[:, usable] / sizes
    within = float((means * (1 - means) * sizes / (sizes - 1)).mean())
    noise = cell = within * float((1 / sizes).mean())
    if len(means) > 1:
        residual = means - means.mean(axis=1, keepdims=True) - means.mean(axis=0, keepdims=True) + means.mean()
        cell = float(np.square(residual).sum()) / ((len(means) - 1) * (len(problems) - 1))
    between = float(means.mean(axis=0).var(ddof=1)) - cell / len(means)
    return _Moments(problems, means, within, noise, cell, between)


def _correlation(a: _Moments, b: _Moments, name: str) -> Sourced[float]:
    """The covariance of the problem means (the noise of two separate runs does not bias it) over the variance between
    problems."""
    if a.problems != b.problems:
        raise ValueError(f"{name}: expected two runs on the same problems")
    if min(a.between, b.between) <= 0:
        raise ValueError(f"{name}: the problems do not differ beyond the noise, so nothing shows their correlation")
    correlation = float(np.cov(a.means.mean(axis=0), b.means.mean(axis=0))[0, 1]) / math.sqrt(a.between * b.between)
    return Sourced(max(-1.0, min(1.0, correlation)), Origin.USER, f"measured on {name}")


def _measured(variance: float, name: str) -> Sourced[float]:
    return Sourced(math.sqrt(max(0.0, variance)), Origin.USER, f"measured on {name}")
