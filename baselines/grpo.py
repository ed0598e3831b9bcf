"""GRPO: the group-relative advantage (arXiv 2402.03300)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from harness.spec.equation import stage
from harness.spec.ranges import NonNegative
from harness.step.segments import segment_max, segment_sum

if TYPE_CHECKING:
    from torch import Tensor

    from harness.step.batch import TokenBatch


def scored_groups(batch: TokenBatch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(rewards, 0 where unscored; which are scored; how many of the group are; the group's mean of these), [B] each."""
    return scored_means(batch.rewards, batch.groups)


def scored_means(rewards: Tensor, groups: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`scored_groups` of rewards [B] in groups [B]."""
    rewards = rewards.detach()
    scored = ~rewards.isnan()
    rewards = rewards.nan_to_num(0.0)
    count = segment_sum(scored.to(rewards.dtype), groups)
    return rewards, scored, count, segment_sum(rewards, groups) / count.clamp(min=1)


def rewards_differ(rewards: Tensor, scored: Tensor, groups: Tensor) -> Tensor:
    """[B], bool: scored, in a group whose scored rewards are not all equal. The extremes are compared, because rounding
    in the mean would leave a tiny standard deviation to divide by."""
    top = segment_max(rewards.masked_fill(~scored, float("-inf")), groups)
    bottom = -segment_max((-rewards).masked_fill(~scored, float("-inf")), groups)
    return scored & (top > bottom)


@stage("advantage")
def grpo(batch: TokenBatch, *, std: Literal["sample", "population", "none"], epsilon: NonNegative) -> Tensor:
    """A_i = (r_i - mean_G r) / (std_G r + epsilon), the same on every token of i  (arXiv 2402.03300, section 4.1.2).

    Unscored responses (NaN reward) are excluded from the statistics and get advantage 0.
    A group whose rewards are all equal, and a group of one, get 0 exactly.

    Args:
        std: "sample" divides by n - 1 (TRL and veRL), "population" by n, "none" leaves the scale (Dr. GRPO).
        epsilon: >= 0. Added to the standard deviation.
    Returns:
        [B, T], 0 on masked positions.
    Raises:
        ValueError: epsilon < 0.
    """
    return group_advantages(batch.rewards, batch.groups, std=std, epsilon=epsilon).unsqueeze(1) * batch.mask


def group_advantages(
    rewards: Tensor, groups: Tensor, *, std: Literal["sample", "population", "none"], epsilon: float
) -> Tensor:
    """`grpo` of rewards [B] in groups [B], a value a response."""
    rewards, scored, count, mean = scored_means(rewards, groups)
    centred = (rewards - mean) * scored
    if std == "none":
        scale = centred.new_ones(centred.shape)
    else:
        degrees = count - 1 if std == "sample" else count
        scale = (segment_sum(centred**2, groups) / degrees.clamp(min=1)).sqrt() + epsilon
    learns = rewards_differ(rewards, scored, groups)
    return (centred / scale.masked_fill(~learns, 1.0)).masked_fill(~learns, 0.0)
