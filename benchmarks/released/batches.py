"""The batches that released code and the paper's equation both get: drawn, or sampled from the tiny model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

LENGTHS = (12, 7, 3, 1, 9, 12, 5, 8, 2, 12, 6, 10, 4, 11, 1, 12)
REWARDS = (1, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 1)
GROUP, RANKS = 4, 3
RARE, LOG_RATIO = -2.9, 2.6  # a log-probability with room for a ratio of e^2.6 = 13.5, above a dual clip of 10
EQUAL_GROUP = 3  # all its rewards are 1, so its advantages are 0


@dataclass(frozen=True)
class Drawn:
    """One rollout of two optimiser steps. The first half of the rows is the first step. Float64.

    Args:
        name: as the page prints it.
        logp, old_logp, advantages, entropies, old_entropies: [B, T], 0 where masked. "old": of the sampling policy.
        top_logp, old_top_logp: [B, T, RANKS], of the policy's likeliest tokens. is_top: [B, T], 1 where the sampled
            token is the likeliest.
        mask: bool [B, T]. rewards: [B], 0 or 1. groups: int64 [B].
    """

    name: str
    logp: Tensor
    old_logp: Tensor
    advantages: Tensor
    entropies: Tensor
    old_entropies: Tensor
    top_logp: Tensor
    old_top_logp: Tensor
    is_top: Tensor
    mask: Tensor
    rewards: Tensor
    groups: Tensor

    def rows(self, at: slice | Tensor) -> Drawn:
        """Some rows of it."""
        return replace(self, **{f.name: getattr(self, f.name)[at] for f in fields(self) if f.name != "name"})

    def steps(self) -> Iterator[Drawn]:
        """Its two optimiser steps."""
        half = len(self.rewards) // 2
        yield self.rows(slice(0, half))
        yield self.rows(slice(half, None))

    def with_gradient(self) -> tuple[Drawn, list[Tensor]]:
        """The batch with fresh leaves for what a loss differentiates, and these leaves."""
        leaves = [self.logp.clone().requires_grad_(True), self.top_logp.clone().requires_grad_(True)]
        return replace(self, logp=leaves[0], top_logp=leaves[1]), leaves

    def as_dict(self) -> dict[str, Tensor | str]:
        """For a file: tensors and one string."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


def flat_gradient(leaves: list[Tensor]) -> Tensor:
    """The gradients of all leaves in one vector, float64, 0 where a loss does not reach a leaf."""
    parts = [torch.zeros_like(leaf) if leaf.grad is None else leaf.grad for leaf in leaves]
    return torch.cat([part.double().flatten() for part in parts])


def group_advantages(rewards: Tensor, groups: Tensor) -> Tensor:
    """(r - mean) / (std + 1e-6) in each group, n - 1 in the deviation: [B]."""
    advantages = torch.zeros_like(rewards)
    for number in groups.unique():
        members = groups == number
        advantages[members] = (rewards[members] - rewards[members].mean()) / (rewards[members].std() + 1e-6)
    return advantages


