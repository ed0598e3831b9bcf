"""The loss of a micro-batch, on veRL's workers: our equations on the current policy's log-probabilities and entropies.

The method's output for the whole optimiser step (advantages, weights, gates, penalties) comes with the batch. The
weights already hold the step's normaliser, so micro-batches and processes simply add up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.backends.method_step import SHAPED, micro_batch_loss
from harness.step.likeliest import Distribution, likeliest_tokens
from harness.step.loss import clipped_tokens, k3

if TYPE_CHECKING:
    from torch import Tensor

    from harness.spec import Experiment

COEFFICIENT = "entropy_coefficient"  # changes by step, because of the entropy search


TOP, LIKELIEST = "rlvr_top_{}", "rlvr_likeliest"  # outputs of the model's pass, a number for each token


def method_loss(
    model_output: dict[str, object] | None = None,
    data: object = None,
    dp_group: object = None,
    *,
    experiment: Experiment,
    student_logits: Tensor | None = None,
) -> object:
    """(loss, sums over this micro-batch's tokens, from which metrics are computed), as veRL's engine calls it.

    With `student_logits` [1, N, V], at the temperature: outputs [1, N] of the pass. veRL asks for them before the loss,
    if the batch says `distillation_use_topk`, and keeps their gradient.
    """
    if student_logits is not None:
        top, likeliest = likeliest_tokens(student_logits, experiment.method.likeliest)
        outputs = {TOP.format(k): values for k, values in enumerate(top.unbind(-1))}
        return {**outputs, LIKELIEST: likeliest.float()}  # exact: no vocabulary has 2^24 entries
    assert model_output is not None
    return _loss(model_output, data, experiment)


def _distribution(model_output: dict[str, object], data: Any, entropies: Tensor, count: int) -> Distribution:
    import torch
    from verl.workers.utils.padding import no_padding_2_padding

    top, likeliest = (
        [no_padding_2_padding(model_output[name], data) for name in names]
        for names in ([TOP.format(k) for k in range(count)], [LIKELIEST])
    )
    sampled = data.select("responses").to_padded_tensor(-1)["responses"]
    return Distribution(entropies, torch.stack(top, -1), likeliest[0] == sampled)


def _loss(model_output: dict[str, object], data: Any, experiment: Experiment) -> tuple[Tensor, dict[str, object]]:
    from verl.utils import tensordict_utils as tu
    from verl.utils.metric import AggregationType, Metric
    from verl.workers.utils.padding import no_padding_2_padding

    logp = no_padding_2_padding(model_output["log_probs"], data)
    entropies = no_padding_2_padding(model_output["entropy"], data)
    coefficient = tu.get_non_tensor_data(data, COEFFICIENT, default=0.0)
    count = experiment.method.likeliest
    fields = [name for name in ("response_mask", "old_log_probs", "ref_log_prob", *SHAPED) if name in data]
    padded = data.select(*fields).to_padded_tensor(0.0)
    mask = padded["response_mask"].bool()
    logp, old_logp = logp.masked_fill(~mask, 0.0), padded["old_log_probs"].masked_fill(~mask, 0.0)
    ref_logp = padded["ref_log_prob"].masked_fill(~mask, 0.0) if "ref_log_prob" in padded else None
    loss = micro_batch_loss(
        experiment,
        logp,
        old_logp,
        padded,
        mask,
        ref_logp=ref_logp,
        entropies=entropies,
        coefficient=coefficient,
        now=_distribution(model_output, data, entropies, count) if count else None,
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
    # processes average their gradients. The token weights sum to the whole step over all of them
    return loss * data["dp_size"], metrics
