"""M2PO: drop the fewest tokens that bring the second moment of the log-ratio under a bound (arXiv 2510.01161)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.spec.equation import stage
from harness.spec.ranges import NonNegative
from harness.step.batch import TokenBatch, reads

if TYPE_CHECKING:
    from torch import Tensor


@stage("gates")
@reads("logp", "old_logp")
def m2po(batch: TokenBatch, *, threshold: NonNegative) -> Tensor:
    """0 on the tokens with the largest (log pi / pi_old)^2, removed one by one until the mean over the others is at
    most `threshold`. 1 on the others  (arXiv 2510.01161).

    Tokens that clipping would leave alone count too: the second moment is that of all tokens of the update.

    Args:
        threshold: >= 0, nats squared.
    Returns:
        [B, T], 0 on masked positions.
    """
    squares = (batch.need("logp") - batch.need("old_logp")) ** 2
    order = squares[batch.mask].double().sort(stable=True)
    means = order.values.cumsum(0) / order.values.new_ones(order.values.shape).cumsum(
        0
    )  # means of the smallest 1, 2, ..., N
    kept = order.values.new_zeros(means.shape).scatter(0, order.indices, (means <= threshold).to(means.dtype))
    gates = squares * 0.0
    gates[batch.mask] = kept.to(gates.dtype)
    return gates
