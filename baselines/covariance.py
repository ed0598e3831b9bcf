"""How much each token lowers the policy's entropy: the covariance of Clip-Cov and KL-Cov (arXiv 2505.22617)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from harness.step.batch import TokenBatch


def token_covariance(batch: TokenBatch) -> tuple[Tensor, Tensor]:
    """Cov(y_i) = (log pi(y_i) - mean log pi) * (A_i - mean A), means over the N tokens of the batch (section 4.2).

    pi is the policy being updated, as in the authors' code. A token of probability 0 under it (log-probability -inf) is
    excluded: it enters no mean and has no covariance.

    Returns:
        (covariances [N], which tokens they belong to: bool [B, T]), in row order.
    Raises:
        ValueError: log-probabilities or advantages are missing.
    """
    logp, advantages = batch.need("logp"), batch.need("advantages")
    counts = batch.mask & logp.isfinite()
    if not counts.any():
        return logp[counts], counts
    logp, advantages = logp[counts], advantages[counts]
    return (logp - logp.mean()) * (advantages - advantages.mean()), counts


def share_of(share: float, count: int) -> int:
    """max(1, floor(share * count)), as in the authors' code, 0 of nothing. The 1e-9 undoes rounding (0.29 * 100)."""
    return min(count, max(1, int(share * count + 1e-9)))
