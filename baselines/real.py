"""REAL: rewards as labels of a classification inside each group (arXiv 2602.05630, February 2026)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from baselines.grpo import rewards_differ, scored_groups
from harness.spec.equation import outcome_rewards, policy_gradient_with, requires, stage
from harness.spec.ranges import Positive
from harness.step.batch import TokenBatch, reads
from harness.step.segments import segment_max, segment_sum

if TYPE_CHECKING:
    from torch import Tensor

    from harness.spec import Experiment


def _classification(experiment: Experiment, values: Mapping[str, object]) -> str | None:
    return policy_gradient_with(experiment, "sequence_mean") or outcome_rewards(experiment, values)


@requires(_classification)
@stage("advantage")
@reads("logp", "old_logp")
def real(batch: TokenBatch, *, tau: Positive) -> Tensor:
    """A_i = +-(n / tau) e^(z_i) / (1 + sum e^z), z = -s / tau for a correct response (+), s / tau for another (-)
    (arXiv 2602.05630). s is the mean of log(pi / pi_old) over the tokens of a response. n is the group's size. The sum
    is over the responses of the group with the label of i.

    With the objective A log pi in the mean over tokens, then responses, its gradient is that of minus the paper's loss
    log(1 + sum_correct e^(-s / tau)) + log(1 + sum_incorrect e^(s / tau)), in the mean over groups, at every update.
    Read in ms-swift at 3602360 (docs, AdvancedResearch/REAL.md, and grpo_trainer.py), not in the paper. From its code:
    a response is correct if its reward is above the group's mean, and a group with one label gets 0. So do responses
    that could not be scored (NaN).

    Args:
        tau: nats per token.
    Returns:
        [B, T], 0 on masked positions.
    """
    rewards, scored, _, mean = scored_groups(batch)
    label = rewards > mean
    lengths = batch.mask.sum(1).clamp(min=1)
    s = (batch.need("logp") - batch.need("old_logp")).sum(1) / lengths / tau
    z = s.where(~label, -s).masked_fill(~scored, float("-inf"))
    ids = 2 * batch.groups + label
    top = segment_max(z, ids).clamp(min=0)
    share = (z - top).exp() / ((-top).exp() + segment_sum((z - top).exp(), ids))
    size = segment_sum(share.new_ones(share.shape), batch.groups)
    signed = (share * size / tau).where(label, -share * size / tau)
    learns = rewards_differ(rewards, scored, batch.groups)
    return signed.masked_fill(~learns, 0.0).unsqueeze(1) * batch.mask
