"""DPPO: a bound on the divergence of the policy, not on a token's ratio (arXiv 2602.04879, February 2026)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from harness.spec.equation import stage
from harness.spec.ranges import NonNegative, Positive

if TYPE_CHECKING:
    from torch import Tensor


@stage("objective")
def dppo(
    logp: Tensor,
    old_logp: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    divergence: Literal["binary_tv", "binary_kl"],
    low: NonNegative,
    high: NonNegative,
    truncate: Positive,
) -> Tensor:
    """M sg(min(r, truncate)) A log pi, r = pi / pi_old, with M = 0 on tokens whose update would leave the trust region.

    A token leaves it where its probability has moved in the direction of its advantage by a divergence above `high`
    (A > 0) or `low` (A <= 0). The divergence is of the two-way distribution (this token, any other): total variation
    |p - p_old|, or KL(p_old || p). As the authors' code (core_algos of veRL): log pi carries the gradient.

    Returns:
        [B, T], to be maximised.
    """
    weight = (logp - old_logp).detach().exp().clamp(max=truncate)
    p, old_p = logp.detach().exp(), old_logp.exp()
    if divergence == "binary_tv":
        moved = (p - old_p).abs()
    else:
        rest = ((1 - old_p + 1e-8) / (1 - p + 1e-8)).log()
        moved = old_p * (old_logp - logp.detach()) + (1 - old_p) * rest
    up = advantages > 0
    leaves = up & (p > old_p) & (moved > high) | ~up & (p < old_p) & (moved > low)
    return weight * advantages * logp * ~leaves
