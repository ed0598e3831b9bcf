"""STARE, ERC, REPO-R, FIPO, STAPO, QAE and REAL: by hand, by loops, and against autograd."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace

import pytest
import torch

from baselines.erc import erc
from baselines.fipo import fipo
from baselines.gpg import policy_gradient
from baselines.qae import qae
from baselines.real import real
from baselines.repo_r import repo_r
from baselines.stapo import stapo
from baselines.stare import stare
from harness.spec import use
from harness.step.batch import TokenBatch
from harness.step.loss import aggregation_coefficients, policy_loss
from tests import experiments
from tests.baselines.test_advantages import peers_of
from tests.baselines.test_grpo import batch_of
from tests.batches import one_group

NAN = math.nan
Place = tuple[int, int]


def places(batch: TokenBatch) -> list[Place]:
    """(row, column) of each token, in row order."""
    return [(i, t) for i, t in batch.mask.nonzero().tolist()]


def slow_stare(
    batch: TokenBatch, share: float, positive: float, negative: float, target_entropy: float
) -> torch.Tensor:
    shaped, logp, tokens = batch.need("advantages").clone(), batch.need("logp"), places(batch)
    entropies = [float(batch.need("entropies")[place]) for place in tokens]
    if not tokens or statistics.fmean(entropies) >= target_entropy:
        return shaped
    for sign, weight in ((1, positive), (-1, negative)):
        surprising = sorted((p for p in tokens if sign * shaped[p] > 0), key=lambda p: float(logp[p]))
        number = 0
        while number < share * len(surprising) - 1e-9:  # rounded up
            shaped[surprising[number]] *= weight
            number += 1
    return shaped


def slow_erc(batch: TokenBatch, low: float, high: float) -> torch.Tensor:
    gates = torch.zeros(batch.mask.shape, dtype=torch.float64)
    for place in places(batch):
        ratio = (float(batch.need("entropies")[place]) + 1e-8) / (float(batch.need("old_entropies")[place]) + 1e-8)
        gates[place] = float(1 - low < ratio < 1 + high)
    return gates


def slow_repo_r(batch: TokenBatch, zeta: float) -> torch.Tensor:
    shaped = batch.need("advantages").clone()
    for place in places(batch):
        a, surprise = float(shaped[place]), -float(batch.need("logp")[place])
        moved = a + zeta * abs(a) * surprise
        shaped[place] = moved if moved * a > 0 else 0.0
    return shaped


def slow_fipo(
    batch: TokenBatch, half_life: float, low: float, high: float, counted: float | None, safe: float | None
) -> torch.Tensor:
    shaped = batch.need("advantages").clone()
    logs = (batch.need("logp") - batch.need("old_logp")).tolist()
    for i, t in places(batch):
        later = [(k - t, logs[i][k]) for j, k in places(batch) if j == i and k >= t]
        future = sum(0.5 ** (ahead / half_life) * d for ahead, d in later if counted is None or math.exp(d) <= counted)
        factor = min(max(math.exp(future), 1 - low), 1 + high)
        if safe is not None and shaped[i, t] < 0 and math.exp(logs[i][t]) > safe:
            factor = min(factor, 1.0)
        shaped[i, t] *= factor
    return shaped


def slow_stapo(batch: TokenBatch, rarity: float, quantile: float) -> torch.Tensor:
    gates = batch.mask.double()
    probable = batch.need("logp").exp()
    rare = [p for p in places(batch) if batch.need("advantages")[p] > 0 and probable[p] < rarity]
    entropies = sorted(float(batch.need("entropies")[p]) for p in rare)
    if not rare:
        return gates
    at = quantile * (len(entropies) - 1)  # between two order statistics, in proportion
    under, over = entropies[math.floor(at)], entropies[math.ceil(at)]
    threshold = under + (at - math.floor(at)) * (over - under)
    for place in rare:
        if float(batch.need("entropies")[place]) < threshold - 1e-12:
            gates[place] = 0.0
    return gates


def slow_qae(batch: TokenBatch, quantile: float, epsilon: float) -> list[float]:
    out = []
    for r, peers in zip(batch.rewards.tolist(), peers_of(batch), strict=True):
        rewards = sorted(q for q, _ in peers)
        if math.isnan(r) or len(set(rewards)) < 2:
            out.append(0.0)
            continue
        baseline = next(b for k, b in enumerate(rewards, 1) if k / len(rewards) >= quantile - 1e-9)
        out.append((r - baseline) / (statistics.stdev(rewards) + epsilon))
    return out


def real_objective(batch: TokenBatch, logp: torch.Tensor, tau: float) -> torch.Tensor:
    """Minus the paper's loss, in the mean over groups, with a gradient in `logp`: a scalar."""
    total = logp.new_zeros(())
    old, groups = batch.need("old_logp"), batch.groups.tolist()
    for group in set(groups):
        rows = [i for i, g in enumerate(groups) if g == group]
        scored = [i for i in rows if not math.isnan(batch.rewards[i])]
        if len({float(batch.rewards[i]) for i in scored}) < 2:
            continue
        mean = statistics.fmean(float(batch.rewards[i]) for i in scored)
        inside = {True: logp.new_ones(()), False: logp.new_ones(())}
        for i in scored:
            n = int(batch.mask[i].sum())
            s = sum((logp[i, t] - old[i, t] for t in range(n)), logp.new_zeros(())) / max(n, 1)
            correct = float(batch.rewards[i]) > mean
            inside[correct] = inside[correct] + (-s / tau if correct else s / tau).exp()
        total = total - inside[True].log() - inside[False].log()
    return total / len(set(groups))


