"""Soft overlong punishment (DAPO, arXiv 2503.14476): a response that comes near the length limit loses reward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.spec.equation import stage

if TYPE_CHECKING:
    from torch import Tensor

    from harness.step.batch import TokenBatch


@stage("rewards")
def overlong(batch: TokenBatch, *, max_length: int, buffer: int, penalty: float) -> Tensor:
    """r + penalty * R_length  (arXiv 2503.14476, Eq. 13), where over the length |y|

    R_length = 0 up to max_length - buffer, then (max_length - buffer - |y|) / buffer, and -1 from max_length on.

    Args:
        max_length, buffer: tokens, 0 < buffer <= max_length; the paper's L_max and L_cache.
        penalty: >= 0; the paper has 1.
    Returns:
        [B]; NaN where the reward is NaN (the response was not scored).
    Raises:
        ValueError: a value is outside these ranges.
    """
    if not 0 < buffer <= max_length:
        raise ValueError(f"buffer: expected in (0, max_length={max_length}], got {buffer}")
    if penalty < 0:
        raise ValueError(f"penalty: expected >= 0, got {penalty}")
    over = (batch.mask.sum(1) - (max_length - buffer)).clamp(min=0, max=buffer)
    return batch.rewards.detach() - penalty * over / buffer
