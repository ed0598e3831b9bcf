"""GDPO, M2PO, ScaleRL's parts, leave-one-out GRPO, KL in the reward, distillation, rejection: by hand, by loops."""

from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import replace

import pytest
import torch
from hypothesis import given

from baselines.distillation import reverse_kl, towards_teacher
from baselines.gdpo import gdpo
from baselines.informative import informative
from baselines.kl_in_reward import kl_in_reward
from baselines.m2po import m2po
from harness.step.batch import TokenBatch
from harness.step.loss import aggregation_coefficients
from tests.baselines.test_advantages import peers_of
from tests.baselines.test_grpo import batch_of, slow_grpo
from tests.batches import one_group, token_batches

NAN = math.nan


def with_parts(rewards: list[list[float]], groups: list[int], weights: tuple[float, ...]) -> TokenBatch:
    parts = torch.tensor(rewards, dtype=torch.float64)
    total = (parts * torch.tensor(weights, dtype=torch.float64)).sum(1).tolist()
    return replace(batch_of(total, groups), reward_parts=parts, reward_weights=weights)


def slow_m2po(batch: TokenBatch, threshold: float) -> torch.Tensor:
    """Gates in float64: tokens by the size of their squared log-ratio, as many as the mean allows."""
    squares = (batch.need("logp") - batch.need("old_logp")) ** 2
    places = sorted(batch.mask.nonzero().tolist(), key=lambda place: float(squares[tuple(place)]))
    gates, total = torch.zeros(batch.mask.shape, dtype=torch.float64), 0.0
    for number, place in enumerate(places, 1):
        total += float(squares[tuple(place)])
        if total / number <= threshold:
            gates[tuple(place)] = 1.0
    return gates


def slow_gdpo(batch: TokenBatch, epsilon: float) -> list[float]:
    """GRPO's loops for each reward, then for their weighted sum as if all responses were one group."""
    assert batch.reward_parts is not None
    unscored = batch.reward_parts.isnan().any(1)
    total = torch.zeros(len(unscored), dtype=torch.float64)
    for weight, rewards in zip(batch.reward_weights, batch.reward_parts.T, strict=True):
        alone = slow_grpo(batch.with_rewards(rewards.masked_fill(unscored, NAN)), "sample", epsilon)
        total += weight * torch.tensor(alone, dtype=torch.float64)
    whole = replace(batch, rewards=total.masked_fill(unscored, NAN), groups=batch.groups * 0)
    return slow_grpo(whole, "sample", epsilon)


def slow_towards_teacher(batch: TokenBatch, coefficient: float) -> torch.Tensor:
    teacher, student, shaped = batch.need("ref_logp"), batch.need("old_logp"), batch.need("advantages").clone()
    for i, t in batch.mask.nonzero().tolist():
        shaped[i, t] += coefficient * (float(teacher[i, t]) - float(student[i, t]))
    return shaped


def slow_log_ratios(batch: TokenBatch) -> list[list[float]]:
    """The log-ratios of trainer and sampler, by response and token, 0 where the sampler gave no probability."""
    gaps, lengths = batch.need("old_logp") - batch.need("rollout_logp"), batch.mask.sum(1).tolist()
    return [[0.0 if math.isnan(d) else d for d in row[:n]] for row, n in zip(gaps.tolist(), lengths, strict=True)]


def slow_rollout_correction(batch: TokenBatch, level: str, outside: str, low: float, high: float) -> torch.Tensor:
    weights = torch.zeros(batch.mask.shape, dtype=torch.float64)
    for i, gaps in enumerate(slow_log_ratios(batch)):
        for t, gap in enumerate(gaps):
            w = math.exp(sum(gaps) if level == "sequence" else gap)
            weights[i, t] = min(max(w, low), high) if outside == "truncate" else (w if low <= w <= high else 0.0)
    return weights


def slow_rollout_rejection(batch: TokenBatch, statistic: str, low: float, high: float) -> torch.Tensor:
    gates = torch.zeros(batch.mask.shape, dtype=torch.float64)
    for i, gaps in enumerate(slow_log_ratios(batch)):
        n, d = len(gaps), gaps or [0.0]
        k3 = statistics.fmean([math.exp(x) - 1 - x for x in d])
        value = k3 if statistic == "k3" else math.exp(statistics.fmean(d))
        gates[i, :n] = float(low <= value <= high)
    return gates


def slow_leave_one_out(batch: TokenBatch) -> list[float]:
    want = []
    for r, peers in zip(batch.rewards.tolist(), peers_of(batch), strict=True):
        rewards = [p for p, _ in peers]
        if math.isnan(r) or len(set(rewards)) < 2:
            want.append(0.0)
            continue
        rewards.remove(r)
        std = statistics.stdev(rewards) if len(set(rewards)) > 1 else 0.0
        want.append((r - statistics.fmean(rewards)) / (std + 1e-6 if std else 1.0))
    return want


def slow_kl_in_reward(batch: TokenBatch, beta: float) -> torch.Tensor:
    """The advantages less the penalties of this token and of all later ones of the response."""
    cost, shaped = batch.need("old_logp") - batch.need("ref_logp"), batch.need("advantages").clone()
    for i, length in enumerate(batch.mask.sum(1).tolist()):
        for t in range(length):
            shaped[i, t] -= beta * sum(float(cost[i, s]) for s in range(t, length))
    return shaped


