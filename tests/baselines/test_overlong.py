"""The soft overlong punishment: derived values, properties, and the equation in loops."""

from __future__ import annotations

import math
from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st

from baselines.overlong import overlong
from harness.step.batch import TokenBatch
from tests.batches import one_group, token_batches


def slow_overlong(length: int, max_length: int, buffer: int, penalty: float) -> float:
    """Eq. 13, case by case, for the change of one reward."""
    if length <= max_length - buffer:
        return 0.0
    if length <= max_length:
        return penalty * ((max_length - buffer) - length) / buffer
    return -penalty


def of_lengths(lengths: list[int], rewards: list[float]) -> TokenBatch:
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    return one_group(mask=mask, rewards=torch.tensor(rewards, dtype=torch.float64))


def test_by_hand() -> None:
    # max 10, buffer 4: free up to 6. 7 -> -1/4, 8 -> -2/4, 10 -> -1. Beyond the limit it stays -1
    batch = of_lengths([6, 7, 8, 10, 12, 0], [1.0, 1.0, -1.0, 1.0, 0.0, 1.0])
    got = overlong(batch, max_length=10, buffer=4, penalty=1.0)
    assert got.tolist() == [1.0, 0.75, -1.5, 0.0, -1.0, 1.0]
    # DAPO's own sizes: 16,384 tokens are free, 20,480 cost 1, half of the buffer costs half
    dapo = of_lengths([16384, 18432, 20480], [1.0, 1.0, 1.0])
    assert overlong(dapo, max_length=20480, buffer=4096, penalty=1.0).tolist() == [1.0, 0.5, 0.0]


def test_an_unscored_response_stays_unscored() -> None:
    got = overlong(of_lengths([10], [math.nan]), max_length=10, buffer=4, penalty=1.0)
    assert got.isnan().all()


@given(token_batches(), st.integers(1, 6), st.integers(0, 3), st.floats(0, 2))
def test_equals_the_loops(batch: TokenBatch, buffer: int, free: int, penalty: float) -> None:
    settings: dict[str, Any] = {"max_length": free + buffer, "buffer": buffer, "penalty": penalty}
    got = overlong(batch, **settings)
    want = [
        r + slow_overlong(sum(row), **settings)
        for r, row in zip(batch.rewards.tolist(), batch.mask.tolist(), strict=True)
    ]
    assert torch.allclose(got, torch.tensor(want, dtype=torch.float64), equal_nan=True)
    assert (got <= batch.rewards)[~batch.rewards.isnan()].all()