def drawn(name: str, seed: int, *, largest_log_ratio: float | None = None, entropy_grid: float | None = None) -> Drawn:
    """16 responses of 1 to 12 tokens: 4 groups of 4, one with equal rewards, ratios from 0.07 to 13.5.

    Args:
        largest_log_ratio: keep |log ratio| at most this.
        entropy_grid: round entropies to its multiples, so that they tie.
    """
    generator = torch.Generator().manual_seed(seed)
    rows, length = len(LENGTHS), max(LENGTHS)
    mask = torch.arange(length)[None] < torch.tensor(LENGTHS)[:, None]
    groups = torch.arange(rows) // GROUP
    rewards = torch.tensor(REWARDS, dtype=torch.float64)
    rewards[groups == EQUAL_GROUP] = 1.0
    advantages = group_advantages(rewards, groups)[:, None].expand(rows, length).clone()

    def uniform(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    old = -3 * uniform(rows, length) - 0.02
    # The drawn ratios stay below 10. These four tokens reach both far sides with both signs of the advantage.
    high, low = ((0, 1), (1, 2)), ((3, 0), (4, 3))
    for at in high:
        old[at] = RARE
    logp = old + 0.5 * normal(rows, length)
    for at in high:
        logp[at] = old[at] + LOG_RATIO
    for at in low:
        logp[at] = old[at] - LOG_RATIO
    if largest_log_ratio is not None:
        logp = torch.minimum(torch.maximum(logp, old - largest_log_ratio), old + largest_log_ratio)
    logp = logp.clamp(max=-1e-3)
    entropies = 2 * uniform(rows, length)
    if entropy_grid is not None:
        entropies = (entropies / entropy_grid).round() * entropy_grid
    old_entropies = entropies * (1 + 0.08 * normal(rows, length))
    top = -uniform(rows, length, RANKS).cumsum(-1) - 0.05
    old_top = top + 0.3 * normal(rows, length, RANKS)
    is_top = (uniform(rows, length) < 0.6).double()

    def padded(values: Tensor) -> Tensor:
        return values.masked_fill(~(mask if values.dim() == 2 else mask[..., None]), 0.0)

    return Drawn(
        name,
        *(padded(v) for v in (logp, old, advantages, entropies, old_entropies, top, old_top, is_top)),
        mask=mask,
        rewards=rewards,
        groups=groups,
    )


def from_tiny_model() -> Drawn:
    """The batch of `benchmarks.frameworks`: responses of the tiny model, its entropies and likeliest tokens."""
    from benchmarks import frameworks

    policy, ids, attention, batch = frameworks.sampled()
    with torch.no_grad():
        logits = policy(input_ids=ids, attention_mask=attention).logits[:, -frameworks.LENGTH - 1 : -1].double()
    distribution = logits.log_softmax(-1)
    top, tokens = distribution.topk(RANKS)
    mask, rewards = batch.mask, batch.rewards.nan_to_num(0.0).double()
    generator = torch.Generator().manual_seed(0)
    entropies = -(distribution.exp() * distribution).sum(-1)

    def padded(values: Tensor) -> Tensor:
        return values.double().masked_fill(~(mask if values.dim() == 2 else mask[..., None]), 0.0)

    def noisy(values: Tensor, share: float) -> Tensor:
        return values * (1 + share * torch.randn(values.shape, generator=generator, dtype=torch.float64))

    return Drawn(
        "tiny model",
        logp=padded(batch.need("logp")),
        old_logp=padded(batch.need("old_logp")),
        advantages=padded(group_advantages(rewards, batch.groups)[:, None].expand(mask.shape)),
        entropies=padded(entropies),
        old_entropies=padded(noisy(entropies, 0.08)),
        top_logp=padded(top),
        old_top_logp=padded(noisy(top, 0.02)),
        is_top=padded(ids[:, -frameworks.LENGTH :] == tokens[..., 0]),
        mask=mask,
        rewards=rewards,
        groups=batch.groups,
    )


DESCRIBED = {
    "drawn": "16 responses of 1 to 12 tokens in 4 groups, one of equal rewards; ratios from 0.07 to 13.5",
    "drawn again": "the same with other numbers",
    "ratios in [0.55, 1.8]": "the first without ratios that reach a dual clip or a clip of 1",
    "tied entropies": "entropies are multiples of 0.5",
    "tiny model": "the batch of [frameworks](frameworks.md): 128 responses of the tiny model, ratios near 1",
}


def all_batches() -> tuple[Drawn, ...]:
    """Every case gets these. `DESCRIBED` says what they are."""
    return (
        drawn("drawn", 0),
        drawn("drawn again", 1),
        drawn("ratios in [0.55, 1.8]", 0, largest_log_ratio=0.58),
        drawn("tied entropies", 2, entropy_grid=0.5),
        from_tiny_model(),
    )


def branches(batch: Drawn) -> frozenset[str]:
    """The branches of a loss that the batch reaches. A fault in a branch that no batch reaches stays invisible."""
    ratio, advantages, mask = (batch.logp - batch.old_logp).exp(), batch.advantages, batch.mask
    lengths = mask.sum(1)
    tested = {
        "ratio above 1.28, A > 0": (ratio > 1.28) & (advantages > 0),
        "ratio above 1.28, A < 0": (ratio > 1.28) & (advantages < 0),
        "ratio below 0.8, A > 0": (ratio < 0.8) & (advantages > 0),
        "ratio below 0.8, A < 0": (ratio < 0.8) & (advantages < 0),
        "ratio above 10, A > 0": (ratio > 10) & (advantages > 0),
        "ratio above 10, A < 0": (ratio > 10) & (advantages < 0),
        "zero advantage": advantages == 0,
        "one token": (lengths == 1)[:, None] & mask,
        "full length": (lengths == mask.shape[1])[:, None] & mask,
    }
    reached = {name for name, where in tested.items() if bool((where & mask).any())}
    values = batch.entropies[mask]
    return frozenset(reached | ({"tied entropies"} if len(values.unique()) < len(values) else set()))


BRANCHES = frozenset(
    {
        *(f"ratio {side}, A {sign} 0" for side in ("above 1.28", "below 0.8", "above 10") for sign in "<>"),
        *("zero advantage", "one token", "full length", "tied entropies"),
    }
)
