"""RLOO, REINFORCE++ and GPG advantages, and the off-policy mask: by hand, and against loops."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace

import pytest
import torch
from hypothesis import given

from baselines.gpg import gpg
from baselines.lite_ppo import lite_ppo
from baselines.maxrl import maxrl
from baselines.off_policy_mask import off_policy_mask
from baselines.opo import opo
from baselines.reinforce_pp import reinforce_pp
from baselines.rloo import rloo
from harness.step.batch import TokenBatch
from tests.baselines.test_grpo import batch_of
from tests.batches import token_batches

NAN = math.nan


def slow_rloo(batch: TokenBatch) -> list[float]:
    rewards, groups = batch.rewards.tolist(), batch.groups.tolist()
    advantages = []
    for i, r in enumerate(rewards):
        others = [q for j, q in enumerate(rewards) if j != i and groups[j] == groups[i] and not math.isnan(q)]
        advantages.append(0.0 if math.isnan(r) or not others else r - sum(others) / len(others))
    return advantages


def slow_gpg(batch: TokenBatch, scale: float) -> list[float]:
    rewards, groups = batch.rewards.tolist(), batch.groups.tolist()
    of = {g: [r for r, h in zip(rewards, groups, strict=True) if h == g and not math.isnan(r)] for g in set(groups)}
    total = sum(len(rs) for rs in of.values())
    kept = sum(len(rs) for rs in of.values() if len(set(rs)) > 1)
    return [
        0.0 if math.isnan(r) or len(set(of[g])) < 2 else total / kept * (r - statistics.fmean(of[g])) / scale
        for r, g in zip(rewards, groups, strict=True)
    ]


def peers_of(batch: TokenBatch) -> list[list[tuple[float, int]]]:
    """(reward, length) of the scored responses of each response's group."""
    rows = list(zip(batch.rewards.tolist(), batch.mask.sum(1).tolist(), batch.groups.tolist(), strict=True))
    return [[(r, n) for r, n, g in rows if g == group and not math.isnan(r)] for _, _, group in rows]


def slow_maxrl(batch: TokenBatch, epsilon: float) -> list[float]:
    means = [statistics.fmean(r for r, _ in peers) if peers else 0.0 for peers in peers_of(batch)]
    rewards = batch.rewards.tolist()
    return [0.0 if math.isnan(r) or m == 0 else (r - m) / (m + epsilon) for r, m in zip(rewards, means, strict=True)]


def slow_opo(batch: TokenBatch) -> list[float]:
    out = []
    for r, peers in zip(batch.rewards.tolist(), peers_of(batch), strict=True):
        tokens = sum(n for _, n in peers)
        baseline = sum(q * n for q, n in peers) / tokens if tokens else 0.0
        out.append(0.0 if math.isnan(r) else r - baseline)
    return out


def slow_lite_ppo(batch: TokenBatch, epsilon: float) -> list[float]:
    every = [r for r in batch.rewards.tolist() if not math.isnan(r)]
    deviation = statistics.stdev(every) if len(set(every)) > 1 else 0.0
    means = [statistics.fmean(r for r, _ in peers) if peers else 0.0 for peers in peers_of(batch)]
    return [
        0.0 if math.isnan(r) or not deviation else (r - m) / (deviation + epsilon)
        for r, m in zip(batch.rewards.tolist(), means, strict=True)
    ]


def slow_reinforce_pp(batch: TokenBatch, baseline: str) -> list[list[float]]:
    rewards, groups, lengths = batch.rewards.tolist(), batch.groups.tolist(), batch.mask.sum(1).tolist()
    returns = []
    for i, r in enumerate(rewards):
        peers = [q for j, q in enumerate(rewards) if groups[j] == groups[i] and not math.isnan(q)]
        returns.append(r - statistics.fmean(peers) if baseline == "group" and len(peers) > 1 else r)
    tokens = [g for g, n in zip(returns, lengths, strict=True) for _ in range(n) if not math.isnan(g)]
    if not tokens:
        return [[0.0] * n for n in lengths]
    mean = sum(tokens) / len(tokens)
    variance = sum((g - mean) ** 2 for g in tokens) / max(len(tokens) - 1, 1)
    return [
        [0.0 if math.isnan(g) else (g - mean) / math.sqrt(variance + 1e-8)] * n
        for g, n in zip(returns, lengths, strict=True)
    ]


