"""KL-Cov (The Entropy Mechanism of RL for Reasoning Language Models, arXiv 2505.22617)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from baselines.covariance import share_of, token_covariance
from harness.spec.equation import requires, stage
from harness.spec.ranges import NonNegative, Share
from harness.step.batch import TokenBatch, reads

if TYPE_CHECKING:
    from torch import Tensor

    from harness.spec import Experiment


def _unclipped(experiment: Experiment, values: Mapping[str, object]) -> str | None:
    for key in ("clip_low", "clip_high", "dual_clip"):
        value = getattr(experiment, key).value
        if value is not None:
            return f"{key}: expected null, because the penalty takes the place of ratio clipping, got {value}"
    return None


@requires(_unclipped)
@stage("penalties")
@reads("logp")
def kl_cov(batch: TokenBatch, *, share: Share, coefficient: NonNegative) -> Tensor:
    """`coefficient` on the share of all N tokens with the highest covariance, 0 on the others (arXiv
    2505.22617, section 4.2).

    The loss adds it times |log pi - log pi_old|, the authors' estimate of the KL divergence to the sampling policy. Its
    gradient at the first update of a rollout is that of |0|, which is 0, so the method acts from the second update on.
    Among tokens with equal covariances, the earlier in row order comes first.

    Args:
        share: in (0, 1], the paper's k, at least one token is taken. coefficient: >= 0, the paper's beta.
    Returns:
        [B, T] of the log-probabilities' dtype, 0 on masked positions.
    Raises:
        ValueError: share outside (0, 1], coefficient < 0, or log-probabilities or advantages are missing.
    """
    covariances, counts = token_covariance(batch)
    penalties = covariances.new_zeros(batch.mask.shape)
    coefficients = covariances.new_zeros(len(covariances))
    order = covariances.sort(descending=True, stable=True).indices
    coefficients[order[: share_of(share, len(covariances))]] = coefficient
    penalties[counts] = coefficients
    return penalties
