"""How a step's policy gradient is spread over its tokens: on all of them alike, or on a few.

Token signals can degenerate to either end, under LoRA above all (arXiv 2606.00257, of which we read the abstract: it
names the Gini coefficient and the ratio of effective tokens. The definitions here are the textbooks').

The size of a token is |advantage x weight x gate|: what multiplies its objective in the loss. The tokens are those with
an advantage before shaping. A group whose rewards are equal has none, so it does not count: it says nothing about how
a method divides a signal, and `train/zero_variance_groups` counts it.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from harness.spec.method import MethodOutput

SPREAD_METRICS = ("train/token_gini", "train/token_effective_share", "train/token_top_share")
TOP = 0.01  # this share of the tokens


def gini(sizes: Tensor) -> float:
    """Gini's coefficient: sum_i (2i - n - 1) x_i / (n sum x), x ascending, 0 if all are equal, 1 - 1/n if one has all.

    Args:
        sizes: [n], >= 0, with a sum above 0.
    """
    n = len(sizes)
    ranks = 2 * sizes.new_ones(n).cumsum(0) - n - 1
    return ((ranks * sizes.sort().values).sum() / (n * sizes.sum())).item()


def effective_share(sizes: Tensor) -> float:
    """Kish's effective number over n: (sum x)^2 / (n sum x^2). 1 if all are equal, 1/n if one has all (Survey Sampling,
    1965). `sizes` as in `gini`."""
    return (sizes.sum() ** 2 / (len(sizes) * (sizes**2).sum())).item()


def top_share(sizes: Tensor, share: float = TOP) -> float:
    """The part of the sum that the largest `share` of the numbers hold, at least one of them. `sizes` as in `gini`."""
    return (sizes.topk(ceil(share * len(sizes))).values.sum() / sizes.sum()).item()


def spread_metrics(shaped: MethodOutput, unshaped: Tensor, mask: Tensor) -> dict[str, float]:
    """The SPREAD_METRICS of a whole step.

    token_gini, token_effective_share: of the sizes of the tokens (see above).
    token_top_share: the share of the sum of |advantage| after shaping on the 1 % of the tokens where it is largest.

    Args:
        shaped: the method's output. unshaped: [B, T], the advantages before shaping. mask: [B, T], bool.
    Returns:
        Without those that have no value: no token has an advantage, or none has one left.
    """
    counted = mask & (unshaped != 0)
    advantages = shaped.advantages[counted].double().abs()
    sizes = advantages * shaped.weights[counted].double().abs()
    if shaped.gates is not None:
        sizes = sizes * shaped.gates[counted].double().abs()
    metrics: dict[str, float] = {}
    if sizes.sum() > 0:
        metrics |= {"train/token_gini": gini(sizes), "train/token_effective_share": effective_share(sizes)}
    if advantages.sum() > 0:
        metrics["train/token_top_share"] = top_share(advantages)
    return metrics
