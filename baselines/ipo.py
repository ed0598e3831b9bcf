"""Policy gradients inside a symmetric trust region, with a penalty on drift: prime-rl's "ipo", and Kimi K2.5's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.spec.equation import stage
from harness.spec.ranges import NonNegative

if TYPE_CHECKING:
    from torch import Tensor


@stage("objective")
def ipo(
    logp: Tensor, old_logp: Tensor, advantages: Tensor, mask: Tensor, *, threshold: NonNegative, drift: NonNegative
) -> Tensor:
    """M r A - drift (log r)^2, M = 0 where |pi - pi_old| > threshold, else 1  (prime-rl at 559b447, ipo_loss_fn).

    DPPO's mask looks at the sign of the advantage too. The penalty is that of Kimi K2.5 (arXiv 2602.02276).

    Args:
        threshold: of the probability of the token. drift: of the penalty, without unit.
    Returns:
        [B, T], to be maximised.
    """
    stays = (logp.detach().exp() - old_logp.exp()).abs() <= threshold
    return stays * (logp - old_logp).exp() * advantages - drift * (logp - old_logp) ** 2


@stage("objective")
def kimi_k25(
    logp: Tensor,
    old_logp: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    low: NonNegative,
    high: NonNegative,
    drift: NonNegative,
) -> Tensor:
    """clip(r, 1 - low, 1 + high) A - drift (log r)^2  (Kimi K2.5, arXiv 2602.02276).

    Read in two summaries of the report, which print the same equation. A token outside the bounds has no gradient but
    that of the penalty, whatever the sign of its advantage.

    Args:
        low, high: the report's alpha is 1 - low, its beta 1 + high. drift: its tau.
    Returns:
        [B, T], to be maximised.
    """
    difference = logp - old_logp
    return difference.exp().clamp(1 - low, 1 + high) * advantages - drift * difference**2
