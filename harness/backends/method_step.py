"""One optimiser step of a method, the same in every trainer: its output on the whole step, and the loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.step.batch import TokenBatch
from harness.step.entropy_search import adapt
from harness.step.finite import check_output, check_tensor
from harness.step.likeliest import Distribution
from harness.step.loss import policy_loss
from harness.step.spread import spread_metrics
from harness.step.step_metrics import step_metrics, with_rewards

if TYPE_CHECKING:
    from torch import Tensor

    from harness.spec import Experiment
    from harness.spec.method import MethodOutput

SHAPED = (
    "advantages",
    "weights",
    "gates",
    "penalties",
)  # the fields of `MethodOutput` that the loss of a micro-batch reads


@dataclass(frozen=True)
class Applied:
    """A method's output for one optimiser step.

    Args:
        shaped: its output. batch: with the advantages before shaping.
        rewards: [B], as the advantage reads them, after the method (or a control) has changed them.
        shaped_advantages: None if the method has no shaping.
        coefficient: of the entropy, in this step's loss. next_coefficient: from which the search goes on.
    """

    shaped: MethodOutput
    batch: TokenBatch
    rewards: Tensor
    shaped_advantages: Tensor | None
    coefficient: float
    next_coefficient: float

    def metrics(self, entropies: Tensor | None = None) -> dict[str, float]:
        """The metrics of the step that every backend logs.

        Args:
            entropies: [B, T], those that the loss's own pass computed. None: those of the batch.
        """
        batch = self.batch if entropies is None else replace(self.batch, entropies=entropies)
        unshaped = self.shaped.advantages if self.shaped_advantages is None else batch.need("advantages")
        return {
            **step_metrics(batch, rewards=self.rewards, shaped_advantages=self.shaped_advantages),
            **spread_metrics(self.shaped, unshaped, batch.mask),
        }


def apply_method(experiment: Experiment, batch: TokenBatch, coefficient: float) -> Applied:
    """The method's output on a whole optimiser step. A search for an entropy target starts from `coefficient`, with the
    entropy of the step's sequences before the update.

    Raises:
        Diverged: a reward or the method's output is not finite.
    """
    method, search, target = experiment.method, experiment.entropy_search, experiment.entropy_target.value
    step_coefficient = next_coefficient = coefficient
    if search is not None and target is not None:
        entropy = (batch.need("entropies").sum() / batch.mask.sum().clamp(min=1)).item()
        step_coefficient, next_coefficient = adapt(
            coefficient, entropy, target=target, step=search.step.value, maximum=search.maximum.value
        )
    check_tensor(batch.rewards[~batch.rewards.isnan()], "reward", step=batch.step + 1)
    shaped = method.apply(batch)
    check_output(shaped, batch.mask, step=batch.step + 1)
    rewarded = with_rewards(method, batch)
    if not method.shaping:
        return Applied(shaped, batch, rewarded.rewards, None, step_coefficient, next_coefficient)
    unshaped = batch.with_advantages(method.advantage(rewarded))
    return Applied(shaped, unshaped, rewarded.rewards, shaped.advantages, step_coefficient, next_coefficient)


def micro_batch_loss(
    experiment: Experiment,
    logp: Tensor,
    old_logp: Tensor,
    shaped: Mapping[str, Tensor | None],
    mask: Tensor,
    *,
    ref_logp: Tensor | None,
    entropies: Tensor,
    coefficient: float,
    now: Distribution | None = None,
) -> Tensor:
    """The loss of a micro-batch, a scalar. The token weights in `shaped` hold the normaliser of the whole step, so the
    losses of micro-batches add up.

    Args:
        logp, old_logp, mask, ref_logp, entropies: [B, T]. shaped: the `SHAPED` parts, [B, T] or None.
        coefficient: of the entropy. now: the policy's distribution, for an objective that sees its likeliest tokens.
    """
    e = experiment
    advantages, weights = shaped["advantages"], shaped["weights"]
    assert advantages is not None and weights is not None
    objective = e.method.objective
    return policy_loss(
        logp,
        old_logp,
        advantages,
        weights,
        ref_logp=ref_logp,
        kl_beta=e.kl_beta.value,
        gates=shaped.get("gates"),
        penalties=shaped.get("penalties"),
        entropies=entropies if e.entropy_coefficient.value or e.entropy_search is not None else None,
        entropy_coefficient=coefficient,
        clip_low=e.clip_low.value,
        clip_high=e.clip_high.value,
        dual_clip=e.dual_clip.value,
        objective=objective if objective is None or now is None else lambda *tensors: objective(*tensors, now),
        mask=mask,
    )
