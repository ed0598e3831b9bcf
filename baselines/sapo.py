"""SAPO: a soft gate instead of clipping (Soft Adaptive Policy Optimization, arXiv 2511.20347)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.spec.equation import stage
from harness.spec.ranges import Positive

if TYPE_CHECKING:
    from torch import Tensor


@stage("objective")
def sapo(
    logp: Tensor, old_logp: Tensor, advantages: Tensor, mask: Tensor, *, tau_pos: Positive, tau_neg: Positive
) -> Tensor:
    """f(r) A, f(r) = 4 / tau sigmoid(tau (r - 1)), tau = tau_pos where A > 0, else tau_neg  (arXiv 2511.20347).

    At r = 1 the gradient of f is 1, that of the plain surrogate.

    Returns:
        [B, T], to be maximised.
    """
    tau = advantages.new_full(advantages.shape, tau_neg).masked_fill(advantages > 0, tau_pos)
    ratio = (logp - old_logp).exp()
    return (tau * (ratio - 1)).sigmoid() * 4 / tau * advantages
