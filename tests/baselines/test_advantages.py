"""RLOO, REINFORCE++ and GPG advantages, and the off-policy mask: by hand, and against loops."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace

import pytest
import torch
from hypothesis import given

from baselines.gpg import gpg
from baselines.off_policy_mask import off_policy_mask
from baselines.reinforce_pp import reinforce_pp
from baselines.rloo import rloo
from harness.step.batch import TokenBatch
from tests.baselines.test_grpo import batch_of
from tests.batches import padded, permuted, token_batches

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
def test_equal_the_slow_versions_in_any_order_and_padding(batch: TokenBatch) -> None:
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
    order = torch.arange(len(mask)).flip(0)
    torch.testing.assert_close(rloo(permuted(batch, order)), rloo(batch)[order])
    torch.testing.assert_close(gpg(padded(batch, 2), scale=1.0)[:, : mask.shape[1]], gpg(batch, scale=1.0))


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
