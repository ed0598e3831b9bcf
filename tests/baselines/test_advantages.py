"""RLOO, REINFORCE++ and GPG advantages, and the off-policy mask: by hand, and against loops."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace

import pytest
import torch
from hypothesis import given

from baselines.a_star_po import a_star_po
from baselines.gpg import gpg
from baselines.lite_ppo import lite_ppo
from baselines.maxrl import maxrl
from baselines.off_policy_mask import off_policy_mask
from baselines.opo import opo
from baselines.otb import otb
from baselines.reinforce_pp import reinforce_pp
from baselines.remax import remax
from baselines.rloo import rloo
from harness.step.batch import TokenBatch
from tests.baselines.test_grpo import batch_of
from tests.batches import token_batches

NAN = math.nan


def slow_rloo(batch: TokenBatch) -> list[float]:
    advantages = []
    for r, peers in zip(batch.rewards.tolist(), peers_of(batch), strict=True):
        alone = math.isnan(r) or len(peers) < 2
        advantages.append(0.0 if alone else r - (sum(q for q, _ in peers) - r) / (len(peers) - 1))
    return advantages


def slow_gpg(batch: TokenBatch, scale: float) -> list[float]:
    learn, scored = slow_informative(batch), sum(not math.isnan(r) for r in batch.rewards.tolist())
    rows = zip(batch.rewards.tolist(), learn, peers_of(batch), strict=True)
    return [
        scored / sum(learn) * (r - statistics.fmean(q for q, _ in peers)) / scale if learns else 0.0
        for r, learns, peers in rows
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


def slow_otb(batch: TokenBatch, epsilon: float) -> torch.Tensor:
    """Position by position: the mean of the rewards of the responses that reach it, by the gradient gathered so far."""
    energy = (1 - 2 * batch.need("logp").exp() + batch.need("pi_squared")).double()
    rewards, groups, lengths = batch.rewards.tolist(), batch.groups.tolist(), batch.mask.sum(1).tolist()
    advantages = torch.zeros(batch.mask.shape, dtype=torch.float64)
    for i, (r, length) in enumerate(zip(rewards, lengths, strict=True)):
        for t in range(0 if math.isnan(r) else length):
            peers = [j for j, q in enumerate(rewards) if groups[j] == groups[i] and lengths[j] > t and q == q]
            weights = [sum(float(energy[j, s]) for s in range(t + 1)) for j in peers]
            weighted = sum(w * rewards[j] for w, j in zip(weights, peers, strict=True))
            total = sum(weights)
            baseline = weighted / (total + epsilon) if len(peers) > 1 and total else 0.0
            advantages[i, t] = r - baseline
    return advantages


def slow_informative(batch: TokenBatch) -> list[float]:
    pairs = zip(batch.rewards.tolist(), peers_of(batch), strict=True)
    return [float(not math.isnan(r) and len({q for q, _ in peers}) > 1) for r, peers in pairs]


def slow_remax(batch: TokenBatch) -> list[float]:
    pairs = zip(batch.rewards.tolist(), batch.need("greedy_rewards").tolist(), strict=True)
    return [0.0 if math.isnan(r - greedy) else r - greedy for r, greedy in pairs]


def slow_off_policy_mask(batch: TokenBatch, threshold: float) -> torch.Tensor:
    gates, left = batch.mask.double(), batch.need("old_logp") - batch.need("logp")
    for i, length in enumerate(batch.mask.sum(1).tolist()):
        away = sum(left[i, :length].tolist()) / max(length, 1)
        for t in range(length):
            gates[i, t] = float(not (batch.need("advantages")[i, t] < 0 and away > threshold))
    return gates


def slow_a_star_po(batch: TokenBatch, beta1: float, beta2: float) -> list[float]:
    """The derivative of -(beta2 m - (r - V))^2 by m, m = log(pi / pi_ref) of the response. V from eight samples of 0
    and 1, as the authors' code computes it from columns of rewards."""
    advantages = []
    moved = (batch.need("logp") - batch.need("ref_logp")).sum(1).tolist()
    for r, m, p in zip(batch.rewards.tolist(), moved, batch.need("base_accuracy").tolist(), strict=True):
        samples = [1.0] * round(8 * p) + [0.0] * (8 - round(8 * p))
        value = beta1 * math.log(statistics.fmean(math.exp(s / beta1) for s in samples))
        advantages.append(0.0 if math.isnan(r) else -2 * beta2 * (beta2 * m - (r - value)))
    return advantages


def slow_lite_ppo(batch: TokenBatch, epsilon: float) -> list[float]:
    every = [r for r in batch.rewards.tolist() if not math.isnan(r)]
    deviation = statistics.stdev(every) if len(set(every)) > 1 else 0.0
    means = [statistics.fmean(r for r, _ in peers) if peers else 0.0 for peers in peers_of(batch)]
    return [
        0.0 if math.isnan(r) or not deviation else (r - m) / (deviation + epsilon)
        for r, m in zip(batch.rewards.tolist(), means, strict=True)
    ]


def slow_reinforce_pp(batch: TokenBatch, baseline: str) -> list[float]:
    returns, lengths = [], batch.mask.sum(1).tolist()
    for r, peers in zip(batch.rewards.tolist(), peers_of(batch), strict=True):
        returns.append(r - statistics.fmean(q for q, _ in peers) if baseline == "group" and len(peers) > 1 else r)
    tokens = [g for g, n in zip(returns, lengths, strict=True) for _ in range(n) if not math.isnan(g)] or [0.0]
    mean = sum(tokens) / len(tokens)
    variance = sum((g - mean) ** 2 for g in tokens) / max(len(tokens) - 1, 1)
    return [0.0 if math.isnan(g) else (g - mean) / math.sqrt(variance + 1e-8) for g in returns]


