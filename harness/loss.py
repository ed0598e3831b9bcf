"""The policy-gradient loss, one equation a function. Both backends train with these.

loss = - sum over tokens of  c * w * (objective - beta * KL)

where c are the aggregation coefficients, w a method's weights, and the objective the clipped surrogate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from torch import Tensor

Aggregation = Literal["sequence_mean", "token_mean", "fixed_length"]


def clipped_objective(
    logp: Tensor,
    old_logp: Tensor,
    advantages: Tensor,
    *,
    clip_low: float,
    clip_high: float,
    dual_clip: float | None = None,
) -> Tensor:
    """min(r A, clip(r, 1 - clip_low, 1 + clip_high) A), r = exp(logp - old_logp)  (PPO, arXiv 1707.06347, Eq. 7).

    `dual_clip` c > 1 also bounds the term from below by c A where A < 0 (arXiv 1912.09729, Eq. 5).

    Args:
        logp, old_logp, advantages: [B, T]; the gradient flows through `logp` alone.
    Returns:
        [B, T], to be maximised.
    """
    ratio = (logp - old_logp.detach()).exp()
    advantages = advantages.detach()
    surrogate = (ratio * advantages).minimum(ratio.clamp(1 - clip_low, 1 + clip_high) * advantages)
    if dual_clip is None:
        return surrogate
    return surrogate.where(advantages >= 0, surrogate.maximum(dual_clip * advantages))


def k3(logp: Tensor, ref_logp: Tensor) -> Tensor:
    """KL(policy || reference), estimated per token: exp(d) - d - 1, d = ref_logp - logp  (arXiv 2402.03300, Eq. 4).

    Args:
        logp, ref_logp: [B, T]. Returns [B, T], >= 0, in nats.
    """
    difference = ref_logp.detach() - logp
    return difference.exp() - difference - 1


def aggregation_coefficients(mask: Tensor, aggregation: Aggregation, *, max_tokens: int) -> Tensor:
    """How much each token counts in the loss, [B, T]; 0 on masked positions.

    sequence_mean: 1 / (B |o_i|), the mean over tokens, then over sequences (GRPO, arXiv 2402.03300, Eq. 3).
    token_mean: 1 / sum_i |o_i|, the mean over all tokens (DAPO, arXiv 2503.14476, Eq. 8).
    fixed_length: 1 / (B max_tokens), a constant for every token (Dr. GRPO, arXiv 2503.20783).
    """
    if aggregation not in get_args(Aggregation):
        raise ValueError(f"aggregation: expected one of {get_args(Aggregation)}, got {aggregation!r}")
    lengths = mask.sum(1, keepdim=True)
    if aggregation == "sequence_mean":
        return mask / (mask.shape[0] * lengths.clamp(min=1))
    if aggregation == "token_mean":
        return mask / lengths.sum().clamp(min=1)
    return mask / float(mask.shape[0] * max_tokens)


def policy_loss(
    logp: Tensor,
    old_logp: Tensor,
    advantages: Tensor,
    token_weights: Tensor,
    *,
    clip_low: float,
    clip_high: float,
    dual_clip: float | None = None,
    ref_logp: Tensor | None = None,
    kl_beta: float = 0.0,
) -> Tensor:
    """- sum of token_weights * (clipped objective - kl_beta * k3). A scalar.

    Args:
        token_weights: [B, T], aggregation coefficients times the method's weights; they multiply the KL term too, as
            EGSW's Eq. 10 (arXiv 2503.22456) asks. Positions of weight 0 never matter, whatever they hold.
        ref_logp: needed when kl_beta > 0.
    """
    term = clipped_objective(logp, old_logp, advantages, clip_low=clip_low, clip_high=clip_high, dual_clip=dual_clip)
    if kl_beta:
        if ref_logp is None:
            raise ValueError(f"kl_beta={kl_beta} needs ref_logp, which is missing")
        term = term - kl_beta * k3(logp, ref_logp)
    # where() and not a product: 0 * inf on a padded position would be NaN
    return -(token_weights * term.where(token_weights != 0, term.new_zeros(()))).sum()
