"""The token batch: all inputs of a method, in one shape-checked value.

Methods are pure functions of a `TokenBatch`, so the same function serves every trainer. Nothing here imports a
framework: only tensor methods are used, and all statistics are detached from the graph.

Notation: B sequences (responses), T completion positions. A *group* is the set of responses to one prompt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from harness.errors import nearest

if TYPE_CHECKING:
    from torch import Tensor

Equation = TypeVar("Equation", bound=Callable[..., "Tensor"])


@dataclass(frozen=True)
class TokenBatch:
    """The sequences of one optimiser step, whole groups only.

    Args:
        rewards: [B], float. NaN for unscored responses.
        reward_parts: [B, K], float. The single rewards, whose sum with `reward_weights` is `rewards`. NaN as in
            `rewards`.
        reward_weights: K numbers.
        groups: [B], int64 from 0. Sequences with the same number answer the same prompt.
        mask: [B, T], bool. True on completion tokens that count.
        vocab_size: number of entries of the distribution that `entropies` is taken over.
        max_tokens: the length limit of a response.
        step: optimiser steps done before this one.
        seed: of the training run. With `step` it seeds the random choices of controls.
        micro_batches: [B], int64. The forward pass of each sequence. None: one pass for all.
        advantages: [B, T] before shaping. None until they are computed.
        entropies: [B, T], nats, full vocabulary, at the rollout temperature, of the policy being updated.
        pi_squared: [B, T], the sum over the vocabulary of the squared probabilities, full vocabulary, at the rollout
            temperature, of the policy being updated.
        logp: [B, T], log-probabilities of the sampled tokens under the policy being updated.
        old_logp: [B, T], log-probabilities of the sampled tokens under the policy that sampled them.
        old_entropies: [B, T], nats, full vocabulary, at the rollout temperature, of the policy that sampled.
        ref_logp: [B, T], log-probabilities of the sampled tokens under the reference policy.
        rollout_logp: [B, T], log-probabilities of the sampled tokens as the sampler (vLLM) computed them. NaN where the
            sampler gave no value. None if the trainer itself sampled.
        greedy_rewards: [B], the reward of the greedy response to the prompt. NaN if it could not be scored.
        base_accuracy: [B], the share of the base model's responses to the prompt that are correct, from the training
            data.
        correct: [B], 1 correct, 0 incorrect, NaN not scored. None if no reward says whether a response is correct.
        response_draw: [B], a number in [0, 1) from a hash of prompt and response, for controls (`harness.step.draws`).
        answer_draw: [B], a number in [0, 1) from a hash of prompt and answer, for controls (`harness.step.draws`). NaN
            without an answer.
        values: [B, T], the critic's estimates before each token. None without a critic.

    Raises:
        ValueError: a shape or dtype differs from the above (the field is named).
    """

    rewards: Tensor
    groups: Tensor
    mask: Tensor
    vocab_size: int
    max_tokens: int
    step: int
    seed: int
    reward_parts: Tensor | None = None
    reward_weights: tuple[float, ...] = ()
    micro_batches: Tensor | None = None
    advantages: Tensor | None = None
    entropies: Tensor | None = None
    pi_squared: Tensor | None = None
    logp: Tensor | None = None
    old_logp: Tensor | None = None
    old_entropies: Tensor | None = None
    ref_logp: Tensor | None = None
    rollout_logp: Tensor | None = None
    values: Tensor | None = None
    greedy_rewards: Tensor | None = None
    base_accuracy: Tensor | None = None
    correct: Tensor | None = None
    response_draw: Tensor | None = None
    answer_draw: Tensor | None = None

    def __post_init__(self) -> None:
        if self.mask.dim() != 2 or str(self.mask.dtype) != "torch.bool":
            raise ValueError(f"mask: expected bool [B, T], got {self.mask.dtype} {tuple(self.mask.shape)}")
        shape = tuple(self.mask.shape)
        per_sequence = ("rewards", "groups", "micro_batches", *SEQUENCE_SIGNALS)
        for name, expected in (*((n, shape[:1]) for n in per_sequence), *((n, shape) for n in _PER_TOKEN)):
            tensor = getattr(self, name)
            if tensor is not None and tuple(tensor.shape) != expected:
                raise ValueError(f"{name}: expected shape {expected}, got {tuple(tensor.shape)}")
        parts = self.reward_parts
        if parts is not None and tuple(parts.shape) != (shape[0], len(self.reward_weights)):
            raise ValueError(
                f"reward_parts: expected shape {(shape[0], len(self.reward_weights))}, a column for each of "
                f"reward_weights, got {tuple(parts.shape)}"
            )
        if self.groups.is_floating_point() or (self.groups.numel() and int(self.groups.min()) < 0):
            raise ValueError(f"groups: expected integers >= 0, got {self.groups.dtype} {self.groups.tolist()[:8]}...")
        if self.vocab_size < 2:
            raise ValueError(f"vocab_size: expected at least 2, got {self.vocab_size}")

    def need(self, field: str) -> Tensor:
        """A field, detached. If it is per token, 0 on masked positions (whose content may be anything, even NaN).

        Raises ValueError when the trainer did not supply it.
        """
        tensor: Tensor | None = getattr(self, field)
        if tensor is None:
            raise ValueError(f"this method needs `{field}`, which this batch does not hold")
        return tensor.detach() if field in SEQUENCE_SIGNALS else tensor.detach().masked_fill(~self.mask, 0.0)

    def with_advantages(self, advantages: Tensor) -> TokenBatch:
        """The same batch with other advantages, [B, T]."""
        return replace(self, advantages=advantages)

    def with_rewards(self, rewards: Tensor) -> TokenBatch:
        """The same batch with other rewards, [B]."""
        return replace(self, rewards=rewards)


TOKEN_SIGNALS = ("entropies", "pi_squared", "logp", "old_logp", "old_entropies", "ref_logp", "rollout_logp", "values")
DATA_SIGNALS = ("base_accuracy",)  # columns of the training data
DRAWS = ("response_draw", "answer_draw")
SEQUENCE_SIGNALS = ("greedy_rewards", *DATA_SIGNALS, "correct", *DRAWS)
SIGNALS = (*TOKEN_SIGNALS, *SEQUENCE_SIGNALS)
_PER_TOKEN = ("advantages", *TOKEN_SIGNALS)


def reads(*signals: str) -> Callable[[Equation], Equation]:
    """Declare which signals of the batch an equation reads. A trainer computes only these."""
    for unknown in sorted(set(signals) - set(SIGNALS)):
        given = unknown in TokenBatch.__annotations__
        hint = "Every batch has it, without @reads" if given else nearest(unknown, SIGNALS)
        raise ValueError(f"reads: {unknown}: no such signal. {hint}")

    def mark(equation: Equation) -> Equation:
        equation.reads = frozenset(signals)  # type: ignore[attr-defined]
        return equation

    return mark
