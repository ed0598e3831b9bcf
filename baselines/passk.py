"""Pass@k training (arXiv 2508.10751): the advantage of a response inside all k-subsets of its group, in closed form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.spec.equation import outcome_rewards, requires, stage
from harness.spec.ranges import Count, NonNegative
from harness.step.segments import segment_sum

if TYPE_CHECKING:
    from torch import Tensor

    from harness.spec import Experiment
    from harness.step.batch import TokenBatch


def _fits(experiment: Experiment, values: Mapping[str, Any]) -> str | None:
    size = experiment.group_size.value
    if values["k"] > size:
        return f"k: expected at most group_size={size}, got {values['k']}"
    return outcome_rewards(experiment, values)


@requires(_fits)
@stage("advantage")
def passk(batch: TokenBatch, *, k: Count, epsilon: NonNegative) -> Tensor:
    """A = (1 - R) / (s + epsilon) if correct, else (1 - R - C(m - 1, k - 1) / C(n - 1, k - 1)) / (s + epsilon). n
    responses are given, and m are incorrect. R = 1 - C(m, k) / C(n, k), s = sqrt(R (1 - R)) (arXiv 2508.10751).

    This is the paper's analytical derivation (section 2.4): the mean of the subset's advantage over the k-subsets that
    contain a response. A subset's reward is 1 if any member is correct. R and s are its mean and standard deviation
    over all k-subsets. At k = 1 this is GRPO with the population standard deviation. The advantage is 0 in a group
    whose responses are all correct or all incorrect, or that has fewer than k incorrect ones.

    Unscored responses (NaN reward) are excluded and get 0. A group with fewer than k scored responses gets 0.

    Args:
        k: from 1 to the group size. epsilon: >= 0 (the authors' code has 1e-6).
    Returns:
        [B, T], the same on every token of a response, 0 on masked positions.
    Raises:
        ValueError: k < 1 or epsilon < 0.
    """
    rewards = batch.rewards.detach()
    scored, correct = ~rewards.isnan(), rewards > 0
    counts = segment_sum(scored.long(), batch.groups).tolist()
    incorrect = segment_sum((scored & ~correct).long(), batch.groups).tolist()
    advantages = rewards.new_tensor(
        [
            _advantage(n, m, k, epsilon, correct=is_correct) if is_scored else 0.0
            for n, m, is_correct, is_scored in zip(counts, incorrect, correct.tolist(), scored.tolist(), strict=True)
        ]
    )
    return advantages.unsqueeze(1) * batch.mask


def _advantage(n: int, m: int, k: int, epsilon: float, *, correct: bool) -> float:
    if m < k or m == n:  # every k-subset contains a correct response, or none does
        return 0.0
    missed = math.comb(m, k) / math.comb(n, k)  # 1 - R
    scale = math.sqrt(missed * (1 - missed)) + epsilon
    if correct:
        return missed / scale
    return (missed - math.comb(m - 1, k - 1) / math.comb(n - 1, k - 1)) / scale
