"""Quantities of a token's distribution: entropy, rollout branching factor, update-size proxy G_t.

Entropy and branching factor (arXiv 2508.07534, section 2.2) are functions of log-probabilities over the full
vocabulary, such as `logits.log_softmax(-1)`. `evals.analysis.token_pass` has them for every token of a response.

G_t (Eq. 4 and A.1): with logits z = W h, the gradient of alpha log pi(o) with respect to W is alpha (e(o) - pi) h^T, a
product of two vectors, so its Frobenius norm is |alpha| ||e(o) - pi|| ||h||.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

_TRIED = (32, 512, 8192)  # number of most probable tokens to try before sorting all


def entropy(log_p: Tensor) -> Tensor:
    """-sum p log p of each distribution, in nats  (Eq. 3). [..., V] -> [...]. Zero probabilities (-inf) count as 0."""
    import torch

    finite = log_p.clamp(min=torch.finfo(log_p.dtype).min)  # 0 times it is 0, 0 times -inf is not
    return -(log_p.exp() * finite).sum(-1)


def branching_factor(log_p: Tensor, *, mass: float) -> Tensor:
    """The size of the smallest set of tokens whose probability is at least `mass`. [..., V] -> [...], whole numbers.

    Sums are in float64. The most probable tokens are tried first, because they mostly suffice and sorting the whole
    vocabulary for each token is slow.

    Raises:
        ValueError: mass outside (0, 1].
    """
    if not 0 < mass <= 1:
        raise ValueError(f"mass: expected a number in (0, 1], got {mass}")
    rows = log_p.reshape(-1, log_p.shape[-1])
    size = rows.new_zeros(len(rows)).long()
    left = size.new_ones(len(rows)).nonzero().squeeze(1)  # rows whose set is not complete yet
    for count in (*(k for k in _TRIED if k < rows.shape[1]), rows.shape[1]):
        p = rows[left].topk(count).values.exp().double()
        total = p.cumsum(-1)
        # a token is in the set if the more probable ones do not reach the mass
        size[left] = ((total - p < mass) & (p > 0)).sum(-1)
        left = left[total[:, -1] < mass]
        if not len(left):
            break
    return size.reshape(log_p.shape[:-1])


def output_error(log_p: Tensor, tokens: Tensor) -> Tensor:
    """||e(o) - pi||, the length of the gradient of log pi(o) with respect to the logits.

    Args:
        log_p: [..., V], log-probabilities. tokens: [...], the tokens o.
    Returns:
        [...], in [0, sqrt 2]: 0 for a token that is certain.
    """
    at = tokens.unsqueeze(-1)
    unsampled: Tensor = log_p.exp().scatter(-1, at, 0.0).norm(dim=-1)
    sampled = -log_p.gather(-1, at).squeeze(-1).expm1()  # 1 - pi(o), exact where pi(o) is nearly 1
    return (sampled.square() + unsampled.square()).sqrt()


def update_size(log_p: Tensor, tokens: Tensor, hidden: Tensor) -> Tensor:
    """G_t = |alpha_t| ||e(o_t) - pi|| ||h_t|| for |alpha_t| = 1  (Eq. 4). alpha_t is the factor of log pi's gradient.

    Args:
        log_p: [..., V]. tokens: [...]. hidden: [..., d], what the output layer reads.
    """
    length: Tensor = hidden.norm(dim=-1)
    return output_error(log_p, tokens) * length
