"""GSPO: the importance ratio of a whole sequence (Group Sequence Policy Optimization, arXiv 2507.18071)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.spec.equation import stage
from harness.spec.ranges import NonNegative

if TYPE_CHECKING:
    from torch import Tensor


@stage("objective")
def gspo(
    logp: Tensor, old_logp: Tensor, advantages: Tensor, mask: Tensor, *, low: NonNegative, high: NonNegative
) -> Tensor:
    """min(s A, clip(s, 1 - low, 1 + high) A), s_i = (pi(y_i) / pi_old(y_i))^(1 / |y_i|)  (arXiv 2507.18071, Eq. 5).

    In the token form (the paper's GSPO-token) the value on every token is s_i, and the gradient flows through the
    token's own log-probability, so advantages may differ within a response. With one advantage a response, value and
    gradient are those of Eq. 5 ("sequence_mean") or of LUSPO, arXiv 2602.05261 ("sequence_sum").

    Returns:
        [B, T], to be maximised.
    """
    lengths = mask.sum(1, keepdim=True).clamp(min=1)
    sequence = (((logp - old_logp) * mask).sum(1, keepdim=True) / lengths).detach()
    ratio = (sequence + logp - logp.detach()).exp()
    return (ratio * advantages).minimum(ratio.clamp(1 - low, 1 + high) * advantages)
