"""GRPO: the group-relative advantage (arXiv 2402.03300)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from harness.spec.equation import stage
from harness.spec.ranges import NonNegative
from harness.step.segments import segment_max, segment_sum

if TYPE_CHECKING:
    from torch import Tensor

    from harness.step.batch import TokenBatch


@stage("advantage")
def grpo(batch: TokenBatch, *, std: Literal["sample", "population", "none"], epsilon: NonNegative) -> Tensor:
    """A_i = (r_i - mean_G r) / (std_G r + epsilon), the same on every token of i  (arXiv 2402.03300, section 4.1.2).

    Unscored responses (NaN reward) are excluded from the statistics and get advantage 0.
    A group whose rewards are all equal, and a group of one, get 0 exactly.

    Args:
        std: "sample" divides by n - 1 (TRL and veRL), "population" by n, "none" leaves the scale (Dr. GRPO).
        epsilon: >= 0; added to the standard deviation.
    Returns:
        [B, T], 0 on masked positions.
    Raises:
        ValueError: epsilon < 0.
    """
    rewards, ids = batch.rewards.detach(), batch.groups
    scored = ~rewards.isnan()
    rewards = rewards.nan_to_num(0.0)
    count = segment_sum(scored.to(rewards.dtype), ids)
    centred = (rewards - segment_sum(rewards * scored, ids) / count.clamp(min=1)) * scored
    if std == "none":
        scale = centred.new_ones(centred.shape)
    else:
        degrees = count - 1 if std == "sample" else count
        scale = (segment_sum(centred**2, ids) / degrees.clamp(min=1)).sqrt() + epsilon
    # Compare the extremes to find equal rewards: rounding in the mean would leave a tiny std to divide by.
    top = segment_max(rewards.masked_fill(~scored, float("-inf")), ids)
    bottom = -segment_max((-rewards).masked_fill(~scored, float("-inf")), ids)
    learns = scored & (top > bottom)
    advantages = (centred / scale.masked_fill(~learns, 1.0)).masked_fill(~learns, 0.0)
    return advantages.unsqueeze(1) * batch.mask
