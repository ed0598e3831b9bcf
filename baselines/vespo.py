"""VESPO: a smooth weight of the sequence's ratio instead of clipping (arXiv 2602.10693)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.spec.equation import stage
from harness.spec.ranges import NonNegative

if TYPE_CHECKING:
    from torch import Tensor


@stage("objective")
def vespo(
    logp: Tensor,
    old_logp: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    k_pos: NonNegative,
    lambda_pos: NonNegative,
    k_neg: NonNegative,
    lambda_neg: NonNegative,
) -> Tensor:
    """sg(phi(w)) A log pi, phi(w) = w^k e^(lambda (1 - w)), w = pi(y) / pi_old(y) of the whole sequence
    (arXiv 2602.10693).

    phi(1) = 1. With k = lambda that is its maximum.

    Args:
        k_pos, lambda_pos: power and decay where A >= 0, without unit. k_neg, lambda_neg: where A < 0.
    Returns:
        [B, T], to be maximised. The gradient flows through log pi alone.
    """
    log_w = ((logp - old_logp) * mask).detach().sum(1, keepdim=True)
    negative = advantages < 0
    k = advantages.new_full(advantages.shape, k_pos).masked_fill(negative, k_neg)
    decay = advantages.new_full(advantages.shape, lambda_pos).masked_fill(negative, lambda_neg)
    return (k * log_w + decay * (1 - log_w.exp())).exp() * advantages * logp
