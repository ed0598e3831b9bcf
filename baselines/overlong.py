"""Soft overlong punishment (DAPO, arXiv 2503.14476): a response that comes near the length limit loses reward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.spec.equation import relates, stage
from harness.spec.ranges import Count, NonNegative

if TYPE_CHECKING:
    from torch import Tensor

    from harness.step.batch import TokenBatch


def _buffer_fits(values: Mapping[str, Any]) -> str | None:
    buffer, limit = values["buffer"], values["max_length"]
    return None if buffer <= limit else f"buffer: expected at most max_length={limit}, got {buffer}"


@relates(_buffer_fits)
@stage("rewards")
def overlong(batch: TokenBatch, *, max_length: Count, buffer: Count, penalty: NonNegative) -> Tensor:
    """r + penalty * R_length  (arXiv 2503.14476, Eq. 13), where over the length |y|

    R_length = 0 up to max_length - buffer, then (max_length - buffer - |y|) / buffer, and -1 from max_length on.

    Args:
        max_length, buffer: tokens, 0 < buffer <= max_length. The paper's L_max and L_cache.
        penalty: >= 0. The paper has 1.
    Returns:
        [B], or NaN where the reward is NaN (the response was not scored).
    Raises:
        ValueError: a value is outside these ranges.
    """
    over = (batch.mask.sum(1) - (max_length - buffer)).clamp(min=0, max=buffer)
    return batch.rewards.detach() - penalty * over.to(batch.rewards.dtype) / buffer
