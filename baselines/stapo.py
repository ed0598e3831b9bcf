"""STAPO: silence rare tokens where the policy was sure (Spurious-Token-Aware Policy Optimization, arXiv 2602.15620)."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from harness.spec.equation import stage
from harness.spec.ranges import Share
from harness.step.batch import TokenBatch, reads

if TYPE_CHECKING:
    from torch import Tensor


@stage("gates")
@reads("logp", "entropies")
def stapo(batch: TokenBatch, *, rarity: Share, quantile: Share) -> Tensor:
    """0 on tokens with A > 0, pi < rarity and H below the quantile of H over all such tokens of the step, else 1
    (arXiv 2602.15620 v4, S2T).

    The objective divides by the tokens that are left: denominator="kept". The quantile is interpolated between tokens,
    and a token at it is kept: readings, as the paper states neither. So a single rare token is kept.

    Args:
        rarity: a probability, the paper's tau_p. quantile: the paper's q, the share that is silenced.
    Returns:
        [B, T], 0 on masked positions.
    """
    entropies = batch.need("entropies")
    rare = batch.mask & (batch.need("advantages") > 0) & (batch.need("logp") < log(rarity))
    if not rare.any():
        return batch.mask.to(entropies.dtype)
    return (batch.mask & ~(rare & (entropies < entropies[rare].quantile(quantile)))).to(entropies.dtype)
