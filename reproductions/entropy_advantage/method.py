"""Entropy-based advantage shaping (Reasoning with Exploration, arXiv 2506.14758)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.spec.equation import stage
from harness.step.batch import reads

if TYPE_CHECKING:
    from torch import Tensor

    from harness.step.batch import TokenBatch


@stage("shaping")
@reads("entropies")
def entropy_advantage(batch: TokenBatch, *, alpha: float, kappa: float) -> Tensor:
    """A + min(alpha H, |A| / kappa)  (arXiv 2506.14758, Eq. 4-6), H detached.

    Args:
        alpha: > 0. kappa: > 1 keeps the sign of A (the paper uses 2).
    Returns:
        [B, T], 0 on masked positions.
    Raises:
        ValueError: alpha <= 0, kappa <= 1, or entropies or advantages are missing.
    """
    if not alpha > 0:
        raise ValueError(f"alpha: expected > 0, got {alpha}")
    if not kappa > 1:
        raise ValueError(f"kappa: expected > 1 (so that the sign of A is kept), got {kappa}")
    advantages = batch.need("advantages")
    bonus = (alpha * batch.need("entropies")).minimum(advantages.abs() / kappa)
    return (advantages + bonus) * batch.mask
