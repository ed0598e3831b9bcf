"""MaxRL: the gradient of the likelihood of a correct answer, not of its probability (arXiv 2602.02710)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from baselines.grpo import scored_groups
from harness.spec.equation import requires, stage
from harness.spec.ranges import NonNegative

if TYPE_CHECKING:
    from torch import Tensor

    from harness.spec import Experiment
    from harness.step.batch import TokenBatch


def _rewards_from_zero(experiment: Experiment, values: Mapping[str, object]) -> str | None:
    names = [*experiment.rewards.value, *(u.name for u in experiment.method.rewards)]
    if "signed_accuracy" in names or experiment.method.rewards:
        return f"rewards: expected rewards of at least 0, by whose mean it divides, got {names}"
    return None


@requires(_rewards_from_zero)
@stage("advantage")
def maxrl(batch: TokenBatch, *, epsilon: NonNegative) -> Tensor:
    """A_i = (r_i - mean_G r) / (mean_G r + epsilon)  (arXiv 2602.02710).

    GRPO divides by the standard deviation. The mean is the share of correct responses, so that hard prompts weigh more.
    A group without a correct response, and a response that could not be scored (NaN), get 0.

    Args:
        epsilon: >= 0, in units of the reward.
    Returns:
        [B, T], 0 on masked positions.
    """
    rewards, scored, _, mean = scored_groups(batch)
    advantages = (rewards - mean) / (mean + epsilon).masked_fill(mean == 0, 1.0)
    return advantages.masked_fill(~scored, 0.0).unsqueeze(1) * batch.mask
