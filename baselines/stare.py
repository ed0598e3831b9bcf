"""STARE: more advantage for surprising tokens while the entropy is low (arXiv 2606.19236, June 2026)."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from harness.spec.equation import stage
from harness.spec.ranges import NonNegative, Positive, Share
from harness.step.batch import TokenBatch, reads

if TYPE_CHECKING:
    from torch import Tensor


@stage("shaping")
@reads("logp", "entropies")
def stare(
    batch: TokenBatch, *, share: Share, positive: Positive, negative: Positive, target_entropy: NonNegative
) -> Tensor:
    """w A, with the weight w = `positive` on some tokens with A > 0, w = `negative` on some tokens with A < 0, and
    w = 1 on all other tokens. The `share` of the tokens of each sign with the lowest log pi gets the weight. If the
    mean entropy is not below the target, w is 1 everywhere (arXiv 2606.19236).

    Read in the README and the code of hp-luo/STARE at bffb9e7. Variant O1 has negative = 1, variant C2 less than 1.
    The entropy is that of the step's tokens before the update. The code takes it of the whole rollout, so that they
    differ from a rollout's second update on. Among equal tokens, the earlier in row order comes first.

    Args:
        share: of the tokens of each sign, rounded up. target_entropy: nats.
    Returns:
        [B, T], 0 on masked positions.
    """
    advantages = batch.need("advantages")
    if not batch.need("entropies").sum() < target_entropy * batch.mask.sum():
        return advantages
    weights = advantages.new_ones(advantages.shape)
    for side, weight in ((advantages > 0, positive), (advantages < 0, negative)):
        candidates = (side & batch.mask).nonzero()
        order = batch.need("logp")[side & batch.mask].sort(stable=True).indices
        rows, columns = candidates[order[: ceil(share * len(candidates) - 1e-9)]].unbind(1)
        weights[rows, columns] = weight
    return weights * advantages
