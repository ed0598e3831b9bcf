"""Pass@k training: the closed form against the enumeration of all k-subsets, derived values, properties."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from baselines.grpo import grpo
from baselines.overlong import overlong
from baselines.passk import passk
from evals.provenance import assumed
from harness.spec import use
from harness.step.batch import TokenBatch
from tests.baselines.test_grpo import batch_of
from tests.batches import token_batches
from tests.experiments import GRPO, WHY, experiment


def slow_passk(batch: TokenBatch, k: int, epsilon: float) -> list[float]:
    """Form every k-subset of a group, standardise the subsets' rewards, and average over those that hold a response."""
    rewards, groups = batch.rewards.tolist(), batch.groups.tolist()
    advantages = [0.0] * len(rewards)
    for group in set(groups):
        members = [i for i, g in enumerate(groups) if g == group and not math.isnan(rewards[i])]
        subsets = list(itertools.combinations(members, k))
        if not subsets:
            continue
        score = {s: float(any(rewards[i] > 0 for i in s)) for s in subsets}
        mean = sum(score.values()) / len(subsets)
        deviation = math.sqrt(sum((x - mean) ** 2 for x in score.values()) / len(subsets))
        for i in members:
            with_response = [(score[s] - mean) for s in subsets if i in s]
            advantages[i] = sum(with_response) / len(with_response) / (deviation + epsilon) if deviation else 0.0
    return advantages


def test_by_hand() -> None:
    # n = 4, one correct, k = 2: three of six pairs miss: R = 1/2, s = 1/2.
    # correct: (1/2) / (1/2) = 1.  incorrect: (1/2 - C(2,1)/C(3,1)) / (1/2) = (1/2 - 2/3) * 2 = -1/3
    got = passk(batch_of([1, 0, 0, 0], [0] * 4), k=2, epsilon=0.0).flatten()
    assert torch.allclose(got, torch.tensor([1.0, -1 / 3, -1 / 3, -1 / 3], dtype=torch.float64))
    # two correct of four: only one of six pairs misses: R = 5/6, s = sqrt(5)/6.
    # correct: (1/6) / s = 1/sqrt(5).  incorrect: (1/6 - 1/3) / s = -1/sqrt(5)
    got = passk(batch_of([1, 1, 0, 0], [0] * 4), k=2, epsilon=0.0).flatten()
    root = 1 / math.sqrt(5)
    assert torch.allclose(got, torch.tensor([root, root, -root, -root], dtype=torch.float64))


def test_groups_without_a_signal_have_no_advantage() -> None:
    # all correct; all incorrect; fewer than k incorrect (each pair holds a correct one); one response; under k scored
    for rewards in ([1, 1, 1], [0, 0, 0], [1, 1, 0], [1], [1, math.nan, math.nan]):
        assert passk(batch_of(rewards, [0] * len(rewards)), k=2, epsilon=1e-6).eq(0).all()


@given(token_batches(), st.integers(1, 4), st.sampled_from([0.0, 1e-6]))
def test_equals_the_enumeration(batch: TokenBatch, k: int, epsilon: float) -> None:
    got = passk(batch, k=k, epsilon=epsilon)
    want = torch.tensor(slow_passk(batch, k, epsilon), dtype=torch.float64).unsqueeze(1) * batch.mask
    assert torch.allclose(got, want, atol=1e-9)


@given(token_batches())
def test_k_one_is_grpo_with_the_population_deviation(batch: TokenBatch) -> None:
    outcome = replace(batch, rewards=torch.where(batch.rewards.isnan(), batch.rewards, (batch.rewards > 0).double()))
    assert torch.allclose(passk(outcome, k=1, epsilon=1e-6), grpo(outcome, std="population", epsilon=1e-6), atol=1e-12)


def test_stacks_that_mean_nothing_are_refused() -> None:
    def stack(k: int) -> object:
        return replace(GRPO, advantage=use(passk, k=assumed(k, WHY), epsilon=assumed(1e-6, WHY)))

    experiment(stack(4))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="passk cannot be used here: k: expected at most group_size=4, got 5"):
        experiment(stack(5))  # type: ignore[arg-type]
    shorter = use(overlong, max_length=assumed(8, WHY), buffer=assumed(4, WHY), penalty=assumed(1.0, WHY))
    with pytest.raises(ValueError, match=r"correct and incorrect are counted, got \['overlong'\]"):
        experiment(replace(stack(2), rewards=(shorter,)))  # type: ignore[type-var]
