"""CE-GPPO: tokens that PPO clips keep a bounded gradient (Gradient-Preserving Clipping, arXiv 2509.20712)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.spec.equation import stage
from harness.spec.ranges import NonNegative

if TYPE_CHECKING:
    from torch import Tensor


@stage("objective")
def ce_gppo(
    logp: Tensor,
    old_logp: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    low: NonNegative,
    high: NonNegative,
    beta1: NonNegative,
    beta2: NonNegative,
) -> Tensor:
    """F A r / sg(r): F = beta1 (1 - low) where r < 1 - low and A < 0, beta2 (1 + high) where r > 1 + high and A > 0,
    else r  (arXiv 2509.20712 v5, Eq. 8 and 10).

    PPO gives the tokens of the first two cases no gradient, as both betas of 0 do. GPPO (arXiv 2508.07629) has 1 and 1.

    Returns:
        [B, T], to be maximised. The gradient is F A that of log pi.
    """
    ratio = (logp - old_logp).detach().exp()
    below, above = (ratio < 1 - low) & (advantages < 0), (ratio > 1 + high) & (advantages > 0)
    weight = ratio.masked_fill(below, beta1 * (1 - low)).masked_fill(above, beta2 * (1 + high))
    return weight * advantages * (logp - logp.detach()).exp()
