"""Leave groups without a learning signal out of the loss's denominator (the zero-variance filter of ScaleRL)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from baselines.grpo import rewards_differ, scored_groups
from harness.spec.equation import stage

if TYPE_CHECKING:
    from torch import Tensor

    from harness.step.batch import TokenBatch


@stage("gates")
def informative(batch: TokenBatch) -> Tensor:
    """1 on scored responses of groups whose rewards differ, else 0  (ScaleRL, arXiv 2510.13786: zero-variance
    filtering).

    Their advantage is 0 anyway. With `denominator: kept` they do not count in the mean either.

    Returns:
        [B, T], 0 on masked positions.
    """
    rewards, scored, _, _ = scored_groups(batch)
    learns = rewards_differ(rewards, scored, batch.groups)
    return (learns.unsqueeze(1) & batch.mask).to(rewards.dtype)
