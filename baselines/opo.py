"""OPO: the baseline of least variance, a mean weighted by length (On-Policy RL with Optimal Reward Baseline,
arXiv 2505.23585)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from baselines.grpo import scored_groups
from harness.spec.equation import stage
from harness.step.segments import segment_sum

if TYPE_CHECKING:
    from torch import Tensor

    from harness.step.batch import TokenBatch


@stage("advantage")
def opo(batch: TokenBatch) -> Tensor:
    """A_i = r_i - sum_G |o_j| r_j / sum_G |o_j|  (arXiv 2505.23585, |o| the number of tokens).

    Derived for gradients whose squared norm is proportional to the length. A response that could not be scored (NaN)
    gets 0 and is excluded from the baseline.

    Returns:
        [B, T], 0 on masked positions. A group of one gets 0.
    """
    rewards, scored, _, _ = scored_groups(batch)
    lengths = batch.mask.sum(1).to(rewards.dtype) * scored
    baseline = segment_sum(lengths * rewards, batch.groups) / segment_sum(lengths, batch.groups).clamp(min=1)
    return (rewards - baseline).masked_fill(~scored, 0.0).unsqueeze(1) * batch.mask
