"""The metrics of an optimiser step, from its TokenBatch: one definition and one name for every backend.

A *positive* sample is a correct response, a *negative* one an incorrect response (arXiv 2508.07534, section 3.2.2).
An unscored one is neither. A metric without data (the entropy of correct responses in a step without any) is absent,
never 0 or NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from harness.step.batch import TokenBatch
from harness.step.segments import segment_max

if TYPE_CHECKING:
    from torch import Tensor

    from harness.spec import Method

STEP_METRICS = (
    "train/reward",
    "train/reward_std",
    "train/accuracy",
    "train/unscored_fraction",
    "train/zero_variance_groups",
    "train/response_length_positive",
    "train/response_length_negative",
    "train/entropy",
    "train/entropy_positive",
    "train/entropy_negative",
    "train/shaping_ratio",
)
# rewards of harness.step.rewards that are above 0 if and only if correct
OUTCOMES = ("accuracy", "signed_accuracy")


def step_metrics(
    batch: TokenBatch,
    *,
    rewards: Tensor | None = None,
    shaped_advantages: Tensor | None = None,
) -> dict[str, float]:
    """MLflow name -> value, for the STEP_METRICS that the arguments allow.

    reward, reward_std: see `reward_metrics`.
    accuracy: share of correct responses among the scored ones.
    unscored_fraction: share of responses without a reward.
    zero_variance_groups: share of prompt groups whose scored rewards, as the advantage reads them, are equal, so that
        a group-relative advantage is 0 (groups of one response, and those without any scored response, do not count).
    response_length_positive, _negative: mean tokens of correct and of incorrect responses.
    entropy, entropy_positive, entropy_negative: mean over tokens (not over responses), nats: of all responses, of
        correct and of incorrect ones.
    shaping_ratio: sum of |shaped - unshaped advantage| over sum of |unshaped advantage|, over tokens: how much a method
        changes the advantage (arXiv 2506.14758, Fig. 7, for the entropy-based advantage).

    Args:
        batch: of the whole step. `rewards` as the verifier gave them, before a method changes them. `correct`: see
            `correct_responses`.
        rewards: [B], as the advantage reads them (a method or a control may change them). None: those of the batch.
        shaped_advantages: [B, T], and `batch.advantages` those before shaping. None: the method has no shaping.
    Raises:
        ValueError: a shape differs, or the batch's `correct` holds another value.
    """
    correct = batch.correct
    if correct is not None and not bool(((correct == 0) | (correct == 1) | correct.isnan()).all()):
        raise ValueError(f"correct: expected 0, 1 or NaN, shape {tuple(batch.rewards.shape)}, got {correct.tolist()}")
    if shaped_advantages is not None and shaped_advantages.shape != batch.mask.shape:
        raise ValueError(
            f"shaped_advantages: expected shape {tuple(batch.mask.shape)}, got {tuple(shaped_advantages.shape)}"
        )
    scored, lengths = ~batch.rewards.isnan(), batch.mask.sum(1)
    constant = _constant(batch if rewards is None else batch.with_rewards(rewards))
    metrics: dict[str, float | None] = {"unscored_fraction": _mean(~scored), "zero_variance_groups": constant}
    samples = {"": batch.mask.any(1)}
    if correct is not None:
        metrics["accuracy"] = _mean(correct[~correct.isnan()])
        samples |= {"_positive": correct == 1, "_negative": correct == 0}
    for suffix, rows in samples.items():
        if suffix:
            metrics[f"response_length{suffix}"] = _mean(lengths[rows])
        if batch.entropies is not None:
            metrics[f"entropy{suffix}"] = _mean(batch.need("entropies")[batch.mask & rows.unsqueeze(1)])
    if shaped_advantages is not None:
        metrics["shaping_ratio"] = _added(batch, shaped_advantages)
    named = {f"train/{name}": value for name, value in metrics.items() if value is not None}
    return reward_metrics(batch) | named


def reward_metrics(batch: TokenBatch) -> dict[str, float]:
    """The verifier's rewards of these sequences.

    reward: the mean of the scored responses.
    reward_std: the standard deviation within a prompt group (of its scored responses, with n - 1), as the mean over the
        groups that have at least two of them.
    """
    scored = ~batch.rewards.isnan()
    if not scored.any():
        return {}
    rewards, ids = batch.rewards[scored].detach().double(), batch.groups[scored]
    groups = [rewards[ids == number] for number in sorted({*ids.tolist()})]
    spreads = [group.std().item() for group in groups if len(group) > 1]
    metrics = {"train/reward": rewards.mean().item()}
    return metrics | ({"train/reward_std": sum(spreads) / len(spreads)} if spreads else {})


def correct_responses(scores: Mapping[str, Tensor]) -> Tensor | None:
    """Which responses are correct: [B], 1, 0, or NaN for unscored ones, or None if no reward tells.

    Args:
        scores: name of a reward (`harness.step.rewards`) -> [B], NaN if missing.
    """
    outcome = next((scores[name] for name in OUTCOMES if name in scores), None)
    return None if outcome is None else (outcome > 0).to(outcome.dtype).masked_fill(outcome.isnan(), float("nan"))


def with_rewards(method: Method, batch: TokenBatch) -> TokenBatch:
    """The batch with the rewards that the method's advantage reads."""
    for step in method.rewards:
        batch = batch.with_rewards(step(batch))
    return batch


def _mean(values: Tensor) -> float | None:
    return values.detach().double().mean().item() if values.numel() else None


def _constant(batch: TokenBatch) -> float | None:
    """The share of groups whose scored rewards are all equal, or None where no group of several responses was
    scored."""
    scored, ids = ~batch.rewards.isnan(), batch.groups
    scored = scored & (ids.unsqueeze(0) == ids.unsqueeze(1)).sum(1).gt(1)
    if not scored.any():
        return None
    top = segment_max(batch.rewards.masked_fill(~scored, float("-inf")), ids)
    bottom = -segment_max((-batch.rewards).masked_fill(~scored, float("-inf")), ids)
    constant, every = (set(ids[rows].tolist()) for rows in (scored & (top == bottom), scored))
    return len(constant) / len(every)


def _added(batch: TokenBatch, shaped: Tensor) -> float | None:
    """Sum of |shaped - unshaped| over sum of |unshaped|, or None where there is no advantage to compare with."""
    unshaped = batch.need("advantages")
    total = unshaped.abs().sum().item()
    return (shaped.detach().masked_fill(~batch.mask, 0.0) - unshaped).abs().sum().item() / total if total else None
