"""How much a token pulls at the output layer: the update-size proxy G_t  (arXiv 2508.07534, Eq. 4 and A.1).

With logits z = W h, the gradient of alpha log pi(o) with respect to W is alpha (e(o) - pi) h^T, a product of two
vectors, so that its Frobenius norm is |alpha| ||e(o) - pi|| ||h||.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def output_error(log_p: Tensor, tokens: Tensor) -> Tensor:
    """||e(o) - pi||, the length of the gradient of log pi(o) with respect to the logits.

    Args:
        log_p: [..., V], log-probabilities. tokens: [...], the tokens o.
    Returns:
        [...], in [0, sqrt 2]: 0 for a token that is certain.
    """
    at = tokens.unsqueeze(-1)
    others: Tensor = log_p.exp().scatter(-1, at, 0.0).norm(dim=-1)
    own = -log_p.gather(-1, at).squeeze(-1).expm1()  # 1 - pi(o), exact where pi(o) is nearly 1
    return (own.square() + others.square()).sqrt()


def update_size(log_p: Tensor, tokens: Tensor, hidden: Tensor, alpha: Tensor | float = 1.0) -> Tensor:
    """G_t = |alpha_t| ||e(o_t) - pi|| ||h_t||  (Eq. 4).

    Args:
        log_p: [..., V]. tokens: [...]. hidden: [..., d], what the output layer reads.
        alpha: [...] or a number: the factor of log pi's gradient, see `clipped_weight`.
    """
    length: Tensor = hidden.norm(dim=-1)
    size = output_error(log_p, tokens) * length
    return size * (abs(alpha) if isinstance(alpha, float) else alpha.abs())


def clipped_weight(ratio: Tensor, advantage: Tensor, *, clip_low: float, clip_high: float) -> Tensor:
    """alpha_t: the derivative of min(r A, clip(r, 1 - low, 1 + high) A) with respect to log pi  (A.1).

    It is r A, or 0 where the clip holds; on policy (r = 1) it is A. The paper prints
    r min(A, clip(A, 1 - eps, 1 + eps)), with the advantage clipped in the ratio's place: that is no derivative of
    GRPO's objective (an advantage of 2 would count as 1.2), so we take the derivative.

    Args:
        ratio, advantage: [...], the importance ratio r and A. Returns [...].
    """
    held = ((advantage > 0) & (ratio > 1 + clip_high)) | ((advantage < 0) & (ratio < 1 - clip_low))
    return (ratio * advantage).masked_fill(held, 0.0)
