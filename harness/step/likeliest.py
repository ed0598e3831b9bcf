"""The tokens that an objective sees beyond the sampled ones: the policy's likeliest tokens, with gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Distribution:
    """The policy's next-token distribution at each token of a response, at the rollout temperature.

    Args:
        entropies: [B, T], nats. top_logp: [B, T, K], log-probabilities of the K likeliest tokens, the largest first.
        is_top: bool [B, T], whether the sampled token is the likeliest.
    """

    entropies: Tensor
    top_logp: Tensor
    is_top: Tensor


def likeliest_tokens(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Log-probabilities of the likeliest tokens, with gradient, and the likeliest token.

    Args:
        logits: [..., V].
    Returns:
        [..., count], the largest first, and [...].
    """
    logits = logits.float()
    top = logits.topk(count, dim=-1)
    return top.values - logits.logsumexp(-1, keepdim=True), top.indices[..., 0]
