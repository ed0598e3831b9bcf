"""DRO: a policy gradient held back by a quadratic penalty (arXiv 2405.19107, Kimi k1.5, arXiv 2501.12599)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.spec.equation import stage
from harness.spec.ranges import NonNegative

if TYPE_CHECKING:
    from torch import Tensor


@stage("objective")
def dro(logp: Tensor, old_logp: Tensor, advantages: Tensor, mask: Tensor, *, beta: NonNegative) -> Tensor:
    """A log pi - beta / 2 (log(pi / pi_old))^2  (arXiv 2405.19107 and 2501.12599).

    Read in the documentation of Tinker (losses/dro) and of veRL (docs/algo/dro.md at 1dda039b), which agree.
    Both leave the advantage to the caller, and say that the paper's is another (soft) one.

    Args:
        beta: of the penalty, without unit, 0 leaves the plain policy gradient.
    Returns:
        [B, T], to be maximised.
    """
    return advantages * logp - beta / 2 * (logp - old_logp) ** 2
