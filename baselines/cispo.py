"""CISPO: clip the importance weight, keep the gradient of every token (MiniMax-M1, arXiv 2506.13585)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.spec.equation import stage
from harness.spec.ranges import NonNegative

if TYPE_CHECKING:
    from torch import Tensor


@stage("objective")
def cispo(
    logp: Tensor, old_logp: Tensor, advantages: Tensor, mask: Tensor, *, low: NonNegative | None, high: NonNegative
) -> Tensor:
    """sg(clip(r, 1 - low, 1 + high)) A log pi, r = pi / pi_old  (arXiv 2506.13585).

    Args:
        low: None does not bound the weight from below (the paper's own setting).
    Returns:
        [B, T], to be maximised. The gradient flows through log pi alone.
    """
    weight = (logp - old_logp).detach().exp().clamp(None if low is None else 1 - low, 1 + high)
    return weight * advantages * logp
