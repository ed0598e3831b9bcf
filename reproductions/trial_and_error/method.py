"""Advantage shaping by perplexity and by position (From Trial-and-Error to Improvement, arXiv 2508.07534)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from harness.spec.equation import requires, stage
from harness.spec.ranges import Count, Index, NonNegative
from harness.step.batch import TokenBatch, reads

if TYPE_CHECKING:
    from torch import Tensor

    from harness.spec import Experiment

Statistics = Literal["as_printed", "as_released"]
RELEASED_FACTORS = (0.8, 1.2)
RELEASED_LEAST_STD = 1e-6


@stage("shaping")
@reads("old_logp")
def ppl_advantage(batch: TokenBatch, *, alpha: NonNegative, sign: Literal[-1, 1], statistics: Statistics) -> Tensor:
    """A (1 + sign alpha w), w the z-score of the response's log PPL within its prompt group  (Eq. 7 and 11).

    The log-probabilities are those of the sampling policy: the perplexity is that of a response when it was sampled, so
    all updates on one rollout use the same weight (as in the released code).

    Args:
        alpha: >= 0. sign: -1 favours fluent responses (Eq. 11), 1 the others (the opposite scheme of section 3.2.3).
        statistics: "as_printed" takes mean and sample standard deviation of the group, as Eq. 10 does for rewards. With
            alpha |w| < 1, so for every group of n if alpha < sqrt(n) / (n - 1), A keeps its sign. "as_released" takes
            those of the released code, see `standardised`, and clamps the factor to [0.8, 1.2]. A keeps its sign.
    Returns:
        [B, T], 0 on masked positions. A is unchanged in a group of one, if all perplexities are equal, and for a
        response whose log PPL is not finite (an empty one, or one with a token of probability 0), which is excluded
        from the statistics.
    Raises:
        ValueError: a value is out of range, or old_logp or advantages are missing.
    """
    advantages = batch.need("advantages")
    factors = 1 + sign * alpha * log_ppl_scores(batch, statistics)
    if statistics == "as_released":
        factors = factors.clamp(*RELEASED_FACTORS)
    return advantages * factors.to(advantages.dtype).unsqueeze(1) * batch.mask


def log_ppl_scores(batch: TokenBatch, statistics: Statistics) -> Tensor:
    """w of Eq. 7, [B], float64, 0 where the log PPL is not finite."""
    log_ppl = -batch.need("old_logp").double().sum(1) / batch.mask.sum(1)
    finite = log_ppl.isfinite()
    scores = log_ppl.new_zeros(log_ppl.shape)
    for group in set(batch.groups.tolist()):
        members = (batch.groups == group) & finite
        if members.any():
            scores[members] = standardised(log_ppl[members], statistics)
    return scores


def standardised(values: Tensor, statistics: Statistics) -> Tensor:
    """(x - mean) / std of one group's values, [n] -> [n], 0 where all are equal.

    as_printed: the sample standard deviation (Eq. 7 says just "standard deviation").
    as_released: mean and population standard deviation of the values inside Tukey's fences (not more than 1.5
        interquartile ranges outside the quartiles). A deviation of at most 1e-6 counts as 1.
    """
    kept = values
    if statistics == "as_released":
        low, high = values.quantile(0.25), values.quantile(0.75)
        reach = 1.5 * (high - low)
        kept = values[(values >= low - reach) & (values <= high + reach)]
    if kept.max() == kept.min():  # compare the extremes: rounding in the mean would leave a tiny std to divide by
        return values - kept[0]
    if statistics == "as_printed":
        return (values - kept.mean()) / kept.std(correction=1)
    std = kept.std(correction=0)
    return (values - kept.mean()) / (std if std > RELEASED_LEAST_STD else 1.0)


def _opens(experiment: Experiment, values: Mapping[str, Any]) -> str | None:
    steps, first = experiment.max_steps.value, values["first_step"]
    if steps is not None and first >= steps:
        return f"first_step: expected < max_steps={steps}, or the bonus is never added, got {first}"
    return None


@requires(_opens)
@stage("shaping")
def position_advantage(
    batch: TokenBatch,
    *,
    gamma: NonNegative,
    d: float,
    m: float,
    n: float,
    bound: NonNegative | None,
    first_step: Index,
    steps: Count | None,
) -> Tensor:
    """A + sign(A) b, b = gamma sigmoid(d r), r = m (l - n), l the relative position of the token  (Eq. 8 and 12).

    The paper prints n = -0.5. Then r is in [m / 2, 3 m / 2). With m = 15 the sigmoid is never below 0.9994, so the
    bonus is nearly constant. The released code has n = 0.5 and caps b at |A| / 2. Then the bonus rises from 0 to gamma
    around the middle of the response.

    Args:
        gamma: >= 0. d: 1 favours late tokens, -1 early ones. m, n: scale and shift of the position.
        bound: b is at most bound |A|. None does not bound it (as printed).
        first_step, steps: the bonus is added for `steps` optimiser steps from `first_step` on, counted from 0. None: to
            the end. Outside, the advantages stay as they are.
    Returns:
        [B, T], of the sign of A, 0 on masked positions. l = t / |o| with t counted from 0, as in the released code, so
        the only token of a response of length 1 is at its start.
    Raises:
        ValueError: a value is out of range, or advantages are missing.
    """
    advantages = batch.need("advantages")
    last = None if steps is None else first_step + steps
    if batch.step < first_step or (last is not None and batch.step >= last):
        return advantages
    bonus = gamma * (d * m * (relative_positions(batch.mask, like=advantages) - n)).sigmoid()
    if bound is not None:
        bonus = bonus.minimum(bound * advantages.abs())
    return (advantages + advantages.sign() * bonus) * batch.mask


def relative_positions(mask: Tensor, *, like: Tensor) -> Tensor:
    """t / |o|, t counted from 0 over the tokens that count: [B, T] in [0, 1), 0 where masked. Dtype of `like`."""
    before = (mask.cumsum(1) - 1).to(like.dtype)
    return (before / mask.sum(1, keepdim=True).clamp(min=1)) * mask
