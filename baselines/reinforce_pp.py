"""REINFORCE++: advantages normalised over the whole batch (arXiv 2501.03262)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from baselines.grpo import scored_groups
from baselines.ppo import whitened
from harness.spec.equation import stage

if TYPE_CHECKING:
    from torch import Tensor

    from harness.step.batch import TokenBatch


@stage("advantage")
def reinforce_pp(batch: TokenBatch, *, baseline: Literal["none", "group"]) -> Tensor:
    """(R - mean) / sqrt(variance + 1e-8) over all tokens of the batch, R = r, or r - mean_G r  (arXiv 2501.03262).

    "none" is REINFORCE++. "group" is its variant for several responses a prompt (REINFORCE++-baseline). The variance
    divides by N - 1, as in veRL. Unscored responses (NaN) get 0 and are excluded.

    Returns:
        [B, T], 0 on masked positions, 0 everywhere if all R are equal.
    """
    rewards, scored, count, mean = scored_groups(batch)
    returns = rewards if baseline == "none" else rewards - mean * (count > 1)
    valid = batch.mask & scored.unsqueeze(1)
    return whitened(returns.unsqueeze(1) * valid, valid)
