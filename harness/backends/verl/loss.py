"""The loss of a micro-batch, on veRL's workers: our equations on the current policy's log-probabilities and entropies.

The method's output for the whole optimiser step (advantages, weights, gates, penalties) comes with the batch; the
weights already hold the step's normaliser, so micro-batches and processes simply add up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.backends.method_step import SHAPED, micro_batch_loss
from harness.step.loss import clipped_tokens, k3

if TYPE_CHECKING:
    from torch import Tensor

    from harness.spec import Experiment

COEFFICIENT = "entropy_coefficient"  # of the step, because the entropy search changes it


def method_loss(
    model_output: dict[str, Any], data: Any, dp_group: Any = None, *, experiment: Experiment
) -> tuple[Tensor, dict[str, Any]]:
    """(loss, sums over this micro-batch's tokens, from which metrics are computed), as veRL's engine calls it."""
    from verl.utils import tensordict_utils as tu
    from verl.utils.metric import AggregationType, Metric
    from verl.workers.utils.padding import no_padding_2_padding

    logp = no_padding_2_padding(model_output["log_probs"], data)
    entropies = no_padding_2_padding(model_output["entropy"], data)
    coefficient = tu.get_non_tensor_data(data, COEFFICIENT, default=0.0)
    fields = [name for name in ("response_mask", "old_log_probs", "ref_log_prob", *SHAPED) if name in data]
    padded = data.select(*fields).to_padded_tensor(0.0)
    mask = padded["response_mask"].bool()
    logp, old_logp = logp.masked_fill(~mask, 0.0), padded["old_log_probs"].masked_fill(~mask, 0.0)
    ref_logp = padded["ref_log_prob"].masked_fill(~mask, 0.0) if "ref_log_prob" in padded else None
    loss = micro_batch_loss(
        experiment, logp, old_logp, padded, mask, ref_logp=ref_logp, entropies=entropies, coefficient=coefficient
    )
    sums = {
        "tokens": mask.sum(),
        "entropy": entropies.detach().masked_fill(~mask, 0.0).sum(),
    }
    if experiment.method.objective is None:
        bounds = {"clip_low": experiment.clip_low.value, "clip_high": experiment.clip_high.value}
        sums["clipped"] = (clipped_tokens(logp.detach(), old_logp, padded["advantages"], **bounds) & mask).sum()
        sums["with_advantage"] = ((padded["advantages"] != 0) & mask).sum()
    if ref_logp is not None:
        sums["kl"] = k3(logp.detach(), ref_logp).masked_fill(~mask, 0.0).sum()
    metrics = {f"sum_{name}": Metric(AggregationType.SUM, value.double()) for name, value in sums.items()}
    # processes average their gradients; the token weights sum to the whole step over all of them
    return loss * data["dp_size"], metrics
