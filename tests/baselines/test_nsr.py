"""Positive, negative and weighted reinforcement: derived values, properties, a slow version."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from baselines.nsr import weighted_reinforce
from evals.provenance import assumed
from harness.spec import use
from harness.step.batch import TokenBatch
from tests.baselines.test_grpo import batch_of
from tests.experiments import GRPO, WHY, experiment


def slow_weighted_reinforce(batch: TokenBatch, positive: float, negative: float) -> list[float]:
    """One response after the other."""
    return [0.0 if math.isnan(r) else positive if r > 0 else -negative for r in batch.rewards.tolist()]


@pytest.mark.parametrize(
    ("positive", "negative", "want"),
    [
        (1.0, 0.0, [1, 0, 0, 0]),  # PSR: only the correct one learns
        (0.0, 1.0, [0, -1, -1, 0]),  # NSR: only the incorrect ones
        (0.1, 1.0, [0.1, -1, -1, 0]),  # Weighted-REINFORCE, lambda 0.1
    ],
)
@pytest.mark.parametrize("incorrect", [0.0, -1.0])  # rewards of 0 and 1, or of -1 and +1, mean the same
def test_by_hand(positive: float, negative: float, want: list[float], incorrect: float) -> None:
    batch = batch_of([1.0, incorrect, incorrect, math.nan], [0, 0, 0, 0])
    got = weighted_reinforce(batch, positive=positive, negative=negative).flatten()
    assert torch.allclose(got, torch.tensor(want, dtype=torch.float64))


def test_rewards_that_are_not_outcomes_are_refused() -> None:
    advantage = use(weighted_reinforce, positive=assumed(0.1, WHY), negative=assumed(1.0, WHY))
    declared = experiment(replace(GRPO, advantage=advantage))
    with pytest.raises(ValueError, match="weighted_reinforce cannot be used here: rewards: expected accuracy"):
        replace(declared, rewards=assumed(("boxed_format",), WHY))
