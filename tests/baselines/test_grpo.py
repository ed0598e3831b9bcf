"""GRPO's advantage: derived values, properties, and a slow version in loops."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from hypothesis import given

from baselines.grpo import grpo
from harness.step.batch import TokenBatch
from tests.batches import one_group, token_batches


def batch_of(rewards: list[float], groups: list[int]) -> TokenBatch:
    mask = torch.ones(len(rewards), 1, dtype=torch.bool)
    return one_group(mask=mask, rewards=torch.tensor(rewards, dtype=torch.float64), groups=torch.tensor(groups))


def slow_grpo(batch: TokenBatch, std: str, epsilon: float) -> list[float]:
    """The equation, response by response, in Python floats."""
    rewards, groups = batch.rewards.tolist(), batch.groups.tolist()
    advantages = []
    for i, r in enumerate(rewards):
        peers = [rewards[j] for j in range(len(rewards)) if groups[j] == groups[i] and not math.isnan(rewards[j])]
        if math.isnan(r) or len(set(peers)) <= 1:
            advantages.append(0.0)
            continue
        mean = sum(peers) / len(peers)
        squares = sum((p - mean) ** 2 for p in peers)
        if std == "none":
            advantages.append(r - mean)
        else:
            variance = squares / (len(peers) - (1 if std == "sample" else 0))
            advantages.append((r - mean) / (math.sqrt(variance) + epsilon))
    return advantages


def test_one_correct_of_four() -> None:
    # r = [1,0,0,0]: mean 1/4. Squares 9/16 + 3/16 = 3/4. Sample variance (3/4)/3 = 1/4, std 1/2
    #   -> [3/4, -1/4, -1/4, -1/4] / (1/2) = [3/2, -1/2, -1/2, -1/2]
    # population variance (3/4)/4 = 3/16, std sqrt(3)/4 -> 3/4 / (sqrt(3)/4) = sqrt(3), -1/sqrt(3)
    batch = batch_of([1, 0, 0, 0], [0, 0, 0, 0])
    sample = grpo(batch, std="sample", epsilon=0.0).flatten()
    assert torch.allclose(sample, torch.tensor([1.5, -0.5, -0.5, -0.5], dtype=torch.float64))
    population = grpo(batch, std="population", epsilon=0.0).flatten()
    third = 1 / math.sqrt(3)
    assert torch.allclose(population, torch.tensor([3 * third, -third, -third, -third], dtype=torch.float64))
    # epsilon 1/2 doubles the denominator of the sample version
    assert torch.allclose(grpo(batch, std="sample", epsilon=0.5).flatten(), sample / 2)


def test_an_unscored_response_is_neither_correct_nor_incorrect() -> None:
    # without the NaN, [1, 0] has mean 1/2 and sample std sqrt(1/2): +-(1/2)/sqrt(1/2) = +-sqrt(1/2)
    got = grpo(batch_of([1, float("nan"), 0], [0, 0, 0]), std="sample", epsilon=0.0).flatten()
    assert torch.allclose(got, torch.tensor([math.sqrt(0.5), 0.0, -math.sqrt(0.5)], dtype=torch.float64))


def test_no_signal_is_zero_exactly() -> None:
    # 0.1 three times sums to 0.30000000000000004: a mean that differs from 0.1 must not become an advantage
    assert grpo(batch_of([0.1, 0.1, 0.1, 5.0], [0, 0, 0, 1]), std="sample", epsilon=0.0).eq(0).all()


@given(token_batches())
def test_equals_the_loops(batch: TokenBatch) -> None:
    for std in ("sample", "population", "none"):
        want = torch.tensor(slow_grpo(batch, std, 1e-4), dtype=torch.float64).unsqueeze(1) * batch.mask
        assert torch.allclose(grpo(batch, std=std, epsilon=1e-4), want, atol=1e-12)  # type: ignore[arg-type]


@given(token_batches())
def test_mean_zero_and_unit_variance_in_each_group(batch: TokenBatch) -> None:
    batch = replace(batch, mask=torch.ones_like(batch.mask), rewards=batch.rewards.nan_to_num(0.5))
    values = grpo(batch, std="sample", epsilon=0.0)[:, 0]
    for group in batch.groups.unique():
        inside = values[batch.groups == group]
        assert abs(float(inside.mean())) < 1e-9
        if batch.rewards[batch.groups == group].unique().numel() > 1:
            assert abs(float(inside.std()) - 1) < 1e-9
