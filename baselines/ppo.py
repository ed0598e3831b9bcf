"""PPO's advantage: generalised advantage estimation from a critic's values (arXiv 1506.02438)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from harness.spec.equation import stage, trains_critic
from harness.spec.ranges import Range
from harness.step.batch import TokenBatch, reads

if TYPE_CHECKING:
    from torch import Tensor


Discount = Annotated[float, Range("[0, 1]")]


def returns(batch: TokenBatch, *, gamma: Discount, lam: Discount, whiten: bool) -> Tensor:
    """The critic's target: A_t + V_t with the advantage before whitening (TD(lambda), r at gamma = lambda = 1).

    [B, T], 0 on masked positions. The target of an unscored response (NaN reward) is its own values.
    """
    return gae(batch, gamma=gamma, lam=lam, whiten=False) + batch.need("values")


@stage("advantage")
@reads("values")
@trains_critic(returns)
def gae(batch: TokenBatch, *, gamma: Discount, lam: Discount, whiten: bool) -> Tensor:
    """A_t = sum_l (gamma lambda)^l d_{t+l}, d_t = r_t + gamma V_{t+1} - V_t  (arXiv 1506.02438, section 3).

    A response gets its reward at its last token, and the value after it is 0. At gamma = lambda = 1 this is r - V_t.
    Unscored responses (NaN reward) get 0 and are excluded from the whitening.

    Args:
        gamma, lam: in [0, 1].
        whiten: subtract the mean over all tokens and divide by the square root of their sample variance + 1e-8, as
            veRL does. Equal advantages become 0.
    Returns:
        [B, T], 0 on masked positions.
    Raises:
        ValueError: gamma or lam outside [0, 1], or the values are missing.
    """
    values, rewards = batch.need("values"), batch.rewards.detach()
    valid = batch.mask & ~rewards.isnan().unsqueeze(1)
    advantages = values.new_zeros(values.shape)
    following = values.new_zeros(len(values))  # V_{t+1}, 0 behind the last token
    ahead = values.new_zeros(len(values))  # A_{t+1}
    incoming = rewards.nan_to_num(0.0).to(values.dtype)  # r_t: the reward at the last token, then 0
    for t in range(values.shape[1] - 1, -1, -1):
        counts = valid[:, t]
        advantage = incoming + gamma * following - values[:, t] + gamma * lam * ahead
        advantages[:, t] = advantage.where(counts, advantages[:, t])
        ahead = advantage.where(counts, ahead)
        following = values[:, t].where(counts, following)
        incoming = incoming.masked_fill(counts, 0.0)
    return whitened(advantages, valid) if whiten else advantages


def whitened(advantages: Tensor, valid: Tensor) -> Tensor:
    """(A - mean) / sqrt(sample variance + 1e-8) over the valid entries, 0 on the others."""
    values = advantages[valid]
    if values.numel() == 0:
        return advantages
    variance = ((values - values.mean()) ** 2).sum() / max(values.numel() - 1, 1)
    return ((advantages - values.mean()) * (variance + 1e-8).rsqrt()).masked_fill(~valid, 0.0)
