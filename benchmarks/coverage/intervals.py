"""Simulated evaluations with a known truth: how often the intervals contain it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage.seeds import seed_effects, true_rates
from evals.stats.differences import paired_interval
from evals.stats.intervals import Interval, estimate, over_problems, over_seeds

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Held:
    """One simulated case: the share of intervals that contain the truth, and the share that are `rough`."""

    share: float
    rough: float

    @property
    def labelled(self) -> bool:
        """Whether at least a quarter of the intervals say that they are rough."""
        return self.rough >= 0.25


def held(truth: float, intervals: Iterable[Interval | None]) -> Held:
    known = [i for i in intervals if i is not None]
    inside = [i.low - 1e-12 <= truth <= i.high + 1e-12 for i in known]
    return Held(float(np.mean(inside)), float(np.mean([i.rough for i in known])))


# ---- one run, problems of Beta difficulty --------------------------------------------------------------------------


def beta_problems(problems: int, samples: int, rate: float, shape: float, runs: int, seed: int = 0) -> Held:
    """Shares correct of `samples` responses on problems whose rates are Beta(rate shape, (1 - rate) shape)."""
    rng = np.random.default_rng([seed, problems, samples, round(1000 * rate), round(10 * shape)])
    rates = rng.beta(rate * shape, (1 - rate) * shape, (runs, problems))
    return held(rate, map(over_problems, rng.binomial(samples, rates) / samples))


def mixed_problems(problems: int, samples: int, hopeless: float, solved: float, runs: int, seed: int = 0) -> Held:
    """Some problems are never solved, some always, the others have uniform rates: no Beta distribution."""
    rng = np.random.default_rng([seed, problems, samples, round(1000 * hopeless), round(1000 * solved)])
    kind, rates = rng.random((runs, problems)), rng.random((runs, problems))
    rates = np.where(kind < hopeless, 0.0, np.where(kind < hopeless + solved, 1.0, rates))
    truth = solved + (1 - hopeless - solved) / 2
    return held(truth, map(over_problems, rng.binomial(samples, rates) / samples))


# ---- training seeds ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Crossed:
    """Seeds x problems: the logit of a rate is `centre` + problem (deviation 2) + seed + interaction (0.3)."""

    seeds: int
    problems: int
    samples: int
    centre: float
    seed_deviation: float  # of the logit; 0.3 is about 4 and 0.8 about 10 points

    def sample(self, rng: np.random.Generator, runs: int, problem: Vector | None = None) -> Vector:
        """[runs, S, P] shares correct; `problem` [P] or [runs, 1, P]: fixed logits of the problems."""
        if problem is None:
            problem = self.problem_logits(rng, runs)
        shape = (runs, self.seeds, self.problems)
        logits = problem + self.seed_deviation * rng.standard_normal((runs, self.seeds, 1))
        logits = logits + 0.3 * rng.standard_normal(shape)
        return rng.binomial(self.samples, 1 / (1 + np.exp(-logits))) / self.samples

    def problem_logits(self, rng: np.random.Generator, runs: int) -> Vector:
        return self.centre + 2 * rng.standard_normal((runs, 1, self.problems))

    def rate_over_problems(self) -> float:
        """The mean over problems and seeds, by quadrature."""
        return float(_logistic_normal(np.array([self.centre]), 4 + self.seed_deviation**2 + 0.09)[0])

    def rate_on(self, problem: Vector) -> float:
        """The mean over seeds on these problems."""
        return float(_logistic_normal(problem.ravel(), self.seed_deviation**2 + 0.09).mean())


def _logistic_normal(centres: Vector, variance: float) -> Vector:
    nodes, weights = np.polynomial.hermite_e.hermegauss(100)
    values = 1 / (1 + np.exp(-centres[:, None] - np.sqrt(variance) * nodes))
    return np.asarray(np.average(values, weights=weights, axis=1))


def both(case: Crossed, runs: int) -> Held:
    values = case.sample(np.random.default_rng([1, case.seeds, case.problems, case.samples]), runs)
    return held(case.rate_over_problems(), [estimate([table]).interval() for table in values])


def on_fixed_problems(case: Crossed, runs: int) -> Held:
    """`over_seeds` on ten fixed sets of problems."""
    rng = np.random.default_rng([2, case.seeds, case.problems, case.samples])
    parts = []
    for _ in range(10):
        problem = case.problem_logits(rng, 1)
        means = case.sample(rng, runs // 10, problem).mean(axis=2)
        parts.append(held(case.rate_on(problem), map(over_seeds, means)))
    return Held(float(np.mean([p.share for p in parts])), float(np.mean([p.rough for p in parts])))


# ---- two runs ------------------------------------------------------------------------------------------------------


def two_runs(
    problems: int, samples: int, rate: float, shape: float, kind: str, runs: int, lift: float = 0.7, seed: int = 0
) -> Held:
    """`paired_interval` without seeds. "same": equal rates; "other": a third of the problems sampled again for b;
    "lift": every logit of b is `lift` higher."""
    rng = np.random.default_rng([3, seed, problems, samples, round(1000 * rate), round(10 * shape), len(kind)])

    def rates(count: tuple[int, int]) -> tuple[Vector, Vector]:
        a = rng.beta(rate * shape, (1 - rate) * shape, count)
        if kind == "lift":
            odds = np.exp(lift) * a / np.maximum(1 - a, 1e-300)
            return a, odds / (1 + odds)
        if kind == "other":
            return a, np.where(rng.random(count) < 1 / 3, rng.beta(rate * shape, (1 - rate) * shape, count), a)
        return a, a

    a, b = rates((1, 400_000))
    truth = float((a - b).mean()) if kind == "lift" else 0.0
    a, b = (rng.binomial(samples, r) / samples for r in rates((runs, problems)))
    return held(truth, (paired_interval(x, y) for x, y in zip(a, b, strict=True)))


def two_runs_with_seeds(case: Crossed, runs: int) -> Held:
    """`paired_interval` of two equal methods with that many seeds each, on the same problems."""
    rng = np.random.default_rng([4, case.seeds, case.problems, case.samples])
    problem = case.problem_logits(rng, runs)
    a, b = case.sample(rng, runs, problem), case.sample(rng, runs, problem)
    return held(0.0, (paired_interval(x, y) for x, y in zip(a, b, strict=True)))


def skewed_seeds(seeds: int, shape: str, deviation: float, runs: int) -> Held:
    """`over_seeds` of one score on 48 fixed problems, 16 samples, with seed effects of this shape."""
    rng = np.random.default_rng([8, seeds, round(1000 * deviation), len(shape)])
    rates = np.linspace(0.3, 0.9, 48)
    effects = deviation * seed_effects(shape, rng, (runs, seeds, 1))
    means = (rng.binomial(16, np.clip(rates + effects, 0, 1), (runs, seeds, 48)) / 16).mean(axis=2)
    return held(float(true_rates(rates, deviation, shape).mean()), map(over_seeds, means))


def one_sample_exactly(problems: int, rates: Vector) -> Vector:
    """The exact coverage with one sample a problem, where the number of correct samples is binomial: no simulation."""
    from scipy.stats import binom

    ends = [over_problems([1.0] * correct + [0.0] * (problems - correct)) for correct in range(problems + 1)]
    inside = np.array([[i is not None and i.low <= rate <= i.high for i in ends] for rate in rates])
    return np.asarray((inside * binom.pmf(np.arange(problems + 1), problems, rates[:, None])).sum(axis=1))
