"""Separate weights for correct and incorrect responses (Negative Reinforcement, arXiv 2506.01347)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.spec.equation import outcome_rewards, requires, stage

if TYPE_CHECKING:
    from torch import Tensor

    from harness.step.batch import TokenBatch


@requires(outcome_rewards)
@stage("advantage")
def weighted_reinforce(batch: TokenBatch, *, positive: float, negative: float) -> Tensor:
    """A_i = positive where response i is correct, -negative where it is incorrect  (arXiv 2506.01347).

    No baseline and no scale: a group whose responses are all incorrect still learns. Named settings of the paper:
    positive sample reinforcement (1, 0), negative sample reinforcement (0, 1), Weighted-REINFORCE (lambda, 1).

    Args:
        positive, negative: >= 0, not both 0. Correct is a reward above 0 (1 of 0 and 1, or +1 of -1 and +1).
    Returns:
        [B, T], the same on every token of a response; 0 on masked positions and where the reward is NaN.
    Raises:
        ValueError: a weight is negative, or both are 0.
    """
    if positive < 0 or negative < 0 or positive == negative == 0:
        raise ValueError(f"positive, negative: expected >= 0 and not both 0, got {positive} and {negative}")
    rewards = batch.rewards.detach()
    advantages = positive * (rewards > 0).to(rewards.dtype) - negative * (rewards <= 0).to(rewards.dtype)
    return advantages.unsqueeze(1) * batch.mask  # a NaN reward is neither above nor below
