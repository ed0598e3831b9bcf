"""OTB: a baseline for each token, weighted by how much gradient each response has gathered up to there
(The Optimal Token Baseline, arXiv 2602.07078)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from baselines.grpo import scored_groups
from harness.spec.equation import stage
from harness.spec.ranges import NonNegative
from harness.step.batch import TokenBatch, reads
from harness.step.segments import segment_sum

if TYPE_CHECKING:
    from torch import Tensor


@stage("advantage")
@reads("logp", "pi_squared")
def otb(batch: TokenBatch, *, epsilon: NonNegative) -> Tensor:
    """A_it = r_i - B_t, B_t = sum_G W_jt r_j / (sum_G W_jt + epsilon), W_jt = sum_{s <= t} (1 - 2 pi_js + sum_v pi_v^2)
    (arXiv 2602.07078, sums over the scored responses of the group that are at least t long).

    1 - 2 pi + sum_v pi_v^2 is the squared gradient of log pi with respect to the token's logits. B_t is 0 where a
    response has no other of its group beside it: beyond the second longest, and in a group of one (as veRL 0.9.1).
    pi is the policy being updated. veRL takes the one that sampled, the same at a rollout's first update.

    Args:
        epsilon: >= 0, added to the sum of weights. Without unit, as they are.
    Returns:
        [B, T], 0 on masked positions and for responses that could not be scored (NaN).
    """
    rewards, scored, _, _ = scored_groups(batch)
    valid = (batch.mask & scored.unsqueeze(1)).to(rewards.dtype)
    energy = ((1 - 2 * batch.need("logp").exp() + batch.need("pi_squared")) * valid).cumsum(1) * valid
    weighted, total = (segment_sum(x, batch.groups) for x in (energy * rewards.unsqueeze(1), energy))
    alone = segment_sum(valid, batch.groups) < 2
    baseline = (weighted / (total + epsilon).masked_fill(total == 0, 1.0)).masked_fill(alone, 0.0)
    return (rewards.unsqueeze(1) - baseline) * valid
