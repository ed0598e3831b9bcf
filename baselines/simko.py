"""SimKO: correct forks share their gradient with the likeliest tokens (arXiv 2510.14807)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from harness.spec.equation import stage
from harness.spec.ranges import Count, NonNegative, Range, Share
from harness.step.loss import clipped_objective

if TYPE_CHECKING:
    from torch import Tensor

    from harness.step.likeliest import Distribution


@stage("objective")
def simko(
    logp: Tensor,
    old_logp: Tensor,
    advantages: Tensor,
    mask: Tensor,
    now: Distribution,
    *,
    low: Annotated[float, Range("[0, 1]")],
    high: NonNegative,
    likeliest: Count,
    alpha: Annotated[float, Range("[0, 1]")],
    penalty: NonNegative,
    quantile: Share,
) -> Tensor:
    """min(r A, clip(r, 1 - low, 1 + high) A), changed on forks: tokens above their response's quantile of H.

    A > 0: the gradient of r is (1 - alpha) r d log pi + alpha r mean_k d log pi_k over the `likeliest` tokens.
    A < 0: A is multiplied by `penalty` if the sampled token is the likeliest one.

    Read in CLR-Lab/SimKO at 306f4ff. Its term alpha / K sum_k sg(r / r_k) r_k has the value alpha r and this gradient,
    because r_k / sg(r_k) is 1. So the old log-probabilities of the likeliest tokens have no effect, and nothing here
    needs them. A > 0 stands for its "correct", which differ only where A is 0.

    Args:
        logp, old_logp, advantages, mask: as of every objective. now: the policy's distribution at each token.
    Returns:
        [B, T], to be maximised.
    """
    forks = mask & (now.entropies.detach() > row_quantile(now.entropies.detach(), mask, quantile))
    top = now.top_logp[..., :likeliest].mean(-1).masked_fill(~mask, 0.0)
    mixed = logp + alpha * ((top - logp) - (top - logp).detach())
    logp = mixed.where(forks & (advantages > 0), logp)
    advantages = advantages.where(~(forks & (advantages < 0) & now.is_top), penalty * advantages)
    return clipped_objective(logp, old_logp, advantages, clip_low=low, clip_high=high)


def row_quantile(values: Tensor, mask: Tensor, quantile: float) -> Tensor:
    """The quantile of each row's masked-in values, interpolated: [B, T] -> [B, 1]. A row without any gives NaN."""
    # an empty row has no fork, because nothing is above NaN
    return values.double().masked_fill(~mask, float("nan")).nanquantile(quantile, dim=1, keepdim=True)
