"""Policy gradient on the highest-entropy tokens alone (Beyond the 80/20 Rule, arXiv 2506.01939)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from evals.fork_rank import fork_rank
from harness.spec.equation import relates, stage
from harness.spec.ranges import Count, Share
from harness.step.batch import TokenBatch, reads

if TYPE_CHECKING:
    from torch import Tensor


def _only_for_micro_batches(values: Mapping[str, object]) -> str | None:
    tokens, scope = values.get("micro_batch_tokens"), values["scope"]
    if tokens is None or scope == "micro_batch":
        return None
    return f"micro_batch_tokens: expected null with scope={scope!r}, got {tokens}"


@relates(_only_for_micro_batches)
@stage("gates")
@reads("entropies")
def forking_tokens(
    batch: TokenBatch,
    *,
    rho: Share,
    keep: Literal["top", "bottom"],
    scope: Literal["micro_batch", "update", "rollout"],
    micro_batch_tokens: Count | None = None,
) -> Tensor:
    """1 where H_{i,t} >= the (1 - rho) quantile of H over the scope, else 0  (arXiv 2506.01939, section 5).

    The quantile is linearly interpolated, over valid tokens only. Without ties, 1 + floor(rho (n - 1)) of n tokens
    stay: at least one, and all of them at rho = 1. Tokens that tie with the threshold all stay.

    TRL has this as `top_entropy_quantile`. We use ours because TRL's sees one forward pass, so the machine decides the
    threshold. Because TRL's loss always divides by all tokens, and because TRL has no lowest-entropy ablation.

    Args:
        rho: share of tokens that keep their gradient, in (0, 1].
        keep: "bottom" keeps the share of *lowest* entropy instead, as "top" does for -H.
        scope: the tokens that share a threshold: those of a micro-batch, of an optimiser step, or of a rollout. A batch
            is one optimiser step, so a trainer must refuse "rollout" if a rollout has several.
        micro_batch_tokens: with scope="micro_batch": a micro-batch takes consecutive sequences (at least one) up to
            this many response tokens, so it does not depend on the machine. None: the trainer's own forward pass (the
            same one of all processes).
    Returns:
        [B, T] of the entropies' dtype, 0 on masked positions.
    Raises:
        ValueError: rho outside (0, 1], or entropies are missing.
    """
    entropies = batch.need("entropies")
    score = entropies if keep == "top" else -entropies
    kept = batch.mask.new_zeros(batch.mask.shape)
    for rows in _parts(batch, scope, micro_batch_tokens):
        valid = batch.mask & rows.unsqueeze(1)
        if valid.any():
            kept |= valid & (score >= _threshold(score[valid], rho))
    return kept.to(entropies.dtype)


def _parts(batch: TokenBatch, scope: str, micro_batch_tokens: int | None) -> list[Tensor]:
    """[B] bool for each set of sequences that shares a threshold."""
    numbers = batch.micro_batches
    if micro_batch_tokens is not None:
        numbers = batch.groups.new_tensor(filled(batch.mask.sum(1).tolist(), micro_batch_tokens))
    if scope == "micro_batch" and numbers is not None:
        return [numbers == number for number in sorted(set(numbers.tolist()))]
    return [batch.mask.any(dim=1)]


def filled(lengths: Sequence[int], limit: int) -> list[int]:
    """The micro-batch of each sequence. Each takes the next sequences while they have at most `limit` tokens."""
    numbers: list[int] = []
    number = tokens = 0
    for length in lengths:
        if tokens and tokens + length > limit:
            number, tokens = number + 1, 0
        numbers.append(number)
        tokens += length
    return numbers


def _threshold(scores: Tensor, rho: float) -> Tensor:
    """The smallest value at or above the interpolated (1 - rho) quantile. torch.quantile is limited to 16M values."""
    return scores.sort().values[fork_rank(scores.numel(), rho)]
