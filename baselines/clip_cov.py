"""Clip-Cov (The Entropy Mechanism of RL for Reasoning Language Models, arXiv 2505.22617)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from baselines.covariance import share_of, token_covariance
from harness.spec.equation import relates, stage
from harness.spec.ranges import Share
from harness.step.batch import TokenBatch, reads

if TYPE_CHECKING:
    from torch import Tensor


def _ordered(values: Mapping[str, Any]) -> str | None:
    low, high = values["low"], values["high"]
    return None if low < high else f"low: expected < high={high}, got {low}"


@relates(_ordered)
@stage("gates")
@reads("logp")
def clip_cov(batch: TokenBatch, *, share: Share, low: float, high: float) -> Tensor:
    """0 on tokens chosen at random among those with low < Cov < high, at most share * N of them, else 1 (arXiv
    2505.22617, section 4.2).

    This is the only random choice in a method. It depends only on `batch.step` and the order of the tokens, so a
    resumed run chooses the same tokens; another order of the sequences gives other tokens, with the same probabilities.

    The authors' code chooses only among tokens that the ratio clipping does not affect; the paper does not say so, and
    we do not (the authors' scripts set the ratio clipping to 1, where it rarely acts).

    Args:
        share: of all N tokens, in (0, 1]; the paper's r. At least one token is chosen if there is a candidate.
        low, high: the band of covariances (omega_low, omega_high), low < high.
    Returns:
        [B, T] of the log-probabilities' dtype; 0 on masked positions.
    Raises:
        ValueError: share outside (0, 1], low >= high, or log-probabilities or advantages are missing.
    """
    import torch

    covariances, counts = token_covariance(batch)
    candidates = ((covariances > low) & (covariances < high)).nonzero()[:, 0]
    generator = torch.Generator().manual_seed(batch.step)  # on the CPU: the same choice on every device
    order = torch.randperm(len(candidates), generator=generator).to(candidates.device)
    dropped = candidates[order[: share_of(share, len(covariances))]]
    kept = covariances.new_ones(len(covariances))
    kept[dropped] = 0.0
    gates = batch.mask.to(kept.dtype)
    gates[counts] = kept
    return gates
