"""A*-PO: regression onto the optimal advantage, whose value comes from samples of the base model (arXiv 2505.20686)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from baselines.grpo import scored_groups
from harness.spec.equation import policy_gradient_with, requires, stage
from harness.spec.ranges import Positive
from harness.step.batch import TokenBatch, reads

if TYPE_CHECKING:
    from torch import Tensor

    from harness.spec import Experiment


def _regression(experiment: Experiment, values: Mapping[str, object]) -> str | None:
    method = experiment.method
    if experiment.rewards.value != ("accuracy",) or method.rewards:
        names = [*experiment.rewards.value, *(u.name for u in method.rewards)]
        return f"rewards: expected accuracy alone, because the base model's value is that of 0 and 1, got {names}"
    return policy_gradient_with(experiment, "sequence_sum")


@requires(_regression)
@stage("advantage")
@reads("logp", "ref_logp", "base_accuracy")
def a_star_po(batch: TokenBatch, *, beta1: Positive, beta2: Positive) -> Tensor:
    """A_i = 2 beta2 (r_i - V - beta2 sum_t log(pi / pi_ref)), V = beta1 ln(p e^(1 / beta1) + 1 - p)
    (arXiv 2505.20686).

    V is beta1 ln mean e^(r / beta1) over the base model's samples of the prompt, of which the share p is correct. With
    the objective A log pi, summed over the tokens, the gradient is that of the paper's mean squared error
    (beta2 log(pi / pi_ref) - (r - V))^2 at the current policy, at every update.

    Args:
        beta1: > 0, in units of the reward: how far the optimal policy may leave the base model. beta2: > 0, likewise,
            in the regression.
    Returns:
        [B, T], 0 on masked positions and for responses that could not be scored (NaN).
    """
    rewards, scored, _, _ = scored_groups(batch)
    p = batch.need("base_accuracy")
    value = beta1 * (p.log() + 1 / beta1).logaddexp((1 - p).log())
    moved = (batch.need("logp") - batch.need("ref_logp")).sum(1)
    return (2 * beta2 * (rewards - value - beta2 * moved) * scored).unsqueeze(1) * batch.mask
