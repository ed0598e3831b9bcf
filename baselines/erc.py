"""ERC: no gradient where the entropy has moved too far in one rollout (Entropy Ratio Clipping, arXiv 2512.05591)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from harness.spec.equation import requires, stage
from harness.spec.ranges import NonNegative, Range
from harness.step.batch import TokenBatch, reads

if TYPE_CHECKING:
    from torch import Tensor

    from harness.spec import Experiment

EPSILON = 1e-8  # the authors' code has this value, so two entropies of 0 have the ratio 1


def _own_old_policy(experiment: Experiment, values: Mapping[str, object]) -> str | None:
    if experiment.old_policy.value == "trainer":
        return None
    return f"old_policy: expected trainer, whose pass has the old entropies, got {experiment.old_policy.value}"


@requires(_own_old_policy)
@stage("gates")
@reads("entropies", "old_entropies")
def erc(batch: TokenBatch, *, low: Annotated[float, Range("[0, 1]")], high: NonNegative) -> Tensor:
    """1 where 1 - low < H / H_old < 1 + high, else 0, H_old by the policy that sampled  (arXiv 2512.05591).

    Read in the README and the code of Kwai-Klear/ERC at f1885c5. Dropped tokens stay in the loss's denominator there.
    At a rollout's first update nothing is dropped.

    Returns:
        [B, T], 0 on masked positions.
    """
    ratio = (batch.need("entropies") + EPSILON) / (batch.need("old_entropies") + EPSILON)
    return (batch.mask & (ratio > 1 - low) & (ratio < 1 + high)).to(ratio.dtype)
