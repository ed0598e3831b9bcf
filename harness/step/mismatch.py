"""How far the sampler is from the trainer: vLLM's probabilities of its own samples differ from the trained model's.

With p the trainer's and q the sampler's probability of a sampled token, r = p / q. All means are over the tokens of a
step, which the sampler chose, so each estimates an expectation under q.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

BEYOND = 2.0  # a ratio above it, or below its inverse, counts as beyond
MISMATCH_METRICS = (
    "train/mismatch_kl",
    "train/mismatch_chi2",
    "train/mismatch_ess",
    "train/mismatch_max_logp_gap",
    "train/mismatch_share_beyond",
)


def mismatch_metrics(logp: Tensor, rollout_logp: Tensor, mask: Tensor) -> dict[str, float]:
    """MLflow name -> value, of MISMATCH_METRICS; empty without a token that the sampler gave a probability.

    kl: mean of r - 1 - log r, the k3 estimate of KL(q || p), nats. chi2: mean of r^2, minus 1.
    ess: (sum r)^2 / (n sum r^2), in (0, 1]. max_logp_gap: largest |log r|.
    share_beyond: share of tokens with r > BEYOND or r < 1 / BEYOND.

    Args:
        logp: [B, T], of the policy as it was when it sampled, by the trainer. rollout_logp: [B, T], by the sampler; NaN
            where it gave none. mask: [B, T].
    """
    gap = (logp - rollout_logp).detach().double()[mask]
    gap = gap[~gap.isnan()]
    if not gap.numel():
        return {}
    ratio = gap.exp()
    squares = (ratio**2).mean()
    values = (
        (ratio - 1 - gap).mean(),
        squares - 1,
        ratio.mean() ** 2 / squares,
        gap.abs().max(),
        ((ratio > BEYOND) | (ratio < 1 / BEYOND)).double().mean(),
    )
    return {name: value.item() for name, value in zip(MISMATCH_METRICS, values, strict=True)}
