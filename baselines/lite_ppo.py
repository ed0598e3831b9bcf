"""Lite PPO's advantage: the group's mean, the batch's standard deviation (arXiv 2508.08221)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from baselines.grpo import scored_groups
from harness.spec.equation import stage
from harness.spec.ranges import NonNegative

if TYPE_CHECKING:
    from torch import Tensor

    from harness.step.batch import TokenBatch


@stage("advantage")
def lite_ppo(batch: TokenBatch, *, epsilon: NonNegative) -> Tensor:
    """A_i = (r_i - mean_G r) / (std_B r + epsilon), the sample deviation over all scored rewards  (arXiv 2508.08221).

    Easy and hard prompts keep their size, which a deviation of the group would blow up. Responses that could not be
    scored (NaN) get 0 and are excluded. Equal rewards give 0.

    Args:
        epsilon: >= 0, in units of the reward.
    Returns:
        [B, T], 0 on masked positions.
    """
    rewards, scored, _, mean = scored_groups(batch)
    count = scored.sum()
    centred = (rewards - rewards.sum() / count.clamp(min=1)).masked_fill(~scored, 0.0)
    deviation = ((centred**2).sum() / (count - 1).clamp(min=1)).sqrt()
    scale = (deviation + epsilon).masked_fill(deviation == 0, 1.0)
    return ((rewards - mean) / scale).masked_fill(~scored, 0.0).unsqueeze(1) * batch.mask
