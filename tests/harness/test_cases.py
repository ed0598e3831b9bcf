"""Methods' advantages and gates equal their slow versions on random batches, unscored responses included."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from hypothesis import given, settings

from harness.step.batch import TokenBatch
from tests.batches import token_batches
from tests.harness.cases import CASES, with_grpo

OWN = ("egsw", "erpo", "forking", "position", "ppl", "entropy", "clip_cov", "kl_cov", "passk")  # own tests


@settings(max_examples=40, deadline=None)
@given(token_batches())
def test_methods_equal_their_slow_versions(batch: TokenBatch) -> None:
    rewards = batch.rewards.abs()  # MaxRL divides by their mean
    parts = torch.stack([rewards, rewards.roll(1).nan_to_num(0.3)], 1)
    sampler = batch.need("rollout_logp").index_fill(1, torch.tensor([0]), math.nan)  # vLLM gave no probability
    batch = replace(batch, rewards=rewards, reward_parts=parts, reward_weights=(1.0, 0.5), rollout_logp=sampler)
    batch = with_grpo(batch)
    for name, case in CASES.items():
        if name.startswith(OWN):
            continue
        got, want = case.method.apply(batch), case.slow(batch)
        advantages = batch.advantages if want.advantages is None else want.advantages
        for mine, slow in ((got.advantages, advantages), (got.gates, want.gates)):
            if slow is not None:
                torch.testing.assert_close(
                    mine * batch.mask, slow, rtol=1e-6, atol=1e-6, msg=lambda text, name=name: f"{name}: {text}"
                )
