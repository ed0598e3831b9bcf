"""The KL penalty as part of each token's reward, where the loss has none (InstructGPT, arXiv 2203.02155, Eq. 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.spec.equation import stage
from harness.spec.ranges import NonNegative
from harness.step.batch import TokenBatch, reads

if TYPE_CHECKING:
    from torch import Tensor


@stage("shaping")
@reads("old_logp", "ref_logp")
def kl_in_reward(batch: TokenBatch, *, beta: NonNegative) -> Tensor:
    """A_t - beta sum_{s >= t} (log pi_old(s) - log pi_ref(s)): each token's reward loses beta
    times the k1 estimate of the KL. The sum runs from the token to the end, without discount.

    Args:
        beta: coefficient, without unit.
    Returns:
        [B, T], 0 on masked positions.
    """
    cost = batch.need("old_logp") - batch.need("ref_logp")
    to_come = cost.flip(1).cumsum(1).flip(1)
    return (batch.need("advantages") - beta * to_come) * batch.mask
