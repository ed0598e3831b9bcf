"""How often a verdict is false: equal methods called different, gaps missed; by simulation."""

from __future__ import annotations

import numpy as np

from benchmarks.coverage.seeds import seed_effects, true_rates
from evals.stats.differences import holm, over_seeds_difference, paired, word
from evals.stats.prediction import come_back, repeat


def false_verdicts(seeds: int, deviation: float, shape: str, runs: int, *, untrained: bool = False) -> float:
    """How often a method is called higher or lower than itself on one of three benchmarks (48 problems, 16 samples).

    The benchmarks share the seed effects, as they share one training. `untrained`: the other side is a model without
    seeds, with the trained model's mean rates over seeds: a base model that training did not change.
    """
    rng = np.random.default_rng([5, seeds, round(1000 * deviation), len(shape), untrained])
    rates = [np.linspace(low, high, 48) for low, high in ((0.5, 0.95), (0.3, 0.9), (0.1, 0.6))]
    base = [true_rates(rate, deviation, shape) for rate in rates]
    wrong = 0
    for _ in range(runs):
        sides = []
        for trained in (True, not untrained):
            if not trained:
                sides.append([rng.binomial(16, rate, (1, 48)) / 16 for rate in base])
                continue
            effect = deviation * seed_effects(shape, rng, (seeds, 1))
            sides.append([rng.binomial(16, np.clip(rate + effect, 0, 1), (seeds, 48)) / 16 for rate in rates])
        results = [paired(a, b, trained=(True, not untrained)) for a, b in zip(*sides, strict=True)]
        adjusted = holm([r.p_value for r in results])
        words = [word(r.difference, p, None, r.seeds_covered) for r, p in zip(results, adjusted, strict=True)]
        wrong += any(w in ("higher", "lower") for w in words)
    return wrong / runs


def comebacks(
    seeds: int, paper_seeds: int, *, gap: float, margin: float, runs: int, shape: str = "normal"
) -> dict[str, float]:
    """The share of each answer of `come_back`: 100 problems, 8 samples, seeds that differ by 1.5 points.

    gap: how much higher the paper's true score is than ours. shape: of the seeds' effects.
    """
    rng = np.random.default_rng([6, seeds, paper_seeds, round(1000 * gap), len(shape)])
    answers = dict.fromkeys(("comes back", "does not come back", "cannot tell"), 0)
    rates = np.linspace(0.2, 0.8, 100)
    for _ in range(runs):
        sides = []
        for count, extra in ((seeds, 0.0), (paper_seeds, gap)):
            effect = extra + 0.015 * seed_effects(shape, rng, (count, 1))
            sides.append(rng.binomial(8, np.clip(rates + effect, 0, 1), (count, 100)) / 8)
        ours, theirs = sides
        of = repeat(ours, trained=True, samples=8, paper_samples=8, paper_seeds=paper_seeds)
        answers[come_back(float(theirs.mean()), of, margin).answer] += 1
    return {answer: count / runs for answer, count in answers.items()}


def equal_within(seeds: int, gap: float, margin: float, runs: int) -> float:
    """How often two methods, truly `gap` apart, are called equal within the margin (100 problems, 8 samples)."""
    rng = np.random.default_rng([7, seeds, round(1000 * gap)])
    rates = np.linspace(0.2, 0.8, 100)
    equal = 0
    for _ in range(runs):
        a, b = (
            rng.binomial(8, rates + extra + 0.01 * rng.standard_normal((seeds, 1)), (seeds, 100)) / 8
            for extra in (gap, 0.0)
        )
        p = paired(a, b, margin=margin).p_equal
        equal += p is not None and p <= 0.05
    return equal / runs


def lopsided(seeds: tuple[int, int], ratio: float, shape: str, runs: int) -> tuple[float, float]:
    """How often equal means over seeds alone differ at 5 %: one comparison, no problems, no correction.

    Args:
        seeds: on either side. ratio: of the second side's deviation to the first's; 0: an untrained model.
    Returns:
        The share by `over_seeds_difference`, and by Student's t on the smaller number of seeds less one.
    """
    from scipy.special import stdtrit

    rng = np.random.default_rng([10, *seeds, round(100 * ratio), len(shape)])
    wrong, by_student = 0, 0
    for _ in range(runs):
        a, b = seed_effects(shape, rng, (seeds[0],)), ratio * seed_effects(shape, rng, (seeds[1],))
        p = over_seeds_difference(a, b if ratio else 0 * a, paired_by_seed=not ratio).p_value
        wrong += p is not None and p <= 0.05
        error = np.sqrt(a.var(ddof=1) / len(a) + (b.var(ddof=1) / len(b) if ratio else 0.0))
        df = (min(seeds) if ratio else seeds[0]) - 1
        by_student += bool(abs(a.mean() - b.mean()) > stdtrit(df, 0.975) * error)
    return wrong / runs, by_student / runs
