"""Statistics inside segments (such as prompt groups) of the first axis: sum, moments, extremes, z-score, softmax.

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


def segment_mean(values: Tensor, ids: Tensor) -> Tensor:
    """[B, ...] -> [B, ...]: each row holds the mean over its segment."""
    return segment_sum(values, ids) / segment_sum(values.new_ones(values.shape), ids)


def segment_std(values: Tensor, ids: Tensor, *, correction: int) -> Tensor:
    """[B, ...] -> [B, ...]: each row holds the standard deviation over its segment, 0 for a segment of one.

    `correction` 1 divides by n - 1 (sample), 0 by n (population).
    """
    count = segment_sum(values.new_ones(values.shape), ids)
    squares = segment_sum((values - segment_mean(values, ids)) ** 2, ids)
    return (squares / (count - correction).clamp(min=1)).sqrt()


def segment_constant(values: Tensor, ids: Tensor) -> Tensor:
    """[B, ...] -> bool [B, ...]: whether all values of the row's segment are equal.

    Decided by the extremes: rounding in the mean would leave a tiny standard deviation to divide by.
    """
    return segment_max(values, ids) == -segment_max(-values, ids)


def segment_z_score(values: Tensor, ids: Tensor, *, correction: int, epsilon: float) -> Tensor:
    """(x - mean) / (std + epsilon) inside each segment, per column, 0 exactly where all values are equal."""
    constant = segment_constant(values, ids)
    scale = (segment_std(values, ids, correction=correction) + epsilon).masked_fill(constant, 1.0)
    return ((values - segment_mean(values, ids)) / scale).masked_fill(constant, 0.0)


def segment_softmax(scores: Tensor, valid: Tensor, ids: Tensor) -> Tensor:
    """Softmax over the valid rows of each segment, per column, 0 where not valid.

    Args:
        scores, valid: [B, C]. Valid is bool.
        ids: [B].
    """
    valid_scores = scores.masked_fill(~valid, float("-inf"))
    top = segment_max(valid_scores, ids).masked_fill(~valid, 0.0)  # a column with no valid row has no maximum
    weights = (valid_scores - top).exp().masked_fill(~valid, 0.0)
    return weights / segment_sum(weights, ids).masked_fill(~valid, 1.0)
