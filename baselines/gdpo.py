"""GDPO: each reward normalised by itself in its group, so that none drowns another (arXiv 2601.05242)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from baselines.grpo import group_advantages
from harness.spec.equation import requires, stage
from harness.spec.ranges import NonNegative

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from harness.spec import Experiment
    from harness.step.batch import TokenBatch


def _several_rewards(experiment: Experiment, values: Mapping[str, object]) -> str | None:
    names = experiment.rewards.value
    if len(names) < 2:
        return f"rewards: expected at least two, because each is normalised by itself, got {names}"
    changed = [u.name for u in experiment.method.rewards]
    return f"rewards: expected nothing that changes their sum, got {changed}" if changed else None


@requires(_several_rewards)
@stage("advantage")
def gdpo(batch: TokenBatch, *, epsilon: NonNegative) -> Tensor:
    """A = (S - mean_B S) / (std_B S + epsilon), S_i = sum_k w_k (r_ik - mean_G r_k) / (std_G r_k + epsilon)
    (arXiv 2601.05242, G the response's group, B all responses of the step, sample deviations).

    A response that some reward could not score (NaN) gets 0 and is excluded from all statistics.

    Args:
        epsilon: >= 0, added to every standard deviation, in its unit: the reward's, for S none.
    Returns:
        [B, T], 0 on masked positions.
    Raises:
        ValueError: the batch does not hold the single rewards.
    """
    if batch.reward_parts is None:
        raise ValueError("this method needs `reward_parts`, which this batch does not hold")
    parts = batch.reward_parts.detach()
    scored = ~parts.isnan().any(1)
    parts = parts.masked_fill(~scored.unsqueeze(1), float("nan"))
    total = parts.new_zeros(len(parts))
    for weight, part in zip(batch.reward_weights, parts.unbind(1), strict=True):
        total = total + weight * group_advantages(part, batch.groups, std="sample", epsilon=epsilon)
    whole = scored.long() * 0  # one segment: all responses of the step
    advantages = group_advantages(total.masked_fill(~scored, float("nan")), whole, std="sample", epsilon=epsilon)
    return advantages.unsqueeze(1) * batch.mask