def slow_real(batch: TokenBatch, tau: float) -> list[float]:
    """B times the derivative of the paper's objective to each response's mean log-ratio, by autograd on its tokens."""
    logp = batch.need("logp").clone().requires_grad_()
    objective = real_objective(batch, logp, tau)
    if not objective.requires_grad:
        return [0.0] * len(batch.rewards)
    (gradient,) = torch.autograd.grad(objective, logp)
    sizes = [batch.groups.tolist().count(g) for g in batch.groups.tolist()]
    # d objective / d s_i is the sum over the tokens. The mean over groups weighs a group of n as n of B responses
    return (gradient.sum(1) * len(set(batch.groups.tolist())) * torch.tensor(sizes)).tolist()


def test_stare_by_hand() -> None:
    # five tokens of A = 1 and two of A = -1, half of each rounded up: 3 and 1. The lowest log pi are chosen, and of the
    # two at -2 the earlier
    logp = torch.tensor([[-2.0, -1.0, -3.0, -2.0, -0.1], [-0.5, -4.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    mask = torch.tensor([[True] * 5, [True] * 2 + [False] * 3])
    advantages = torch.tensor([[1.0], [-1.0]], dtype=torch.float64).expand(2, 5)
    batch = one_group(logp=logp, mask=mask, advantages=advantages, entropies=torch.full((2, 5), 0.2).double())
    values = {"share": 0.5, "positive": 1.1, "negative": 0.9}
    shaped = stare(batch, **values, target_entropy=0.3)
    assert shaped.tolist() == [[1.1, 1.0, 1.1, 1.1, 1.0], [-1.0, -0.9, 0.0, 0.0, 0.0]]
    assert torch.equal(stare(batch, **values, target_entropy=0.2), batch.need("advantages"))  # not below the target


def test_erc_by_hand() -> None:
    # ratios 0.9, 1, 1.1, and 1 of two zeros, which are no 0 / 0
    now = torch.tensor([[0.9, 1.0, 1.1, 0.0]], dtype=torch.float64)
    batch = one_group(entropies=now, old_entropies=torch.tensor([[1.0, 1.0, 1.0, 0.0]], dtype=torch.float64))
    assert erc(batch, low=0.05, high=0.05).tolist() == [[0, 1, 0, 1]]
    assert erc(batch, low=0.05, high=0.2).tolist() == [[0, 1, 1, 1]]
    assert erc(replace(batch, old_entropies=now), low=0.05, high=0.05).eq(1).all()


def test_erc_needs_the_old_entropies_of_the_trainers_own_policy() -> None:
    declared = experiments.experiment()
    gated = replace(
        declared, method=replace(declared.method, gates=(use(erc, **experiments.sourced(low=0.05, high=0.05)),))
    )
    with pytest.raises(ValueError, match="erc cannot be used here: old_policy: expected trainer"):
        replace(gated, **experiments.sourced(old_policy="sampler"))


def test_repo_r_by_hand() -> None:
    logp = torch.tensor([[-2.0, -1.0, -2.0, -20.0]], dtype=torch.float64)
    advantages = torch.tensor([[1.0, -1.0, -1.0, -1.0]], dtype=torch.float64)
    # zeta = 0.1: 1 + 0.2; -(1 - 0.1); -(1 - 0.2); 1 - 2 is below 0, and stops there
    shaped = repo_r(one_group(logp=logp, advantages=advantages), zeta=0.1)
    assert shaped[0].tolist() == pytest.approx([1.2, -0.9, -0.8, 0.0])
    assert repo_r(one_group(logp=logp, advantages=advantages), zeta=-0.1)[0, 0] == pytest.approx(0.8)


def test_fipo_by_hand() -> None:
    # half-life 1: gamma = 1/2. log r = 0.1, 0.2, 0.4, so the sums are 0.4 at the end, 0.2 + 0.2, 0.1 + 0.2
    logs = torch.tensor([[0.1, 0.2, 0.4]], dtype=torch.float64)
    batch = one_group(logp=logs - 1, old_logp=logs * 0 - 1, advantages=torch.ones(1, 3).double())
    values = {"half_life": 1.0, "low": 1.0, "high": 9.0, "safe": None}
    assert fipo(batch, **values, counted=None).log()[0].tolist() == pytest.approx([0.3, 0.4, 0.4])
    # r = e^0.4 = 1.49 does not count: sums 0, 0.2, 0.1 + 0.1
    assert fipo(batch, **values, counted=1.4).log()[0].tolist() == pytest.approx([0.2, 0.2, 0.0])
    # bounds 0.8 and 1.2: e^0.3 = 1.35 becomes 1.2. With A < 0, 1 where r > safe
    worse = replace(batch, advantages=-torch.ones(1, 3).double())
    bounded = fipo(worse, half_life=1.0, low=0.2, high=0.2, counted=None, safe=1.3)
    assert bounded[0].tolist() == pytest.approx([-1.2, -1.2, -1.0])


def test_stapo_by_hand() -> None:
    # rare (below 0.1) with A > 0: columns 0 to 2, entropies 1, 2, 3. The median is 2, and 1 alone lies below it
    logp = torch.tensor([[0.01, 0.02, 0.03, 0.5, 0.01]], dtype=torch.float64).log()
    entropies = torch.tensor([[1.0, 2.0, 3.0, 0.1, 0.1]], dtype=torch.float64)
    advantages = torch.tensor([[1.0, 1.0, 1.0, 1.0, -1.0]], dtype=torch.float64)
    gates = stapo(one_group(logp=logp, entropies=entropies, advantages=advantages), rarity=0.1, quantile=0.5)
    assert gates[0].tolist() == [0, 1, 1, 1, 1]
    alone = one_group(logp=logp[:, :1], entropies=entropies[:, :1], advantages=advantages[:, :1])
    assert stapo(alone, rarity=0.1, quantile=0.75).tolist() == [[1]]


@pytest.mark.parametrize("correct", range(1, 5))
def test_qae_rewards_successes_on_hard_prompts_and_punishes_failures_on_easy_ones(correct: int) -> None:
    # K = 0.4 of five responses: p <= 0.6 is hard, so that up to three correct ones have an advantage and no other has
    batch = batch_of([1.0] * correct + [0.0] * (5 - correct), [0] * 5)
    signs = qae(batch, quantile=0.4, epsilon=0.0).sign()[:, 0].tolist()
    hard = correct / 5 <= 0.6
    assert signs == ([1.0] * correct + [0.0] * (5 - correct) if hard else [0.0] * correct + [-1.0] * (5 - correct))


def test_real_by_hand() -> None:
    # at ratio 1 every s is 0, with 1 correct of 4: 1/2 of the label's alone, 1/4 of each of three. Times n / tau = 8
    advantages = real(at_ratio_one([1.0, 0.0, 0.0, 0.0]), tau=0.5)[:, 0].tolist()
    assert advantages == pytest.approx([4.0, -2.0, -2.0, -2.0])
    assert real(at_ratio_one([1.0, 1.0]), tau=0.5).eq(0).all()  # one label
    assert real(at_ratio_one([1.0, 0.0, NAN]), tau=0.5)[:, 0].tolist() == pytest.approx([3.0, -3.0, 0.0])


def at_ratio_one(rewards: list[float]) -> TokenBatch:
    logp = torch.full((len(rewards), 2), -1.0, dtype=torch.float64)
    return one_group(logp=logp, old_logp=logp, rewards=torch.tensor(rewards, dtype=torch.float64))


def test_reals_gradient_is_that_of_the_papers_loss() -> None:
    """Advantages times the plain policy gradient, in the mean over tokens, then responses."""
    generator = torch.Generator().manual_seed(0)
    mask = torch.arange(4) < torch.tensor([4, 1, 3, 2, 4, 2]).unsqueeze(1)
    logp = -torch.rand(6, 4, generator=generator, dtype=torch.float64)
    old = logp + 0.5 * torch.randn(6, 4, generator=generator, dtype=torch.float64)
    rewards = torch.tensor([1.0, 0.0, 1.0, 0.0, 0.0, 1.0], dtype=torch.float64)
    groups = torch.tensor([0, 0, 0, 1, 1, 1])
    batch = one_group(logp=logp, old_logp=old, mask=mask, rewards=rewards, groups=groups)
    policy_logp, paper_logp = logp.clone().requires_grad_(), logp.clone().requires_grad_()
    weights = aggregation_coefficients(mask, "sequence_mean", max_tokens=9).double()
    policy_loss(policy_logp, old, real(batch, tau=0.3), weights, objective=policy_gradient, mask=mask).backward()
    (-real_objective(batch, paper_logp, 0.3)).backward()
    assert policy_logp.grad is not None and paper_logp.grad is not None and float(paper_logp.grad.abs().max()) > 0.1
    torch.testing.assert_close(policy_logp.grad, paper_logp.grad)
