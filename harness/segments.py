"""Statistics inside segments (the prompt groups, say) of the first axis: sum, extremes, softmax.

`ids` is [B], int64: rows with the same id form a segment. All functions work column by column on [B, ...] values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def _count(ids: Tensor) -> int:
    return int(ids.max()) + 1 if ids.numel() else 0


def segment_sum(values: Tensor, ids: Tensor) -> Tensor:
    """[B, ...] -> [B, ...]: each row holds the sum over its segment."""
    totals = values.new_zeros((_count(ids), *values.shape[1:])).index_add_(0, ids, values)
    return totals[ids]


def segment_max(values: Tensor, ids: Tensor) -> Tensor:
    """[B, ...] -> [B, ...]: each row holds the maximum over its segment."""
    tops = values.new_full((_count(ids), *values.shape[1:]), float("-inf"))
    index = ids.reshape(-1, *(1,) * (values.dim() - 1)).expand_as(values)
    return tops.scatter_reduce_(0, index, values, "amax")[ids]


def segment_softmax(scores: Tensor, valid: Tensor, ids: Tensor) -> Tensor:
    """Softmax over the valid rows of each segment, per column; 0 where not valid.

    Args:
        scores, valid: [B, C]; valid is bool.
        ids: [B].
    """
    held = scores.masked_fill(~valid, float("-inf"))
    top = segment_max(held, ids).masked_fill(~valid, 0.0)  # a column with no valid row has no maximum
    weights = (held - top).exp().masked_fill(~valid, 0.0)
    return weights / segment_sum(weights, ids).masked_fill(~valid, 1.0)
