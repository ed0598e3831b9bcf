"""RLOO: REINFORCE with the other responses of the group as the baseline (arXiv 2402.14740)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.spec.equation import stage
from harness.step.segments import segment_sum

if TYPE_CHECKING:
    from torch import Tensor

    from harness.step.batch import TokenBatch


def scored_groups(batch: TokenBatch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(rewards, 0 where unscored; which are scored; how many of the group are; the group's mean of these), [B] each."""
    rewards = batch.rewards.detach()
    scored = ~rewards.isnan()
    rewards = rewards.nan_to_num(0.0)
    count = segment_sum(scored.to(rewards.dtype), batch.groups)
    return rewards, scored, count, segment_sum(rewards, batch.groups) / count.clamp(min=1)


@stage("advantage")
def rloo(batch: TokenBatch) -> Tensor:
    """A_i = r_i - mean of r_j over the other responses j of the group  (arXiv 2402.14740, section 3.2).

    Equal to n / (n - 1) (r_i - mean_G r). A group of one, and a response that could not be scored (NaN), get 0.

    Returns:
        [B, T], 0 on masked positions.
    """
    rewards, scored, count, mean = scored_groups(batch)
    advantages = count / (count - 1).clamp(min=1) * (rewards - mean)
    return advantages.masked_fill(~scored | (count < 2), 0.0).unsqueeze(1) * batch.mask
