"""From gradients to a verdict: what the code at a commit computes, and nothing about who wrote it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from torch import Tensor

from benchmarks.released.batches import Drawn
from benchmarks.released.measure import EXACT, BlindBatch, Comparison, compare, cosine
from benchmarks.released.papers import Difference, Paper, gradient
from benchmarks.released.processes import CaseResult

COMPUTES = "computes the equation"
NEVER_ARRIVES = "the value never arrives"
CANNOT_RUN = "cannot be run alone"
DIFFERS = "differs"
LEAST_BATCHES = 2


@dataclass(frozen=True)
class Judged:
    """One case.

    Args:
        verdict: one of the four above, and for which batches or by what.
        comparisons: name of the batch -> the released gradient beside the paper's, with the authors' forward passes.
        blind: batches on which method and baseline have one gradient.
        difference: what explains the batches that differ, or None if nothing does, or none differs.
        passes: the smallest cosine between the released gradients of one and of several forward passes, or None if the
            case has one way to cut a step.
    """

    verdict: str
    comparisons: Mapping[str, Comparison] = field(default_factory=dict)
    blind: Sequence[str] = ()
    difference: Difference | None = None
    passes: float | None = None


def judge(result: CaseResult, paper: Paper, batches: Sequence[Drawn], passes: Sequence[int]) -> Judged:
    """Compare each released gradient with the paper's on the same batch."""
    if result.error:
        return Judged(f"{CANNOT_RUN}: {result.error.strip().splitlines()[-1]}")
    if result.called:
        return Judged(f"{CANNOT_RUN}: its update step calls what is not installed ({', '.join(result.called)})")
    comparisons: dict[str, Comparison] = {}
    blind = []
    for drawn in batches:
        released = result.gradients[drawn.name, passes[0]]
        try:
            comparisons[drawn.name] = compare(released, gradient(paper.method, drawn), gradient(paper.baseline, drawn))
        except BlindBatch:
            blind.append(drawn.name)
    if len(comparisons) < LEAST_BATCHES:
        raise ValueError(f"{len(comparisons)} batches tell the method from its baseline. Expected {LEAST_BATCHES}")
    differing = [drawn for drawn in batches if drawn.name in comparisons and not comparisons[drawn.name].computes]
    difference = _explanation(result, paper, differing, passes[0]) if differing else None
    verdict = _verdict(comparisons, [drawn.name for drawn in differing], difference)
    return Judged(verdict, comparisons, tuple(blind), difference, _cut(result, batches, passes))


def _explanation(result: CaseResult, paper: Paper, differing: Sequence[Drawn], passes: int) -> Difference | None:
    for difference in paper.differences:
        if all(_explains(difference, result.gradients[d.name, passes], paper, d) for d in differing):
            return difference
    return None


def _explains(difference: Difference, released: Tensor, paper: Paper, drawn: Drawn) -> bool:
    changed = gradient(difference.loss, drawn)
    size = float((gradient(paper.method, drawn) - gradient(paper.baseline, drawn)).norm())
    return float((released - changed).norm()) < EXACT * size


def _verdict(comparisons: Mapping[str, Comparison], differing: Sequence[str], difference: Difference | None) -> str:
    if not differing:
        return COMPUTES
    if all(abs(c.presence) < EXACT and abs(c.residual - 1) < EXACT for c in comparisons.values()):
        return NEVER_ARRIVES
    by = difference.says if difference else "what, is not known"
    if len(differing) == len(comparisons):
        return f"{DIFFERS}: {by}"
    return f"{COMPUTES}, except on {len(differing)} of {len(comparisons)} batches ({', '.join(differing)}): {by}"


def _cut(result: CaseResult, batches: Sequence[Drawn], passes: Sequence[int]) -> float | None:
    if len(passes) < 2:
        return None
    first, second = passes[:2]
    return min(cosine(result.gradients[d.name, first], result.gradients[d.name, second]) for d in batches)