def test_gdpo_by_hand() -> None:
    # correct 1, 0 and boxed 1, 1 in one group: boxed is constant, so S = +-(1/2) / sqrt(1/2) = +-sqrt(1/2). Over the
    # batch the mean is 0 and the sample variance (1/2 + 1/2) / 1 = 1
    got = gdpo(with_parts([[1, 1], [0, 1]], [0, 0], (1.0, 1.0)), epsilon=0.0).flatten().tolist()
    assert got == pytest.approx([math.sqrt(0.5), -math.sqrt(0.5)])
    # two rewards that disagree, (1, 0) and (0, 1), cancel in GRPO's sum. Weights 2 and 1 leave the first one's sign
    assert gdpo(with_parts([[1, 0], [0, 1]], [0, 0], (1.0, 1.0)), epsilon=0.0).eq(0).all()
    assert gdpo(with_parts([[1, 0], [0, 1]], [0, 0], (2.0, 1.0)), epsilon=0.0)[0, 0] > 0
    # a response that one reward could not score gets 0, and the others are as if it were not there
    got = gdpo(with_parts([[1, 1], [0, 1], [NAN, 1]], [0, 0, 0], (1.0, 1.0)), epsilon=0.0).flatten().tolist()
    assert got == pytest.approx([math.sqrt(0.5), -math.sqrt(0.5), 0.0])
    with pytest.raises(ValueError, match="reward_parts"):
        gdpo(batch_of([1, 0], [0, 0]), epsilon=0.0)


@given(token_batches())
def test_on_policy_m2po_drops_nothing(batch: TokenBatch) -> None:
    assert torch.equal(m2po(replace(batch, old_logp=batch.logp), threshold=0.0).bool(), batch.mask)


def test_scalerls_denominator_counts_groups_that_learn() -> None:
    # three prompts, the second without a signal: prompts 0 and 2 count, with 3 + 1 and 2 + 2 tokens
    lengths = torch.tensor([3, 1, 2, 2, 2, 2])
    batch = replace(batch_of([1, 0, 1, 1, 0, 1], [0, 0, 1, 1, 2, 2]), mask=torch.arange(3) < lengths.unsqueeze(1))
    gate = informative(batch)
    assert gate.sum(1).tolist() == [3, 1, 0, 0, 2, 2]
    weights = aggregation_coefficients(
        batch.mask, "prompt_mean", max_tokens=9, counted=gate.bool(), groups=batch.groups
    )
    assert weights[:, 0].tolist() == pytest.approx(
        [1 / 8, 1 / 8, 1 / 2, 1 / 2, 1 / 8, 1 / 8]
    )  # the gate drops the 1 / 2
    assert float((weights * gate).sum()) == pytest.approx(1.0)  # the mean of a constant is that constant
    with pytest.raises(ValueError, match="needs the groups"):
        aggregation_coefficients(batch.mask, "prompt_mean", max_tokens=9)


def test_a_penalty_in_the_reward_is_the_penalty_that_is_still_to_come() -> None:
    zeros = torch.zeros(1, 3, dtype=torch.float64)
    batch = one_group(
        advantages=zeros + 1, old_logp=zeros, ref_logp=torch.tensor([[-1.0, 0.5, -2.0]], dtype=torch.float64)
    )
    # costs old - ref = 1, -1/2, 2: to come 2.5, 1.5, 2
    got = kl_in_reward(replace(batch, advantages=zeros + 1), beta=0.1)
    assert got.tolist()[0] == pytest.approx([0.75, 0.85, 0.8])


def test_the_mean_of_the_distillation_advantage_is_minus_the_divergence() -> None:
    # one token, all of a vocabulary of three: sum_v p(v) (log q(v) - log p(v)) = -KL(p || q)
    p, q = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64), torch.tensor([0.2, 0.2, 0.6], dtype=torch.float64)
    batch = one_group(
        advantages=torch.zeros(3, 1, dtype=torch.float64), old_logp=p.log().unsqueeze(1), ref_logp=q.log().unsqueeze(1)
    )
    advantages = reverse_kl(batch).flatten()
    assert float((p * advantages).sum()) == pytest.approx(-float((p * (p / q).log()).sum()))
    torch.testing.assert_close(towards_teacher(batch, coefficient=0.5).flatten(), 0.5 * advantages)


def test_of_all_corrections_only_sequence_weights_are_unbiased() -> None:
    """`benchmarks.corrections` on its enumerable policies: what results/corrections.md rests on."""
    from benchmarks.corrections import CORRECTIONS, bias_and_variance

    biases = {name: bias_and_variance(gate, 0.3, 1) for name, gate in CORRECTIONS.items()}
    exact = [name for name, (bias, _) in biases.items() if bias < 1e-9]
    assert exact == ["sequence weights"]
    assert biases["sequence weights, at most 2"][1] < biases["sequence weights"][1]  # a bound lowers the variance
    # at no mismatch every correction is the identity
    for name, gate in CORRECTIONS.items():
        assert bias_and_variance(gate, 0.0, 1)[0] < 1e-9, name


def test_the_gradient_of_the_enumerable_policies_is_autograds() -> None:
    from benchmarks.corrections import gradients, texts_of

    texts, rows = texts_of(3, 2)
    theta = torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    logp, slope = gradients(theta, texts, rows)
    for i, t in itertools.product(range(9), range(2)):
        (want,) = torch.autograd.grad(logp[i, t], theta, retain_graph=True)
        torch.testing.assert_close(slope[i, t].view(4, 3).detach(), want)
