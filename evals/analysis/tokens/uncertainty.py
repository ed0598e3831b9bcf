"""How unsure a model is of the next token: entropy and rollout branching factor  (arXiv 2508.07534, section 2.2).

Functions of log-probabilities over the full vocabulary, such as `logits.log_softmax(-1)`.
`evals.analysis.tokens.token_pass`
has them for every token of a response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

_TRIED = (32, 512, 8192)  # how many of the most probable tokens are looked at before all are sorted


def entropy(log_p: Tensor) -> Tensor:
    """-sum p log p of each distribution, in nats  (Eq. 3). [..., V] -> [...]. Zero probabilities (-inf) count as 0."""
    import torch

    finite = log_p.clamp(min=torch.finfo(log_p.dtype).min)  # 0 times it is 0, 0 times -inf is not
    return -(log_p.exp() * finite).sum(-1)


def branching_factor(log_p: Tensor, *, mass: float) -> Tensor:
    """The size of the smallest set of tokens whose probability is at least `mass`. [..., V] -> [...], whole numbers.

    Sums are in float64. The most probable tokens are picked out first, since they mostly suffice: sorting a whole
    vocabulary for each token is what takes long.

    Raises:
        ValueError: mass outside (0, 1].
    """
    if not 0 < mass <= 1:
        raise ValueError(f"mass: expected a number in (0, 1], got {mass}")
    rows = log_p.reshape(-1, log_p.shape[-1])
    size = rows.new_zeros(len(rows)).long()
    left = size.new_ones(len(rows)).nonzero().squeeze(1)  # rows whose set is not found yet
    for count in (*(k for k in _TRIED if k < rows.shape[1]), rows.shape[1]):
        p = rows[left].topk(count).values.exp().double()
        total = p.cumsum(-1)
        # a token is in the set if those ahead of it do not reach the mass
        size[left] = ((total - p < mass) & (p > 0)).sum(-1)
        left = left[total[:, -1] < mass]
        if not len(left):
            break
    return size.reshape(log_p.shape[:-1])