def test_the_newer_advantages_by_hand() -> None:
    # MaxRL: mean 1/4. (1 - 1/4) / (1/4) = 3, (0 - 1/4) / (1/4) = -1. A group without a correct response: 0
    got = maxrl(batch_of([1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1]), epsilon=0.0).flatten().tolist()
    assert got == pytest.approx([3, -1, -1, -1, 0, 0])
    # OPO: r = 1, 0 with 3 tokens and 1: baseline 3/4
    batch = replace(batch_of([1, 0], [0, 0]), mask=torch.tensor([[True, True, True], [True, False, False]]))
    assert opo(batch)[:, 0].tolist() == pytest.approx([0.25, -0.75])
    # Lite PPO: r = 1, 0, 1, 1: the batch's sample variance is (1/16 x 3 + 9/16) / 3 = 1/4, so 1/2
    got = lite_ppo(batch_of([1, 0, 1, 1], [0, 0, 1, 1]), epsilon=0.0).flatten().tolist()
    assert got == pytest.approx([1, -1, 0, 0])


def test_otb_by_hand() -> None:
    # two responses, r = 1, 0. The first token's squared gradients are 1/2 and 1: B = 1/2 / (1/2 + 1) = 1/3. The second
    # token is the first response's alone: no baseline
    logp = torch.tensor([[0.5, 0.5], [0.25, 0.0]], dtype=torch.float64).log().nan_to_num(0.0)
    batch = replace(
        batch_of([1, 0], [0, 0]),
        mask=torch.tensor([[True, True], [True, False]]),
        logp=logp,
        pi_squared=torch.tensor([[0.5, 0.5], [0.5, math.nan]], dtype=torch.float64),
    )
    assert otb(batch, epsilon=0.0).flatten().tolist() == pytest.approx([2 / 3, 1, -1 / 3, 0])
    # a token with one possible value has no gradient: where all have none, the baseline is 0 and not 0 / 0
    sure = replace(batch, logp=logp * 0, pi_squared=logp * 0 + 1)
    assert otb(sure, epsilon=0.0)[:, 0].tolist() == [1, 0]


def test_remax_by_hand() -> None:
    # the greedy responses of the two prompts get 1 and 0. An unscored response, or greedy response, gives 0
    batch = replace(
        batch_of([1, 0, NAN, 1, 1], [0, 0, 0, 1, 2]), greedy_rewards=torch.tensor([1.0, 1, 1, 0, NAN]).double()
    )
    assert remax(batch).flatten().tolist() == [0, -1, 0, 1, 0]


def test_a_small_beta1_asks_for_the_best_of_the_base_models_samples() -> None:
    batch = replace(batch_of([0, 0], [0, 1]), base_accuracy=torch.tensor([0.125, 0.0]).double())
    zeros = torch.zeros(2, 1).double()
    got = a_star_po(replace(batch, logp=zeros, ref_logp=zeros), beta1=1e-4, beta2=0.5)
    # V = 1e-4 ln(e^10000 / 8 + 7 / 8), about 1 - 1e-4 ln 8, and 1e-4 ln 1 = 0: e^10000 is too large for a float
    assert got.flatten().tolist() == pytest.approx([-1 + 1e-4 * math.log(8), 0])


def test_the_squared_gradient_that_otb_gathers_is_autograds() -> None:
    logits = torch.randn(5, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    p = logits.softmax(0)
    (slope,) = torch.autograd.grad(p[2].log(), logits, retain_graph=True)
    assert float((slope**2).sum()) == pytest.approx((1 - 2 * p[2] + (p**2).sum()).item())


def test_the_mean_that_opo_subtracts_leaves_no_token_weighted_sum() -> None:
    batch = replace(batch_of([1, 0, 0.5], [0, 0, 0]), mask=torch.arange(5) < torch.tensor([5, 2, 4]).unsqueeze(1))
    assert float(opo(batch).sum()) == pytest.approx(0)  # sum over tokens of A is sum |o| (r - b) = 0


def test_by_hand() -> None:
    # r = 1, 0, 0: the others' means are 0, 1/2, 1/2
    assert rloo(batch_of([1, 0, 0], [0, 0, 0])).flatten().tolist() == pytest.approx([1, -0.5, -0.5])
    assert rloo(batch_of([1, NAN, 0, 1], [0, 0, 0, 1])).flatten().tolist() == pytest.approx([1, 0, -1, 0])
    # two groups of two, one without a gradient: B = 4, M = 2, alpha = 2. 2 (1 - 1/2) = 1
    assert gpg(batch_of([1, 0, 1, 1], [0, 0, 1, 1]), scale=1.0).flatten().tolist() == pytest.approx([1, -1, 0, 0])
    # r = 1, 0, 0, 1: mean 1/2, sample variance 1/3
    got, half = (
        reinforce_pp(batch_of([1, 0, 0, 1], [0, 0, 1, 1]), baseline="none").flatten().tolist(),
        0.5 * math.sqrt(3),
    )
    assert got == pytest.approx([half, -half, -half, half])


@given(token_batches())
def test_on_policy_the_off_policy_mask_drops_nothing(batch: TokenBatch) -> None:
    same = replace(batch, old_logp=batch.logp)
    assert torch.equal(off_policy_mask(same, threshold=0.0).bool(), batch.mask)
