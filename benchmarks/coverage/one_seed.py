"""One training seed: how often metrics of k distinguish two checkpoints, compared with an exact test; by simulation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage.seeds import Vector
from evals.stats.differences import paired
from evals.stats.verdict_table import pass_at_k

TITLE = "One seed: the metrics of k, and one rule for p and interval"
METRICS = ("avg@8", "pass@8", "maj@8")
PERMUTATIONS = 400
Counts = NDArray[np.int64]


class Resolved(NamedTuple):
    """Shares with p <= 5 %, by the rule and by the exact test; how often the rule's interval and p-value disagree."""

    rule: float
    exact: float
    disagree: int


def resolved(metric: str, problems: int, samples: int, shape: tuple[float, float], lift: float, runs: int) -> Resolved:
    """Two checkpoints; the second has every logit `lift` higher. There are three kinds of incorrect answers.

    The exact test permutes the samples of a problem between the two checkpoints (exchangeable if they are equal) and
    counts half of the ties (mid-p).

    Args:
        shape: of the Beta distribution of the problems' rates.
    """
    rng = np.random.default_rng([12, problems, samples, round(10 * sum(shape)), len(metric), round(10 * lift)])
    rule, exact, disagree = 0, 0, 0
    for _ in range(runs):
        rates = rng.beta(*shape, problems).clip(1e-9, 1 - 1e-9)
        other = 1 / (1 + (1 - rates) / rates * np.exp(-lift))
        a, b = _answers(rng, other, samples), _answers(rng, rates, samples)
        result = paired(_value(metric, a, samples), _value(metric, b, samples))
        assert result.interval is not None and result.p_value is not None
        apart = not result.interval.low <= 0 <= result.interval.high
        rule += result.p_value <= 0.05
        disagree += (result.p_value <= 0.05) is not apart
        both = a + b
        seen = abs(float((_value(metric, a, samples) - _value(metric, b, samples)).sum()))
        first = _exchanged(rng, both, samples)
        drawn = np.abs((_value(metric, first, samples) - _value(metric, both - first, samples)).sum(axis=-1))
        exact += float((drawn > seen + 1e-9).mean() + (np.abs(drawn - seen) <= 1e-9).mean() / 2) <= 0.05
    return Resolved(rule / runs, exact / runs, disagree)


def _answers(rng: np.random.Generator, rates: Vector, samples: int) -> Counts:
    """[P, 4]: how many samples of each problem are correct, and of three incorrect answers."""
    shares = np.stack([rates, *(kind * (1 - rates) for kind in (0.6, 0.3, 0.1))], axis=-1)
    return np.asarray(rng.multinomial(samples, shares))


def _exchanged(rng: np.random.Generator, both: Counts, samples: int) -> Counts:
    """[permutations, P, 4]: the first checkpoint's samples, chosen again from those of both."""
    left = np.broadcast_to(both, (PERMUTATIONS, *both.shape)).copy()
    chosen, need = np.zeros_like(left), np.full(left.shape[:2], samples)
    for kind in range(left.shape[-1]):
        others = left[..., kind + 1 :].sum(axis=-1)
        chosen[..., kind] = rng.hypergeometric(left[..., kind], others, need)
        need = need - chosen[..., kind]
    return chosen


def _value(metric: str, answers: Counts, samples: int) -> Vector:
    """The metric of every problem from its counts of answers, [..., P]."""
    correct = answers[..., 0]
    if metric == "pass@8":
        return np.array([pass_at_k(samples, c, 8) for c in range(samples + 1)])[correct]
    if metric == "maj@8":  # all 8 samples vote; ties share
        most = answers.max(axis=-1)
        return np.where(correct == most, 1 / (answers == most[..., None]).sum(axis=-1), 0.0)
    return np.asarray(correct / samples)


def section(runs: int) -> Iterator[str]:
    """Of results/coverage.md."""
    yield (
        f"\nTwo checkpoints on the same problems of Beta difficulty, {runs} simulated pairs a case. "
        "Percent with p <= 0.05: the rule (t over problems, the p-value by inversion of the interval) / "
        "an exact test that exchanges the samples of each problem between the two (mid-p, which needs "
        "equal distributions and gives no interval). The last column counts pairs where the rule's "
        "p-value and interval disagree.\n"
    )
    yield "| problems | samples | Beta | metric | equal checkpoints | one logit apart | disagree |"
    yield "|---:|---:|---|---|---:|---:|---:|"
    for problems in (30, 83):
        for samples, shape in ((8, (0.3, 0.7)), (8, (1.0, 1.0)), (16, (0.3, 0.7))):
            for metric in METRICS[: 3 if samples == 8 else 2]:
                same, apart = (resolved(metric, problems, samples, shape, lift, runs) for lift in (0.0, 1.0))
                cells = [f"{100 * t.rule:.1f} / {100 * t.exact:.1f}" for t in (same, apart)]
                beta = f"{shape[0]:g}, {shape[1]:g}"
                counts = same.disagree + apart.disagree
                yield f"| {problems} | {samples} | {beta} | {metric} | {cells[0]} | {cells[1]} | {counts} |"
