"""FIPO: a token's advantage grows with what the update does to the tokens after it (arXiv 2603.19835, March 2026)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from harness.spec.equation import stage
from harness.spec.ranges import NonNegative, Positive, Range
from harness.step.batch import TokenBatch, reads

if TYPE_CHECKING:
    from torch import Tensor


@stage("shaping")
@reads("logp", "old_logp")
def fipo(
    batch: TokenBatch,
    *,
    half_life: Positive,
    low: Annotated[float, Range("[0, 1]")],
    high: NonNegative,
    counted: Positive | None,
    safe: Positive | None,
) -> Tensor:
    """f A, f_t = clip(exp(sum_{k >= t} gamma^(k - t) log r_k), 1 - low, 1 + high), gamma = 2^(-1 / half_life)
    (arXiv 2603.19835, "Future-KL").

    The sum leaves out tokens with r > counted. f is at most 1 on tokens with A < 0 and r > safe. Read in ms-swift at
    3602360 (docs, AdvancedResearch/FIPO.md, and grpo_trainer.py, _compute_fipo_influence), not in the paper. At a
    rollout's first update every f is 1.

    Args:
        half_life: tokens. counted, safe: ratios. None is no such bound.
    Returns:
        [B, T], 0 on masked positions.
    """
    advantages, difference = batch.need("advantages"), batch.need("logp") - batch.need("old_logp")
    ratio = difference.exp()
    if counted is not None:
        difference = difference.masked_fill(ratio > counted, 0.0)
    gamma = 2.0 ** (-1 / half_life)
    future = difference.clone()
    for t in range(difference.shape[1] - 2, -1, -1):  # powers of gamma would underflow in a long response
        future[:, t] += gamma * future[:, t + 1]
    factors = future.exp().clamp(1 - low, 1 + high)
    if safe is not None:
        factors = factors.where((advantages >= 0) | (ratio <= safe), factors.clamp(max=1.0))
    return factors * advantages
