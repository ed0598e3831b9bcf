"""Separate weights for correct and incorrect responses (Negative Reinforcement, arXiv 2506.01347)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from harness.spec.equation import outcome_rewards, relates, requires, stage
from harness.spec.ranges import NonNegative

if TYPE_CHECKING:
    from torch import Tensor

    from harness.step.batch import TokenBatch


def _some_weight(values: Mapping[str, object]) -> str | None:
    return "positive: expected > 0 where negative is 0, got 0" if not any(values.values()) else None


@requires(outcome_rewards)
@relates(_some_weight)
@stage("advantage")
def weighted_reinforce(batch: TokenBatch, *, positive: NonNegative, negative: NonNegative) -> Tensor:
    """A_i = positive where response i is correct, -negative where it is incorrect  (arXiv 2506.01347).

    No baseline and no scale: a group of incorrect responses still has a gradient. The paper's named settings:
    positive sample reinforcement (1, 0), negative sample reinforcement (0, 1), Weighted-REINFORCE (lambda, 1).

    Args:
        positive, negative: >= 0, not both 0. Correct is a reward above 0 (1 of 0 and 1, or +1 of -1 and +1).
    Returns:
        [B, T], the same on every token of a response, 0 on masked positions and where the reward is NaN.
    Raises:
        ValueError: a weight is negative, or both are 0.
    """
    rewards = batch.rewards.detach()
    advantages = positive * (rewards > 0).to(rewards.dtype) - negative * (rewards <= 0).to(rewards.dtype)
    return advantages.unsqueeze(1) * batch.mask  # a NaN reward is neither above nor below
