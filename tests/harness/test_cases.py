"""Every method equals its slow version on random batches: advantages, weights, gates, penalties and objective."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, replace

import pytest
import torch
from hypothesis import given, settings

from harness.step.batch import TokenBatch
from harness.step.likeliest import Distribution, likeliest_tokens
from harness.step.loss import aggregation_coefficients
from tests.batches import token_batches
from tests.harness.cases import CASES, Case, Slow, with_grpo

Pair = tuple[str, torch.Tensor, torch.Tensor]  # what, the method's, the slow version's


def prepared(batch: TokenBatch) -> TokenBatch:
    """The batch with GRPO's advantages and every signal that some method reads."""
    rewards = batch.rewards.abs()  # MaxRL divides by their mean
    parts = torch.stack([rewards, rewards.roll(1).nan_to_num(0.3)], 1)
    sampler = batch.need("rollout_logp").index_fill(1, torch.tensor([0]), math.nan)  # vLLM gave no probability
    batch = replace(batch, rewards=rewards, reward_parts=parts, reward_weights=(1.0, 0.5), rollout_logp=sampler)
    return with_grpo(batch)


def pairs(case: Case, batch: TokenBatch) -> Iterator[Pair]:
    """Each part of the method beside the slow version's. A part that one of them lacks is its neutral value."""
    got, want = case.method.apply(batch), case.slow(batch)
    ones = torch.ones(batch.mask.shape, dtype=torch.float64)

    def part(value: torch.Tensor | None, neutral: torch.Tensor) -> torch.Tensor:
        return neutral if value is None else value

    gates = part(want.gates, ones)
    counted = batch.mask & (gates != 0) if case.method.denominator.value == "kept" else batch.mask
    coefficients = aggregation_coefficients(  # its own tests are in tests/harness/step
        batch.mask,
        case.method.aggregation.value,
        max_tokens=batch.max_tokens,
        counted=counted,
        groups=batch.groups,
    )
    yield "advantages", got.advantages, part(want.advantages, batch.need("advantages"))
    yield "weights", got.weights, part(want.weights, ones) * coefficients
    yield "gates", part(got.gates, ones), gates
    yield "penalties", part(got.penalties, 0 * ones), part(want.penalties, 0 * ones)
    objective = case.method.objective
    assert (objective is None) == (case.objective is None)
    if objective is not None and case.objective is not None:
        logp, old = (batch.need(name).nan_to_num() for name in ("logp", "old_logp"))
        shaped = batch.with_advantages(got.advantages)
        # log-probabilities of a vocabulary of 5, of which the sampled token is one
        generator = torch.Generator().manual_seed(0)
        every = torch.randn(*batch.mask.shape, 5, generator=generator, dtype=torch.float64).log_softmax(-1)
        sampled = (batch.groups.unsqueeze(1) + torch.arange(batch.mask.shape[1])) % 5
        top, first = likeliest_tokens(every, case.method.likeliest or 1)
        now = (Distribution(batch.need("entropies"), top.double(), first == sampled),) if case.method.likeliest else ()
        slow = case.objective(shaped, logp, old, *((every, sampled) if now else ()))
        yield "objective", objective(logp, old, got.advantages, batch.mask, *now), slow


def differences(case: Case, batch: TokenBatch) -> list[str]:
    """The parts in which the method differs from its slow version, on the tokens of the responses."""
    return [what for what, fast, slow in pairs(case, batch) if not close(fast[batch.mask], slow[batch.mask])]


def close(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.allclose(a.double(), b.double(), rtol=1e-6, atol=1e-6, equal_nan=False)


@settings(max_examples=40, deadline=None)
@given(token_batches())
def test_methods_equal_their_slow_versions(batch: TokenBatch) -> None:
    batch = prepared(batch)
    assert {name: d for name, case in CASES.items() if (d := differences(case, batch))} == {}


def broken(case: Case, part: str) -> Case:
    """The case with a slow version of which one part is 7 too large."""

    def slow(batch: TokenBatch) -> Slow:
        whole = case.slow(batch)
        value = getattr(whole, part)
        right = torch.zeros(batch.mask.shape, dtype=torch.float64) if value is None else value
        return replace(whole, **{part: right + 7.0})

    return replace(case, slow=slow)


@pytest.mark.parametrize("name", CASES)
def test_a_broken_slow_version_is_seen(name: str) -> None:
    """The test above rests on this: each part of each slow version is compared, and the objective too."""
    case, batch = CASES[name], prepared(BATCH)
    for part in (f.name for f in fields(Slow)):
        assert part in differences(broken(case, part), batch), part
    if case.objective is not None:
        objective = case.objective
        assert differences(replace(case, objective=lambda *rows: objective(*rows) + 7.0), batch) == ["objective"]


def _batch() -> TokenBatch:
    """Two groups of two responses of three tokens."""
    generator = torch.Generator().manual_seed(0)

    def field() -> torch.Tensor:
        return -torch.rand(4, 3, generator=generator, dtype=torch.float64)

    return TokenBatch(
        rewards=torch.tensor([1.0, 0.0, 1.0, 0.7], dtype=torch.float64),
        groups=torch.tensor([0, 0, 1, 1]),
        mask=torch.ones(4, 3, dtype=torch.bool),
        vocab_size=50,
        max_tokens=9,
        step=0,
        seed=0,
        **{name: field() for name in ("logp", "old_logp", "ref_logp", "rollout_logp", "values")},
        **{name: -field() for name in ("entropies", "pi_squared", "old_entropies")},
        greedy_rewards=torch.tensor([0.0, 0.0, 1.0, 1.0], dtype=torch.float64),
        correct=torch.tensor([1.0, 0.0, 1.0, 0.0], dtype=torch.float64),
        response_draw=torch.tensor([0.1, 0.9, 0.5, 0.7], dtype=torch.float64),
        answer_draw=torch.tensor([0.1, 0.2, 0.5, 0.7], dtype=torch.float64),
        base_accuracy=torch.tensor([0.25, 0.25, 0.5, 0.5], dtype=torch.float64),
    )


BATCH = _batch()
