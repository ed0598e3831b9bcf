"""The group-relative advantage with mean and deviation of the other responses (NeMo-RL's GRPO)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from baselines.grpo import rewards_differ, scored_groups
from harness.spec.equation import stage
from harness.spec.ranges import NonNegative
from harness.step.segments import segment_sum

if TYPE_CHECKING:
    from torch import Tensor

    from harness.step.batch import TokenBatch


@stage("advantage")
def leave_one_out(batch: TokenBatch, *, epsilon: NonNegative) -> Tensor:
    """A_i = (r_i - mean_{j != i} r_j) / (std_{j != i} r_j + epsilon), j in i's group, std over n - 2 degrees of
    freedom, not divided where the others' rewards are all equal (github.com/NVIDIA-NeMo/RL at 7ea279a,
    nemo_rl/algorithms/utils.py, calculate_baseline_and_std_per_prompt).

    A response that could not be scored (NaN) gets 0 and is no other's peer.

    Args:
        epsilon: >= 0, in units of the reward.
    Returns:
        [B, T], 0 on masked positions. Groups whose rewards are all equal get 0 exactly.
    """
    rewards, scored, count, _ = scored_groups(batch)
    peers = (count - 1).clamp(min=1)
    mean = (segment_sum(rewards, batch.groups) - rewards) / peers
    squares = (segment_sum(rewards**2, batch.groups) - rewards**2) / peers
    variance = (squares - mean**2) * peers / (peers - 1).clamp(min=1)
    std = variance.where(variance > 1e-9 * squares, variance * 0.0).sqrt()  # below: rounding of equal rewards
    scale = (std + epsilon).where(std > 0, std * 0.0 + 1.0)
    learns = rewards_differ(rewards, scored, batch.groups)
    return ((rewards - mean) / scale).masked_fill(~learns, 0.0).unsqueeze(1) * batch.mask
