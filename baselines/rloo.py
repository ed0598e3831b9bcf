"""RLOO: REINFORCE with the other responses of the group as the baseline (arXiv 2402.14740)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from baselines.grpo import scored_groups
from harness.spec.equation import stage

if TYPE_CHECKING:
    from torch import Tensor

    from harness.step.batch import TokenBatch


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
