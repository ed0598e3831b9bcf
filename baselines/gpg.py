"""GPG: the plain policy gradient, corrected for groups without a gradient (Group Policy Gradient, arXiv 2504.02546)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from baselines.grpo import rewards_differ, scored_groups
from harness.spec.equation import stage
from harness.spec.ranges import Positive

if TYPE_CHECKING:
    from torch import Tensor

    from harness.step.batch import TokenBatch


@stage("objective")
def policy_gradient(logp: Tensor, old_logp: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
    """A log pi: REINFORCE. It has no ratio, so every update of a rollout but the first is off-policy.

    Returns:
        [B, T], to be maximised.
    """
    return advantages * logp


@stage("advantage")
def gpg(batch: TokenBatch, *, scale: Positive) -> Tensor:
    """A_i = alpha (r_i - mean_G r) / scale, alpha = B / (B - M), with B responses in the batch, and M of them in groups
    with equal rewards (arXiv 2504.02546, the corrected gradient estimate).

    These M responses have no gradient: the mean over the others is kept.

    veRL 0.9.1 takes the number of rewards that are not 0 for B - M, which is another estimate (see the page of
    objectives). Responses that could not be scored (NaN) get 0 and are in neither B nor M.

    Returns:
        [B, T], 0 on masked positions.
    """
    rewards, scored, _, mean = scored_groups(batch)
    learns = rewards_differ(rewards, scored, batch.groups)
    alpha = scored.sum() / learns.sum().clamp(min=1)
    return (alpha * (rewards - mean) * learns / scale).unsqueeze(1) * batch.mask
