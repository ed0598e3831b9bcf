"""Clip-Cov (The Entropy Mechanism of RL for Reasoning Language Models, arXiv 2505.22617)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from baselines.covariance import share_of, token_covariance
from harness.spec.equation import relates, stage
from harness.spec.ranges import NonNegative, Share
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

    Clip-Cov and its variant are the only methods that choose at random. The choice depends only on `batch.step` and
    the order of the tokens, so a resumed run chooses the same tokens. Another order of the sequences gives other
    tokens, with the same probabilities.

    Args:
        share: of all N tokens, in (0, 1], the paper's r. At least one token is chosen if there is a candidate.
        low, high: the band of covariances (omega_low, omega_high), low < high.
    Returns:
        [B, T] of the log-probabilities' dtype, 0 on masked positions.
    Raises:
        ValueError: share outside (0, 1], low >= high, or log-probabilities or advantages are missing.
    """
    return _some_dropped(batch, share, low, high, batch.mask)


@relates(_ordered)
@stage("gates")
@reads("logp", "old_logp")
def clip_cov_as_released(batch: TokenBatch, *, share: Share, low: float, high: float, clip_high: NonNegative) -> Tensor:
    """as `clip_cov`, but tokens that the ratio clip already stops cannot be chosen.

    The authors' code computes this (github.com/PRIME-RL/Entropy-Mechanism-of-RL at 8850579, core_algos.py,
    cov_all[clip_by_origin], measured in results/released.md). The paper does not say so.

    Args:
        share, low, high: as in `clip_cov`.
        clip_high: the ratio clip stops a token with A > 0 and a ratio above 1 + clip_high. The authors' scripts have 1
            there, and a lower clip of 1, which never binds.
    Returns:
        [B, T] of the log-probabilities' dtype, 0 on masked positions.
    Raises:
        ValueError: a value is out of range, low >= high, or log-probabilities or advantages are missing.
    """
    ratio = (batch.need("logp") - batch.need("old_logp")).exp()
    stopped = (ratio > 1 + clip_high) & (batch.need("advantages") > 0)
    return _some_dropped(batch, share, low, high, batch.mask & ~stopped)


def _some_dropped(batch: TokenBatch, share: float, low: float, high: float, allowed: Tensor) -> Tensor:
    """The gates. Args: allowed: bool [B, T], the tokens that may be chosen."""
    import torch

    covariances, counts = token_covariance(batch)
    candidates = ((covariances > low) & (covariances < high) & allowed[counts]).nonzero()[:, 0]
    generator = torch.Generator().manual_seed(batch.step)  # on the CPU: the same choice on every device
    order = torch.randperm(len(candidates), generator=generator).to(candidates.device)
    dropped = candidates[order[: share_of(share, len(covariances))]]
    kept = covariances.new_ones(len(covariances))
    kept[dropped] = 0.0
    gates = batch.mask.to(kept.dtype)
    gates[counts] = kept
    return gates
