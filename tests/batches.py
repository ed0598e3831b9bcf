"""Random token batches for property tests, in float64, with garbage on the masked positions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch
from hypothesis import strategies as st

from harness.step.batch import SIGNALS, TokenBatch

VOCAB = 50


@st.composite
def token_batches(draw: st.DrawFn, max_groups: int = 3, max_group: int = 4, max_tokens: int = 5) -> TokenBatch:
    """Groups of unequal size, lengths from 0 (an empty response) to max_tokens, some rewards equal, some NaN."""
    sizes = draw(st.lists(st.integers(1, max_group), min_size=1, max_size=max_groups))
    groups = torch.tensor([g for g, size in enumerate(sizes) for _ in range(size)])
    rows = len(groups)
    tokens = draw(st.integers(1, max_tokens))
    lengths = draw(st.lists(st.integers(0, tokens), min_size=rows, max_size=rows))
    rewards = draw(st.lists(st.sampled_from([0.0, 1.0, 0.7, -1.0, float("nan")]), min_size=rows, max_size=rows))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    mask = torch.arange(tokens) < torch.tensor(lengths).unsqueeze(1)

    def field(scale: float, *, positive: bool = False) -> torch.Tensor:
        values = torch.randn(rows, tokens, generator=generator, dtype=torch.float64) * scale
        return (values.abs() if positive else values).masked_fill(~mask, float("nan"))

    def of_prompts(values: st.SearchStrategy[float]) -> torch.Tensor:
        drawn = draw(st.lists(values, min_size=len(sizes), max_size=len(sizes)))
        return torch.tensor(drawn, dtype=torch.float64)[groups]

    return TokenBatch(
        rewards=torch.tensor(rewards, dtype=torch.float64),
        groups=groups,
        mask=mask,
        vocab_size=VOCAB,
        max_tokens=9,
        step=0,
        seed=0,
        advantages=field(1.0),
        entropies=field(1.5, positive=True),
        pi_squared=field(0.3, positive=True).clamp(max=1.0),
        logp=-field(1.0, positive=True),
        old_logp=-field(1.0, positive=True),
        ref_logp=-field(1.0, positive=True),
        old_entropies=field(1.5, positive=True),
        values=field(1.0),
        greedy_rewards=of_prompts(st.sampled_from([0.0, 1.0, float("nan")])),
        base_accuracy=of_prompts(st.sampled_from([0.0, 0.25, 1.0])),
        correct=(torch.tensor(rewards, dtype=torch.float64) > 0)
        .double()
        .masked_fill(torch.tensor(rewards).isnan(), math.nan),
        response_draw=torch.rand(rows, generator=generator, dtype=torch.float64),
        answer_draw=torch.rand(rows, generator=generator, dtype=torch.float64),
        rollout_logp=-field(1.0, positive=True),
    )


def one_group(**fields: torch.Tensor) -> TokenBatch:
    """Responses of one group with these fields, the first of them [B, T]. Every token counts and rewards are 0, unless
    `mask`, `rewards` or `groups` say otherwise."""
    shape = next(iter(fields.values())).shape
    given = {
        "rewards": torch.zeros(shape[0]),
        "groups": torch.zeros(shape[0], dtype=torch.int64),
        "mask": torch.ones(shape, dtype=torch.bool),
        **fields,
    }
    return TokenBatch(vocab_size=VOCAB, max_tokens=9, step=0, seed=0, **given)


def permuted(batch: TokenBatch, order: torch.Tensor) -> TokenBatch:
    """The same sequences in another order."""
    parts = None if batch.reward_parts is None else batch.reward_parts[order]
    return replace(_mapped(batch, lambda t: t[order]), reward_parts=parts)


def padded(batch: TokenBatch, columns: int) -> TokenBatch:
    """The same sequences with masked columns (NaN) appended."""

    def pad(t: torch.Tensor) -> torch.Tensor:
        if t.dim() == 1:
            return t
        tail = torch.full((len(t), columns), 0 if t.dtype == torch.bool else float("nan"), dtype=t.dtype)
        return torch.cat([t, tail], dim=1)

    return _mapped(batch, pad)


def _mapped(batch: TokenBatch, function: Callable[[torch.Tensor], torch.Tensor]) -> TokenBatch:
    names = ("rewards", "groups", "mask", "advantages", *SIGNALS)
    return replace(batch, **{name: function(getattr(batch, name)) for name in names})
