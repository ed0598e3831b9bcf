"""Generalised advantage estimation: derived values, the sum of the definition, properties."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from hypothesis import given
from hypothesis import strategies as st

from baselines.ppo import gae
from harness.step.batch import TokenBatch
from tests.batches import one_group, padded, permuted, token_batches


def slow_gae(batch: TokenBatch, gamma: float, lam: float, whiten: bool) -> torch.Tensor:
    """The sum over all later steps of each token, written out. Then the whitening."""
    assert batch.values is not None
    advantages = torch.zeros(batch.mask.shape, dtype=torch.float64)
    held = []
    for i, reward in enumerate(batch.rewards.tolist()):
        steps = [t for t in range(batch.mask.shape[1]) if batch.mask[i, t]]
        if math.isnan(reward):
            continue
        v = [float(batch.values[i, t]) for t in steps] + [0.0]
        r = [0.0] * (len(steps) - 1) + [reward]
        delta = [r[j] + gamma * v[j + 1] - v[j] for j in range(len(steps))]
        for j, t in enumerate(steps):
            advantages[i, t] = sum((gamma * lam) ** m * delta[j + m] for m in range(len(steps) - j))
            held.append((i, t))
    if whiten and held:
        values = [float(advantages[cell]) for cell in held]
        mean = sum(values) / len(values)
        variance = sum((x - mean) ** 2 for x in values) / max(len(values) - 1, 1)
        for cell in held:
            advantages[cell] = (advantages[cell] - mean) / math.sqrt(variance + 1e-8)
    return advantages


def test_by_hand() -> None:
    # r = 1 on the last of three tokens, V = 0.2, 0.5, 0.4.
    # gamma = lambda = 1: r - V = 0.8, 0.5, 0.6.
    # gamma 1, lambda 0: d = 0.5 - 0.2, 0.4 - 0.5, 1 - 0.4 = 0.3, -0.1, 0.6.
    # gamma 1/2, lambda 1/2: d = 0.05, -0.3, 0.6. A_3 = 0.6, A_2 = -0.3 + 0.15 = -0.15, A_1 = 0.05 - 0.0375 = 0.0125
    batch = one_group(
        mask=torch.tensor([[True, True, True, False]]),
        rewards=torch.tensor([1.0]),
        values=torch.tensor([[0.2, 0.5, 0.4, 7.0]]),
    )
    for gamma, lam, want in (
        (1.0, 1.0, [0.8, 0.5, 0.6, 0.0]),
        (1.0, 0.0, [0.3, -0.1, 0.6, 0.0]),
        (0.5, 0.5, [0.0125, -0.15, 0.6, 0.0]),
    ):
        assert torch.allclose(gae(batch, gamma=gamma, lam=lam, whiten=False), torch.tensor([want]))


@given(token_batches(), st.floats(0, 1), st.floats(0, 1), st.booleans())
def test_equals_the_sum(batch: TokenBatch, gamma: float, lam: float, whiten: bool) -> None:
    got = gae(batch, gamma=gamma, lam=lam, whiten=whiten)
    assert torch.allclose(got, slow_gae(batch, gamma, lam, whiten), atol=1e-9)
    assert not got[~batch.mask].any() and not got[batch.rewards.isnan()].any()
    order = torch.randperm(len(got), generator=torch.Generator().manual_seed(1))
    assert torch.allclose(gae(permuted(batch, order), gamma=gamma, lam=lam, whiten=whiten), got[order])
    assert torch.allclose(gae(padded(batch, 2), gamma=gamma, lam=lam, whiten=whiten)[:, :-2], got)


@given(token_batches())
def test_whitened_has_mean_zero(batch: TokenBatch) -> None:
    got = gae(batch, gamma=1.0, lam=1.0, whiten=True)
    valid = batch.mask & ~batch.rewards.isnan().unsqueeze(1)
    if valid.any():
        assert abs(float(got[valid].mean())) < 1e-9
        equal_values = replace(
            batch, values=torch.ones_like(batch.mask, dtype=torch.float64), rewards=batch.rewards * 0 + 1
        )
        assert gae(equal_values, gamma=1.0, lam=1.0, whiten=True).abs().max() == 0  # equal advantages become 0