def test_the_newer_advantages_by_hand() -> None:
    # MaxRL: mean 1/4; (1 - 1/4) / (1/4) = 3, (0 - 1/4) / (1/4) = -1; a group without a correct response: 0
    got = maxrl(batch_of([1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1]), epsilon=0.0).flatten().tolist()
    assert got == pytest.approx([3, -1, -1, -1, 0, 0])
    # OPO: r = 1, 0 with 3 tokens and 1: baseline 3/4
    batch = replace(batch_of([1, 0], [0, 0]), mask=torch.tensor([[True, True, True], [True, False, False]]))
    assert opo(batch)[:, 0].tolist() == pytest.approx([0.25, -0.75])
    # Lite PPO: r = 1, 0, 1, 1: the batch's sample variance is (1/16 x 3 + 9/16) / 3 = 1/4, so 1/2
    got = lite_ppo(batch_of([1, 0, 1, 1], [0, 0, 1, 1]), epsilon=0.0).flatten().tolist()
    assert got == pytest.approx([1, -1, 0, 0])


@given(token_batches())
def test_the_newer_advantages_equal_their_slow_versions(batch: TokenBatch) -> None:
    positive = batch.with_rewards(batch.rewards.abs())  # MaxRL divides by the mean
    for got, slow, of in (
        (maxrl(positive, epsilon=1e-6), slow_maxrl(positive, 1e-6), positive),
        (opo(batch), slow_opo(batch), batch),
        (lite_ppo(batch, epsilon=1e-4), slow_lite_ppo(batch, 1e-4), batch),
    ):
        expected = torch.tensor(slow, dtype=torch.float64).unsqueeze(1) * of.mask
        torch.testing.assert_close(got, expected, rtol=1e-6, atol=1e-6)


def test_the_mean_that_opo_subtracts_leaves_no_token_weighted_sum() -> None:
    batch = replace(batch_of([1, 0, 0.5], [0, 0, 0]), mask=torch.arange(5) < torch.tensor([5, 2, 4]).unsqueeze(1))
    assert float(opo(batch).sum()) == pytest.approx(0)  # sum over tokens of A is sum |o| (r - b) = 0


def test_by_hand() -> None:
    # r = 1, 0, 0: the others' means are 0, 1/2, 1/2
    assert rloo(batch_of([1, 0, 0], [0, 0, 0])).flatten().tolist() == pytest.approx([1, -0.5, -0.5])
    assert rloo(batch_of([1, NAN, 0, 1], [0, 0, 0, 1])).flatten().tolist() == pytest.approx([1, 0, -1, 0])
    # two groups of two, one without a gradient: B = 4, M = 2, alpha = 2; 2 (1 - 1/2) = 1
    assert gpg(batch_of([1, 0, 1, 1], [0, 0, 1, 1]), scale=1.0).flatten().tolist() == pytest.approx([1, -1, 0, 0])
    # r = 1, 0, 0, 1: mean 1/2, sample variance 1/3
    got = reinforce_pp(batch_of([1, 0, 0, 1], [0, 0, 1, 1]), baseline="none").flatten().tolist()
    assert got == pytest.approx(
        [0.5 * math.sqrt(3), -0.5 * math.sqrt(3)] * 1 + [-0.5 * math.sqrt(3), 0.5 * math.sqrt(3)]
    )


@given(token_batches())
def test_equal_the_slow_versions(batch: TokenBatch) -> None:
    mask = batch.mask
    per_response = {"rloo": (rloo(batch), slow_rloo(batch)), "gpg": (gpg(batch, scale=2.0), slow_gpg(batch, 2.0))}
    for name, (got, want) in per_response.items():
        expected = torch.tensor(want, dtype=torch.float64).unsqueeze(1) * mask
        torch.testing.assert_close(got, expected, msg=name)
    for baseline in ("none", "group"):
        got = reinforce_pp(batch, baseline=baseline)  # type: ignore[arg-type]
        for i, row in enumerate(slow_reinforce_pp(batch, baseline)):
            assert got[i, : len(row)].tolist() == pytest.approx(row, abs=1e-6)
        assert not got[~mask].any()


@given(token_batches())
def test_the_off_policy_mask_drops_bad_responses_that_the_policy_left(batch: TokenBatch) -> None:
    assert batch.advantages is not None and batch.logp is not None and batch.old_logp is not None
    got = off_policy_mask(batch, threshold=0.2)
    for i, length in enumerate(batch.mask.sum(1).tolist()):
        away = sum((batch.old_logp[i, t] - batch.logp[i, t]).item() for t in range(length)) / max(length, 1)
        for t in range(length):
            assert got[i, t].item() == float(not (batch.advantages[i, t].item() < 0 and away > 0.2))
    same = replace(batch, old_logp=batch.logp)
    assert torch.equal(off_policy_mask(same, threshold=0.0), batch.mask.to(got.dtype))  # on-policy nothing is dropped
