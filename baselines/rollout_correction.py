"""Importance weights for a sampler, such as vLLM, whose probabilities differ slightly from the trainer's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from harness.spec.equation import stage
from harness.spec.ranges import Positive
from harness.step.batch import reads

if TYPE_CHECKING:
    from torch import Tensor

    from harness.step.batch import TokenBatch


@stage("gates")
@reads("old_logp", "rollout_logp")
def rollout_correction(
    batch: TokenBatch, *, level: Literal["token", "sequence"], above: Literal["truncate", "mask"], threshold: Positive
) -> Tensor:
    """w = pi_old / sampler of each token, or of each response, on the policy gradient; the KL term keeps weight 1.

    Without a bound, sequence weights make the gradient that of samples from pi_old itself; a bound trades bias for
    variance. The same as TRL's `vllm_importance_sampling_mode` (token_truncate, token_mask, sequence_truncate,
    sequence_mask) and veRL's `rollout_correction.rollout_is`.

    Args:
        level: "sequence" multiplies the ratios of all tokens of a response.
        above: weights above `threshold` become the threshold, or (mask) 0.
    Returns:
        [B, T], >= 0; 0 on masked positions. A token without a probability of the sampler (NaN) counts as ratio 1.
    """
    gap = (batch.need("old_logp") - batch.need("rollout_logp")).nan_to_num(nan=0.0)
    if level == "sequence":
        gap = gap.sum(1, keepdim=True).expand(gap.shape)
    weights = gap.exp()
    bounded = weights.clamp(max=threshold) if above == "truncate" else weights * (weights <= threshold)
    return bounded * batch.mask
