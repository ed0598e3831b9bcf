"""The entropy advantage: derived values, properties, and a slow version in loops."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from harness.batch import TokenBatch
from reproductions.entropy_advantage.method import entropy_advantage
from tests.batches import padded, permuted, token_batches


def slow_entropy_advantage(batch: TokenBatch, alpha: float, kappa: float) -> torch.Tensor:
    """psi = min(alpha H, |A| / kappa), A + psi: cell by cell in Python floats."""
    assert batch.advantages is not None and batch.entropies is not None
    shaped = torch.zeros_like(batch.advantages)
    for i, row in enumerate(batch.mask.tolist()):
        for t, counts in enumerate(row):
            if counts:
                a, h = float(batch.advantages[i, t]), float(batch.entropies[i, t])
                shaped[i, t] = a + min(alpha * h, abs(a) / kappa)
    return shaped


def test_by_hand() -> None:
    # alpha 0.4, kappa 2.  A=1, H=1: min(0.4, 0.5) = 0.4 -> 1.4.  A=1, H=2: min(0.8, 0.5) = 0.5 -> 1.5.
    # A=-1, H=2: -1 + 0.5 = -0.5 (a wrong token is punished less where the policy was unsure).  A=0: stays 0.
    batch = TokenBatch(
        rewards=torch.zeros(1),
        groups=torch.tensor([0]),
        mask=torch.ones(1, 4, dtype=torch.bool),
        vocab_size=9,
        max_tokens=9,
        advantages=torch.tensor([[1.0, 1.0, -1.0, 0.0]]),
        entropies=torch.tensor([[1.0, 2.0, 2.0, 2.0]]),
    )
    assert torch.allclose(entropy_advantage(batch, alpha=0.4, kappa=2.0), torch.tensor([[1.4, 1.5, -0.5, 0.0]]))


@given(token_batches(), st.floats(0.01, 5), st.floats(1.01, 10))
def test_equals_the_loops_keeps_the_sign_and_never_lowers(batch: TokenBatch, alpha: float, kappa: float) -> None:
    shaped = entropy_advantage(batch, alpha=alpha, kappa=kappa)
    assert torch.allclose(shaped, slow_entropy_advantage(batch, alpha, kappa), atol=1e-12)
    advantages = batch.need("advantages")
    assert torch.equal(shaped.sign(), advantages.sign())
    assert (shaped >= advantages).all()


@given(token_batches())
def test_order_and_padding_change_nothing(batch: TokenBatch) -> None:
    want = entropy_advantage(batch, alpha=0.4, kappa=2.0)
    order = torch.randperm(len(batch.rewards), generator=torch.Generator().manual_seed(2))
    assert torch.equal(entropy_advantage(permuted(batch, order), alpha=0.4, kappa=2.0), want[order])
    assert torch.equal(entropy_advantage(padded(batch, 2), alpha=0.4, kappa=2.0)[:, :-2], want)


def test_bad_values_are_named() -> None:
    batch = TokenBatch(
        rewards=torch.zeros(1),
        groups=torch.tensor([0]),
        mask=torch.ones(1, 1, dtype=torch.bool),
        vocab_size=9,
        max_tokens=9,
        advantages=torch.zeros(1, 1),
        entropies=torch.zeros(1, 1),
    )
    with pytest.raises(ValueError, match="kappa: expected > 1"):
        entropy_advantage(batch, alpha=0.4, kappa=1.0)
    with pytest.raises(ValueError, match="alpha: expected > 0"):
        entropy_advantage(batch, alpha=0.0, kappa=2.0)
