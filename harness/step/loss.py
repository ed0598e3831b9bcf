"""The policy-gradient loss, one equation a function. Both backends train with these.

loss = - sum over tokens of  w * (g * objective - beta * KL(policy || reference) - p * |log ratio|  + b * entropy)

where the objective is the clipped surrogate or another function of the same tensors, w holds the aggregation
coefficients times a method's weights, g a method's gates, p its penalties, and b is the coefficient of entropy
regularisation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, get_args

from harness.step.segments import segment_sum

if TYPE_CHECKING:
    from torch import Tensor

Aggregation = Literal["sequence_mean", "token_mean", "fixed_length", "sequence_sum", "prompt_mean"]


def clipped_objective(
    logp: Tensor,
    old_logp: Tensor,
    advantages: Tensor,
    *,
    clip_low: float | None,
    clip_high: float | None,
    dual_clip: float | None = None,
) -> Tensor:
    """min(r A, clip(r, 1 - clip_low, 1 + clip_high) A), r = exp(logp - old_logp)  (PPO, arXiv 1707.06347, Eq. 7).

    A bound of None does not clip on that side.
    `dual_clip` c > 1 also bounds the term from below by c A where A < 0 (arXiv 1912.09729, Eq. 5).

    Args:
        logp, old_logp, advantages: [B, T]. The gradient flows through `logp` alone.
    Returns:
        [B, T], to be maximised.
    """
    ratio = (logp - old_logp.detach()).exp()
    advantages = advantages.detach()
    surrogate = ratio * advantages
    if clip_low is not None or clip_high is not None:
        low = None if clip_low is None else 1 - clip_low
        high = None if clip_high is None else 1 + clip_high
        surrogate = surrogate.minimum(ratio.clamp(low, high) * advantages)
    if dual_clip is None:
        return surrogate
    return surrogate.where(advantages >= 0, surrogate.maximum(dual_clip * advantages))


def clipped_tokens(
    logp: Tensor, old_logp: Tensor, advantages: Tensor, *, clip_low: float | None, clip_high: float | None
) -> Tensor:
    """The tokens that the clipped objective gives no gradient: bool [B, T] (a bound of None clips nothing).

    Below 1 - clip_low where A < 0, above 1 + clip_high where A > 0.
    """
    ratio = (logp - old_logp).exp()
    clipped = advantages.new_zeros(advantages.shape).bool()
    if clip_low is not None:
        clipped = clipped | (ratio < 1 - clip_low) & (advantages < 0)
    if clip_high is not None:
        clipped = clipped | (ratio > 1 + clip_high) & (advantages > 0)
    return clipped


def k3(logp: Tensor, ref_logp: Tensor) -> Tensor:
    """KL(policy || reference), estimated per token: exp(d) - d - 1, d = ref_logp - logp  (arXiv 2402.03300, Eq. 4).

    Args:
        logp, ref_logp: [B, T]. Returns [B, T], >= 0, in nats.
    """
    difference = ref_logp.detach() - logp
    return difference.exp() - difference - 1


def aggregation_coefficients(
    mask: Tensor,
    aggregation: Aggregation,
    *,
    max_tokens: int,
    counted: Tensor | None = None,
    groups: Tensor | None = None,
) -> Tensor:
    """The weight of each token in the loss, [B, T], 0 on masked positions.

    `counted` [B, T]: the tokens that the lengths |o_i| count (None: the whole mask). A sequence without any has length
    1. `groups` [B]: the prompt of each sequence. Needed for prompt_mean.

    sequence_mean: 1 / (B |o_i|), the mean over tokens, then over sequences (GRPO, arXiv 2402.03300, Eq. 3).
    token_mean: 1 / sum_i |o_i|, the mean over all tokens (DAPO, arXiv 2503.14476, Eq. 8).
    fixed_length: 1 / (B max_tokens), a constant for every token (Dr. GRPO, arXiv 2503.20783).
    sequence_sum: 1 / B, the sum over tokens, then the mean over sequences (LUSPO, arXiv 2602.05261).
    prompt_mean: 1 / (P sum_{i of the prompt} |o_i|), the mean over the tokens of each prompt, then over the P prompts
    with any token counted (ScaleRL, arXiv 2510.13786).
    """
    if aggregation not in get_args(Aggregation):
        raise ValueError(f"aggregation: expected one of {get_args(Aggregation)}, got {aggregation!r}")
    lengths = (mask if counted is None else counted).sum(1, keepdim=True)
    if aggregation == "sequence_mean":
        return mask / (mask.shape[0] * lengths.clamp(min=1))
    if aggregation == "token_mean":
        return mask / lengths.sum().clamp(min=1)
    if aggregation == "prompt_mean":
        if groups is None:
            raise ValueError("aggregation: prompt_mean needs the groups of the sequences")
        of_prompt = segment_sum(lengths, groups)
        prompts = len(set(groups[of_prompt[:, 0] > 0].tolist()))
        return mask / (max(prompts, 1) * of_prompt.clamp(min=1))
    if aggregation == "sequence_sum":
        return mask / float(mask.shape[0])
    return mask / float(mask.shape[0] * max_tokens)


def policy_loss(
    logp: Tensor,
    old_logp: Tensor,
    advantages: Tensor,
    token_weights: Tensor,
    *,
    clip_low: float | None = None,
    clip_high: float | None = None,
    dual_clip: float | None = None,
    objective: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor] | None = None,
    mask: Tensor | None = None,
    ref_logp: Tensor | None = None,
    kl_beta: float = 0.0,
    gates: Tensor | None = None,
    penalties: Tensor | None = None,
    entropies: Tensor | None = None,
    entropy_coefficient: float = 0.0,
) -> Tensor:
    """The loss at the head of this file. A scalar.

    Args:
        logp, old_logp, advantages: [B, T].
        token_weights: [B, T], aggregation coefficients times the method's weights. They multiply the KL term too, as
            EGSW's Eq. 10 (arXiv 2503.22456) asks. Positions of weight 0 never matter, whatever number or NaN stands
            there. With an objective, which may read a whole sequence, those outside the mask.
        objective: (logp, old_logp, advantages, mask) -> [B, T], to be maximised, instead of the clipped surrogate.
            `mask` [B, T] are the tokens of the responses. Needed with it.
        ref_logp: [B, T]. Needed when kl_beta > 0.
        gates: [B, T], factors >= 0, most of them 0 or 1. Tokens at 0 lose their policy gradient and keep the KL term.
        penalties: [B, T], >= 0. Coefficients of |logp - old_logp| (KL-Cov, arXiv 2505.22617).
        entropies: [B, T], with gradient. Needed when entropy_coefficient is not 0.
    """
    if objective is not None and mask is None:
        raise ValueError("an objective needs the mask, which is missing")
    # before any arithmetic: where() alone hides a NaN from the loss, and not from the gradient
    unread = token_weights == 0 if objective is None or mask is None else ~mask.bool()

    def read(values: Tensor) -> Tensor:
        return values.masked_fill(unread, 0.0)

    logp, old_logp, advantages = read(logp), read(old_logp), read(advantages)
    if objective is None:
        bounds = {"clip_low": clip_low, "clip_high": clip_high, "dual_clip": dual_clip}
        term = clipped_objective(logp, old_logp, advantages, **bounds)
    else:
        assert mask is not None
        term = objective(logp, old_logp.detach(), advantages.detach(), mask)
    if gates is not None:
        term = read(gates) * term
    if kl_beta:
        if ref_logp is None:
            raise ValueError(f"kl_beta={kl_beta} needs ref_logp, which is missing")
        term = term - kl_beta * k3(logp, read(ref_logp))
    if penalties is not None:
        term = term - read(penalties) * (logp - old_logp.detach()).abs()
    if entropy_coefficient:
        if entropies is None:
            raise ValueError(f"entropy_coefficient={entropy_coefficient} needs entropies, which are missing")
        term = term + entropy_coefficient * read(entropies)
    # where() and not a product: 0 * inf on a padded position would be NaN
    return -(token_weights * term.where(token_weights != 0, term.new_zeros(()))).sum()
