"""Corrections for a sampler, such as vLLM, whose probabilities differ slightly from the trainer's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from harness.spec.equation import relates, stage
from harness.spec.ranges import NonNegative, Positive
from harness.step.batch import TokenBatch, reads

if TYPE_CHECKING:
    from torch import Tensor


def _bounds_in_order(values: Mapping[str, Any]) -> str | None:
    if values["low"] <= values["high"]:
        return None
    return f"low: expected at most high={values['high']}, got {values['low']}"


def log_ratios(batch: TokenBatch) -> Tensor:
    """log(pi_old / sampler), [B, T], 0 on masked positions and where the sampler gave no probability (NaN)."""
    return (batch.need("old_logp") - batch.need("rollout_logp")).nan_to_num(nan=0.0)


@relates(_bounds_in_order)
@stage("gates")
@reads("old_logp", "rollout_logp")
def rollout_correction(
    batch: TokenBatch,
    *,
    level: Literal["token", "sequence"],
    outside: Literal["truncate", "mask"],
    low: NonNegative,
    high: Positive,
) -> Tensor:
    """w = pi_old / sampler of each token, or of each response, on the policy gradient. The KL term keeps weight 1.

    Without bounds, sequence weights make the gradient that of samples from pi_old itself. A bound trades bias for
    variance. The same as TRL's `vllm_importance_sampling_mode` (token_truncate, token_mask, sequence_truncate,
    sequence_mask) and veRL's `rollout_correction.rollout_is`. "token" with "mask" and two bounds is IcePop (arXiv
    2510.18855).

    Args:
        level: "sequence" multiplies the ratios of all tokens of a response.
        outside: weights outside [low, high] (without unit) become the nearer bound, or (mask) 0.
    Returns:
        [B, T], >= 0, 0 on masked positions.
    """
    gap = log_ratios(batch)
    if level == "sequence":
        gap = gap.sum(1, keepdim=True).expand(gap.shape)
    weights = gap.exp()
    inside = (weights >= low) & (weights <= high)
    bounded = weights.clamp(low, high) if outside == "truncate" else weights * inside
    return bounded * batch.mask


@relates(_bounds_in_order)
@stage("gates")
@reads("old_logp", "rollout_logp")
def rollout_rejection(
    batch: TokenBatch, *, statistic: Literal["geometric_mean", "k3"], low: NonNegative, high: Positive
) -> Tensor:
    """1 on responses whose sampler is near the trainer, 0 on the others, without weights.

    Args:
        statistic: of a response's log-ratios d = log(pi_old / sampler): "geometric_mean" exp(mean d), 1 where both
            agree (veRL's seq_mean_k1 with the bounds 1 / high and 1 / low). "k3" mean(e^d - 1 - d), nats, 0 where
            both agree (seq_mean_k3)
        low, high: the response is kept if its statistic lies in [low, high].
    Returns:
        [B, T], 0 on masked positions.
    """
    gap = log_ratios(batch)
    values = gap if statistic == "geometric_mean" else gap.exp() - 1 - gap
    mean = values.sum(1, keepdim=True) / batch.mask.sum(1, keepdim=True).clamp(min=1)
    if statistic == "geometric_mean":
        mean = mean.exp()
    return ((mean >= low) & (mean <= high) & batch.mask).to(gap.dtype)
