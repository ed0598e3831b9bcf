"""Entropy-based advantage shaping (Reasoning with Exploration, arXiv 2506.14758)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from harness.spec.equation import stage
from harness.spec.ranges import Positive, Range
from harness.step.batch import TokenBatch, reads

if TYPE_CHECKING:
    from torch import Tensor


@stage("shaping")
@reads("entropies")
def entropy_advantage(
    batch: TokenBatch, *, alpha: Positive, kappa: Annotated[float, Range("> 1", "so that the sign of A is kept")]
) -> Tensor:
    """A + min(alpha H, |A| / kappa)  (arXiv 2506.14758, Eq. 4-6), H detached.

    Args:
        alpha: > 0. kappa: > 1 keeps the sign of A (the paper uses 2).
    Returns:
        [B, T], 0 on masked positions.
    Raises:
        ValueError: a value is out of range, or entropies or advantages are missing.
    """
    advantages = batch.need("advantages")
    bonus = (alpha * batch.need("entropies")).minimum(advantages.abs() / kappa)
    return (advantages + bonus) * batch.mask
