"""GMPO: the geometric mean of the token ratios (Geometric-Mean Policy Optimization, arXiv 2507.20673)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from harness.spec.equation import requires, stage
from harness.spec.ranges import NonNegative

if TYPE_CHECKING:
    from torch import Tensor

    from harness.spec import Experiment


def _one_advantage_a_response(experiment: Experiment, values: Mapping[str, object]) -> str | None:
    method = experiment.method
    if method.shaping or method.gates or experiment.critic.value:
        names = [u.name for u in (method.advantage, *method.shaping, *method.gates)]
        return f"method: expected one advantage a response and no gates, because its mean is over tokens, got {names}"
    if method.aggregation.value != "sequence_mean":
        return (
            f"aggregation: expected sequence_mean, its objective is one term a response, got {method.aggregation.value}"
        )
    return None


@requires(_one_advantage_a_response)
@stage("objective")
def gmpo(
    logp: Tensor, old_logp: Tensor, advantages: Tensor, mask: Tensor, *, low: NonNegative, high: NonNegative
) -> Tensor:
    """A_i exp(mean_t d'_t), d' is d = log(pi / pi_old) clipped to [-low, high]: from above where A > 0, below where
    A < 0  (arXiv 2507.20673).

    Args:
        low, high: in log space: ratios are clipped to (e^-low, e^high).
        advantages: the same on every token of a response.
    Returns:
        [B, T], to be maximised: the response's one term on each of its tokens.
    """
    difference, sign = logp - old_logp, advantages.sign()
    clipped = sign * (sign * difference).minimum(sign * difference.clamp(-low, high))
    mean = (clipped * mask).sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)
    return mean.exp() * advantages
