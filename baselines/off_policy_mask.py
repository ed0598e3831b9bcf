"""Off-policy sequence masking (DeepSeek-V3.2, arXiv 2512.02556): drop bad responses that the policy has left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.spec.equation import stage
from harness.spec.ranges import NonNegative
from harness.step.batch import TokenBatch, reads

if TYPE_CHECKING:
    from torch import Tensor


@stage("gates")
@reads("logp", "old_logp")
def off_policy_mask(batch: TokenBatch, *, threshold: NonNegative) -> Tensor:
    """0 on tokens with A < 0 of responses whose mean log(pi_old / pi) exceeds `threshold`, else 1  (arXiv 2512.02556,
    Eq. 9).

    Returns:
        [B, T], 0 on masked positions.
    """
    away = (batch.need("old_logp") - batch.need("logp")).sum(1, keepdim=True)
    away = away / batch.mask.sum(1, keepdim=True).clamp(min=1)
    dropped = (batch.need("advantages") < 0) & (away > threshold)
    return (batch.mask & ~dropped).to(away.dtype)
