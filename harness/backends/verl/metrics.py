"""veRL's metrics under our names, and those of a whole rollout. Rewards are in `harness.step.step_metrics`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from harness.step.batch import TokenBatch
from harness.step.mismatch import mismatch_metrics

CHECKED = {
    "train/loss": "loss",
    "train/grad_norm": "gradient norm",
    "train/value_loss": "loss of the critic",
    "train/critic_grad_norm": "gradient norm of the critic",
}  # metrics that must be finite -> what a divergence is called


def rollout_metrics(
    tokens: TokenBatch,
    responses: Sequence[Tensor],
    metrics: dict[str, Any],
    *,
    ends: tuple[int, ...],
    by_text: Sequence[float],
) -> dict[str, float]:
    """Metrics of the whole rollout: lengths, and the log-probability difference of sampler and trainer.

    Args:
        tokens: the rollout. responses: the token ids of each. metrics: veRL's own, whose `train/` ones are kept.
        ends: ids that end a response. by_text: 1 where a text has ended the response. Any other response was cut off.
    """
    last = torch.stack([ids[-1] for ids in responses])
    ended = torch.isin(last, torch.tensor(ends)) | torch.tensor(by_text).bool()
    assert tokens.old_logp is not None and tokens.rollout_logp is not None  # `calculate_log_probs` is on
    return {
        "train/response_length": tokens.mask.sum(1).double().mean().item(),
        "train/truncated_fraction": 1 - ended.double().mean().item(),
        **mismatch_metrics(tokens.old_logp, tokens.rollout_logp, tokens.mask),
        **{name: float(value) for name, value in metrics.items() if name.startswith("train/")},
    }


def reward_extras(fields: Any) -> dict[str, float]:
    """The reward's extra values of a response."""
    extra: dict[str, float] = getattr(fields, "data", fields)["reward_extra_info"]
    return extra


def update_metrics(report: dict[str, Any]) -> dict[str, float]:
    """veRL's metrics of an update -> ours. The sums come as means over the processes, so their ratios are right."""
    tokens = report["actor/sum_tokens"]
    metrics = {
        "train/loss": report["actor/loss"],
        "train/entropy": report["actor/sum_entropy"] / tokens,
        "train/grad_norm": report["actor/grad_norm"],
        "train/learning_rate": report["actor/lr"],
    }
    if report.get("actor/sum_with_advantage"):  # else absent, never 0
        metrics["train/clip_fraction"] = report["actor/sum_clipped"] / report["actor/sum_with_advantage"]
    if "actor/sum_kl" in report:
        metrics["train/kl"] = report["actor/sum_kl"] / tokens
    return {name: float(np.mean(value)) for name, value in metrics.items()}


def critic_metrics(metrics: dict[str, Any]) -> dict[str, float]:
    """veRL's metrics of a critic's update -> ours. Empty where no critic was trained."""
    names = {"critic/vf_loss": "train/value_loss", "critic/vf_clipfrac": "train/value_clip_fraction"}
    names["critic/grad_norm"] = "train/critic_grad_norm"
    return {name: float(metrics[verl_name]) for verl_name, name in names.items() if verl_name in metrics}
