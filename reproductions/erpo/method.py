"""Entropy-Regulated Policy Optimization (arXiv 2603.28204): token-level advantages from entropy and progress.

All functions but `erpo` work on flat tokens, [N]: the tokens that count, of all sequences in turn. Their group (prompt)
and bucket (stage of the response) are [N] too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from harness.spec.equation import stage
from harness.spec.ranges import Count, NonNegative, Positive
from harness.step.batch import TokenBatch, reads
from harness.step.segments import segment_constant, segment_std, segment_z_score

if TYPE_CHECKING:
    from torch import Tensor


CORRECTION = {"sample": 1, "population": 0}


@stage("shaping")
@reads("entropies", "logp", "ref_logp")
def erpo(
    batch: TokenBatch,
    *,
    beta_p: Positive,
    gamma: NonNegative,
    eta: NonNegative,
    buckets: Count,
    sigma_target: Positive,
    delta: NonNegative,
    std: Literal["sample", "population"],
) -> Tensor:
    """Norm_G(A + eta Psi), Psi = W sgn(A) s~ rescaled to a standard deviation of sigma_target  (Eq. 6-10, Algorithm 1).

    Cases that the paper leaves open:

    - A group of equal rewards, or of one response: 0 exactly.
    - A response without a reward (NaN): 0, and excluded from every statistic.
    - A token whose log-ratio or entropy is not finite: Psi = 0, and excluded from the statistics of Psi.
    - A bucket of one token, or whose progress signals are all equal: s~ = 0 there. A group whose entropies are all
      equal: W = 1/2 there. A group whose W sgn(A) s~ are all equal over active tokens: Psi = 0 there.

    Args:
        beta_p: > 0, scale of the progress signal (it cancels in Eq. 9 but for delta). gamma: >= 0, steepness of the
            gate. eta: >= 0, weight of Psi. buckets: K >= 1, stages of a response. sigma_target: > 0.
        delta: >= 0. Added to every standard deviation.
        std: "sample" divides by n - 1, "population" by n, in all statistics of the equations.
    Returns:
        [B, T], 0 on masked positions. Over the tokens of a group the mean is 0 and (with delta = 0) the variance 1
        (Eq. 16).
    Raises:
        ValueError: a value is out of range, or entropies, logp, ref_logp or advantages are missing.
    """
    counted = batch.mask & ~batch.rewards.isnan().unsqueeze(1)
    correction = CORRECTION[std]
    advantages, entropies, logp, ref_logp = (
        batch.need(field)[counted].double() for field in ("advantages", "entropies", "logp", "ref_logp")
    )
    groups = batch.groups.unsqueeze(1).expand_as(counted)[counted]
    stages = bucket_of(batch.mask, buckets)[counted]
    signals = progress(logp, ref_logp, beta_p=beta_p)
    usable = entropies.isfinite() & signals.isfinite()
    gates = gate(entropies[usable], groups[usable], gamma=gamma, delta=delta, correction=correction)
    scores = bucket_scores(
        signals[usable], groups[usable], stages[usable], buckets=buckets, delta=delta, correction=correction
    )
    anchored = gates * advantages[usable].sign() * scores
    psi = advantages.new_zeros(advantages.shape)
    psi[usable] = rescaled(
        anchored,
        advantages[usable] != 0,
        groups[usable],
        sigma_target=sigma_target,
        delta=delta,
        correction=correction,
    )
    final = segment_z_score(advantages + eta * psi, groups, correction=correction, epsilon=delta)
    shaped = batch.need("advantages") * 0
    shaped[counted] = final.to(shaped.dtype)
    return shaped


def progress(logp: Tensor, ref_logp: Tensor, *, beta_p: float) -> Tensor:
    """s = beta_p (log pi - log pi_ref)  (Eq. 7). [N] -> [N]. Not finite where either is not."""
    return beta_p * (logp - ref_logp)


def gate(entropies: Tensor, groups: Tensor, *, gamma: float, delta: float, correction: int) -> Tensor:
    """W = sigmoid(gamma (H - mean_G H) / (std_G H + delta))  (Eq. 8). [N] -> [N], in [0, 1].

    Eq. 8 calls mean and deviation "moving". Algorithm 1 and the text take them over the group, as here.
    """
    return (gamma * segment_z_score(entropies, groups, correction=correction, epsilon=delta)).sigmoid()


def bucket_of(mask: Tensor, buckets: int) -> Tensor:
    """k = floor(tau K), tau = t / |o|, t counted from 1  (section 4.3, Algorithm 1), at most K - 1. [B, T] int64.

    The last token has tau = 1, past the last bucket, so it belongs to the last one. Masked positions have no meaning.
    """
    position = mask.cumsum(1)
    return (position * buckets // mask.sum(1, keepdim=True).clamp(min=1)).clamp(max=buckets - 1)


def bucket_scores(
    signals: Tensor, groups: Tensor, stages: Tensor, *, buckets: int, delta: float, correction: int
) -> Tensor:
    """s~ = (s - mean) / (std + delta) over the tokens of one group in one bucket  (Eq. 9). [N] -> [N]."""
    return segment_z_score(signals, groups * buckets + stages, correction=correction, epsilon=delta)


def rescaled(
    values: Tensor, active: Tensor, groups: Tensor, *, sigma_target: float, delta: float, correction: int
) -> Tensor:
    """Psi = sigma_target x / (std(x_active) + delta), x = W sgn(A) s~  (Eq. 10), per group. [N] -> [N].

    The paper does not say which tokens are active: here those of responses with A != 0, because only they have an x.
    The others get 0. So does a whole group whose active x are all equal, because it has no deviation to rescale.
    """
    psi = values.new_zeros(values.shape)
    active_values, ids = values[active], groups[active]
    constant = segment_constant(active_values, ids)
    scale = (segment_std(active_values, ids, correction=correction) + delta).masked_fill(constant, 1.0)
    psi[active] = (sigma_target * active_values / scale).masked_fill(constant, 0.0)
    return psi
