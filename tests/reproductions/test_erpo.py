"""ERPO's advantages: derived values, properties, and a slow version in loops over the equations."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from baselines.grpo import grpo
from harness.step.batch import TokenBatch
from reproductions.erpo.method import bucket_of, erpo
from tests.batches import VOCAB, token_batches

# The paper's values, and ours where it gives none
DEFAULTS: dict[str, Any] = {
    "beta_p": 0.1,
    "gamma": 5.0,
    "eta": 0.2,
    "buckets": 3,
    "sigma_target": 1.0,
    "delta": 1e-4,
    "std": "sample",
}
EXACT = {**DEFAULTS, "delta": 0.0, "std": "population"}
settings = st.fixed_dictionaries(
    {
        "beta_p": st.sampled_from([0.1, 1.0]),
        "gamma": st.sampled_from([0.0, 5.0]),
        "eta": st.sampled_from([0.2, 3.0]),
        "buckets": st.sampled_from([1, 2, 5]),
        "sigma_target": st.sampled_from([0.5, 1.0]),
        "delta": st.sampled_from([1e-4, 0.1]),
        "std": st.sampled_from(["sample", "population"]),
    }
)


def slow_z_scores(values: dict[Any, float], delta: float, std: str) -> dict[Any, float]:
    """(x - mean) / (std + delta) of a set of numbers, 0 where they are all equal."""
    numbers = list(values.values())
    if len(set(numbers)) < 2:
        return dict.fromkeys(values, 0.0)
    mean = statistics.fmean(numbers)
    deviation = slow_std(numbers, std)
    return {key: (x - mean) / (deviation + delta) for key, x in values.items()}


def slow_std(numbers: list[float], std: str) -> float:
    mean = statistics.fmean(numbers)
    return math.sqrt(sum((x - mean) ** 2 for x in numbers) / (len(numbers) - (1 if std == "sample" else 0)))


def slow_erpo(
    batch: TokenBatch,
    *,
    beta_p: float,
    gamma: float,
    eta: float,
    buckets: int,
    sigma_target: float,
    delta: float,
    std: str,
) -> torch.Tensor:
    """Algorithm 1 line by line for each group, in Python floats."""
    fields = {name: getattr(batch, name).tolist() for name in ("advantages", "entropies", "logp", "ref_logp")}
    result = torch.zeros(batch.mask.shape, dtype=torch.float64)
    members: dict[int, list[int]] = defaultdict(list)
    for i, group in enumerate(batch.groups.tolist()):
        if not math.isnan(float(batch.rewards[i])):
            members[group].append(i)
    for rows in members.values():
        a, h, s, bucket = {}, {}, {}, {}
        for i in rows:
            positions = [t for t in range(batch.mask.shape[1]) if batch.mask[i, t]]
            for number, t in enumerate(positions, 1):
                a[i, t] = fields["advantages"][i][t]
                bucket[i, t] = min(math.floor(number * buckets / len(positions)), buckets - 1)
                entropy = fields["entropies"][i][t]
                difference = fields["logp"][i][t] - fields["ref_logp"][i][t]
                if math.isfinite(entropy) and math.isfinite(difference):
                    h[i, t], s[i, t] = entropy, beta_p * difference
        z = slow_z_scores(h, delta, std)
        w = {key: 1 / (1 + math.exp(-gamma * z[key])) for key in z}
        s_tilde: dict[Any, float] = {}
        for k in range(buckets):
            s_tilde |= slow_z_scores({key: x for key, x in s.items() if bucket[key] == k}, delta, std)
        psi = {key: w[key] * math.copysign(1, a[key]) * s_tilde[key] for key in s if a[key] != 0}
        if len(set(psi.values())) < 2:
            psi = {}
        else:
            deviation = slow_std(list(psi.values()), std)
            psi = {key: sigma_target * x / (deviation + delta) for key, x in psi.items()}
        for (i, t), x in slow_z_scores({key: a[key] + eta * psi.get(key, 0.0) for key in a}, delta, std).items():
            result[i, t] = x
    return result


def small(a: list[float], h: list[list[float]], s: list[list[float]], groups: list[int] | None = None) -> TokenBatch:
    """Responses of equal length with given advantages, entropies and log-ratios."""
    rows, tokens = len(h), len(h[0])
    double = torch.float64
    return TokenBatch(
        rewards=torch.tensor(a, dtype=double),
        groups=torch.tensor(groups or [0] * rows),
        mask=torch.ones(rows, tokens, dtype=torch.bool),
        vocab_size=VOCAB,
        max_tokens=9,
        step=0,
        seed=0,
        advantages=torch.tensor(a, dtype=double).unsqueeze(1).expand(rows, tokens),
        entropies=torch.tensor(h, dtype=double),
        logp=torch.tensor(s, dtype=double) - 5,
        ref_logp=torch.full((rows, tokens), -5.0, dtype=double),
    )


def test_derived_value_with_an_even_gate() -> None:
    # K = 1. s = (1, 3 | 1, 3): mean 2, population std 1, so s~ = (-1, 1 | -1, 1). Equal entropies: W = 1/2.
    # W sgn(A) s~ = (-1/2, 1/2 | 1/2, -1/2), std 1/2, so Psi = (-1, 1 | 1, -1). A + Psi/2 = (1/2, 3/2 | -1/2, -3/2):
    # mean 0, variance (1/4 + 9/4) / 2 = 5/4, so the final advantages are (1, 3 | -1, -3) / sqrt(5).
    batch = small([1.0, -1.0], [[0.7, 0.7]] * 2, [[1.0, 3.0]] * 2)
    got = erpo(batch, **{**EXACT, "beta_p": 1.0, "buckets": 1, "eta": 0.5})
    assert torch.allclose(got, torch.tensor([[1.0, 3.0], [-1.0, -3.0]], dtype=torch.float64) / math.sqrt(5))


def test_derived_value_with_a_gate() -> None:
    # H = (0, 1 | 0, 1) has z-scores (-1, 1 | -1, 1). gamma = ln 3 gives W = (1/4, 3/4 | 1/4, 3/4). With s~ as above
    # W sgn(A) s~ = (-1/4, 3/4 | 1/4, -3/4): std sqrt((1 + 9) / 32) = sqrt(5)/4, so with sigma_target = sqrt(5)
    # Psi = (-1, 3 | 1, -3). A + Psi = (0, 4 | 0, -4): mean 0, variance 8, so (0, sqrt 2 | 0, -sqrt 2).
    batch = small([1.0, -1.0], [[0.0, 1.0]] * 2, [[1.0, 3.0]] * 2)
    values = {"beta_p": 1.0, "gamma": math.log(3), "buckets": 1, "eta": 1.0, "sigma_target": math.sqrt(5)}
    got = erpo(batch, **{**EXACT, **values})
    assert torch.allclose(got, torch.tensor([[0.0, 1.0], [0.0, -1.0]], dtype=torch.float64) * math.sqrt(2))


def test_derived_value_with_delta_and_the_sample_std() -> None:
    # As in the first, with delta = 1 and n - 1 = 3. s~ = (-1, 1 | -1, 1) / (2/sqrt(3) + 1), call it u (-1, 1 | -1, 1).
    # W sgn(A) s~ = u/2 (-1, 1 | 1, -1), sample std u/sqrt(3), so Psi = p (-1, 1 | 1, -1), p = u/2 / (u/sqrt(3) + 1).
    # A + Psi = (1 - p, 1 + p | -1 + p, -1 - p), sample variance (2 (1-p)^2 + 2 (1+p)^2) / 3 = 4 (1 + p^2) / 3.
    u = 1 / (2 / math.sqrt(3) + 1)
    p = u / 2 / (u / math.sqrt(3) + 1)
    scale = 2 * math.sqrt((1 + p * p) / 3) + 1
    batch = small([1.0, -1.0], [[0.7, 0.7]] * 2, [[1.0, 3.0]] * 2)
    got = erpo(batch, **{**DEFAULTS, "delta": 1.0, "beta_p": 1.0, "buckets": 1, "eta": 1.0})
    want = torch.tensor([[1 - p, 1 + p], [p - 1, -1 - p]], dtype=torch.float64) / scale
    assert torch.allclose(got, want)


def test_outcome_anchoring_does_not_keep_every_sign() -> None:
    # As in the first derivation, with eta = 2: A + 2 Psi = (-1, 3 | 1, -3). The weaker token of the right response is
    # punished and that of the wrong one rewarded: the sign of A anchors Psi, not the sum.
    batch = small([1.0, -1.0], [[0.7, 0.7]] * 2, [[1.0, 3.0]] * 2)
    got = erpo(batch, **{**EXACT, "buckets": 1, "eta": 2.0})
    assert got.sign().tolist() == [[-1, 1], [1, -1]]


def test_buckets_count_from_one_and_the_last_token_is_in_the_last() -> None:
    mask = torch.arange(5) < torch.tensor([[5], [4], [2], [1], [0]])
    # tau K with K = 2: 5 tokens 2/5, 4/5, 6/5, 8/5, 2; 4 tokens 1/2, 1, 3/2, 2; 2 tokens 1, 2; 1 token 2
    got = bucket_of(mask, 2)
    assert [row[m].tolist() for row, m in zip(got, mask, strict=True)] == [
        [0, 0, 1, 1, 1],
        [0, 1, 1, 1],
        [1, 1],
        [1],
        [],
    ]
    # as many buckets as tokens: none is left in the first, two are in the last
    assert bucket_of(torch.ones(1, 10, dtype=torch.bool), 10).tolist() == [[1, 2, 3, 4, 5, 6, 7, 8, 9, 9]]


def test_buckets_are_normalised_apart() -> None:
    # K = 2, responses of 2 tokens: both tokens in bucket 1. Responses of 3: tau K = 2/3, 4/3, 2, buckets 0, 1, 1.
    # Bucket 0 holds s = 1 and 9, bucket 1 holds 0, 0, 2, 2: in both the z-scores are -1 and 1.
    batch = small([1.0, -1.0], [[0.7] * 3] * 2, [[1.0, 0.0, 2.0], [9.0, 0.0, 2.0]])
    got = erpo(batch, **{**EXACT, "buckets": 2})
    # W sgn(A) s~ is (-1, -1, 1 | -1, 1, -1) / 2, with mean -1/3 x 1/2, variance (1 - 1/9) / 4 = 2/9
    p = 0.2 * 0.5 / math.sqrt(2 / 9)
    raw = torch.tensor([[1 - p, 1 - p, 1 + p], [-1 - p, -1 + p, -1 - p]], dtype=torch.float64)
    assert torch.allclose(got, (raw - raw.mean()) / raw.std(correction=0))


@given(token_batches(), settings)
def test_equals_the_loops(batch: TokenBatch, values: dict[str, Any]) -> None:
    batch = batch.with_advantages(grpo(batch, std="sample", epsilon=1e-4))
    assert torch.allclose(erpo(batch, **values), slow_erpo(batch, **values), atol=1e-9)


@given(token_batches())
def test_eq_16_mean_zero_and_variance_one_in_each_group(batch: TokenBatch) -> None:
    batch = batch.with_advantages(grpo(batch, std="sample", epsilon=1e-4))
    got = erpo(batch, **EXACT)
    for group in set(batch.groups.tolist()):
        rows = (batch.groups == group) & ~batch.rewards.isnan()
        values = got[rows][batch.mask[rows]]
        assert values.numel() == 0 or abs(float(values.mean())) < 1e-9
        # the advantages differ inside the group: some response with tokens is better than another
        if batch.advantages is not None and len(set(batch.advantages[rows][batch.mask[rows]].tolist())) > 1:
            assert float(values.var(correction=0)) == pytest.approx(1)


@given(token_batches(), settings)
def test_eta_zero_is_the_z_score_of_the_advantage(batch: TokenBatch, values: dict[str, Any]) -> None:
    batch = replace(batch, rewards=batch.rewards.nan_to_num(0.5))
    got = erpo(batch, **{**values, "eta": 0.0, "delta": 0.0, "std": "sample"})
    assert batch.advantages is not None
    for group in set(batch.groups.tolist()):
        rows = batch.groups == group
        inside = batch.advantages[rows][batch.mask[rows]]
        if inside.numel() > 1:
            assert torch.allclose(got[rows][batch.mask[rows]], (inside - inside.mean()) / inside.std(), atol=1e-9)


@given(token_batches())
def test_the_opposite_outcome_has_the_opposite_advantage(batch: TokenBatch) -> None:
    assert batch.advantages is not None
    opposite = batch.with_advantages(-batch.advantages)
    assert torch.allclose(erpo(opposite, **DEFAULTS), -erpo(batch, **DEFAULTS), atol=1e-9)


@given(token_batches())
def test_the_scale_of_the_progress_signal_cancels_without_delta(batch: TokenBatch) -> None:
    small, large = (erpo(batch, **{**EXACT, "beta_p": beta}) for beta in (0.1, 7.0))
    assert torch.allclose(small, large, atol=1e-7)


@given(token_batches())
def test_the_policy_that_is_the_reference_has_no_progress(batch: TokenBatch) -> None:
    # s = 0 everywhere, so Psi = 0: the first step of a training is the z-score of A
    first = replace(batch, ref_logp=batch.logp)
    assert torch.allclose(erpo(first, **DEFAULTS), erpo(batch, **{**DEFAULTS, "eta": 0.0}))


@given(token_batches())
def test_equal_rewards_and_groups_of_one_give_zero_exactly(batch: TokenBatch) -> None:
    same = replace(batch, rewards=torch.full_like(batch.rewards, 0.1))
    assert erpo(same.with_advantages(grpo(same, std="sample", epsilon=0.0)), **DEFAULTS).eq(0).all()
    alone = replace(batch, groups=torch.arange(len(batch.groups)))
    assert erpo(alone.with_advantages(grpo(alone, std="sample", epsilon=0.0)), **DEFAULTS).eq(0).all()


def test_an_empty_batch_is_valid() -> None:
    empty = replace(small([1.0, -1.0], [[0.1, 0.2]] * 2, [[1.0, 2.0]] * 2), mask=torch.zeros(2, 2, dtype=torch.bool))
    assert erpo(empty, **DEFAULTS).eq(0).all()


def test_responses_of_one_token() -> None:
    # all in the last bucket. s = 1, 2: s~ = -1, 1. W sgn(A) s~ = -1/2, -1/2, which are equal: nothing to rescale,
    # Psi = 0, and the final advantage is the z-score of A = 1, -1
    got = erpo(small([1.0, -1.0], [[0.7]] * 2, [[1.0], [2.0]]), **EXACT)
    assert got.tolist() == [[1.0], [-1.0]]


def test_a_response_without_a_reward_takes_no_part() -> None:
    h, s = [[0.1, 0.9], [0.3, 0.2], [0.6, 0.6]], [[1.0, 3.0], [2.0, 5.0], [0.0, 9.0]]
    with_it = small([1.0, -1.0, 0.0], h, s)
    with_it = replace(with_it, rewards=torch.tensor([1.0, 0.0, math.nan], dtype=torch.float64))
    got = erpo(with_it, **DEFAULTS)
    assert got[2].eq(0).all()
    assert torch.equal(got[:2], erpo(small([1.0, -1.0], h[:2], s[:2]), **DEFAULTS))


@pytest.mark.parametrize("infinite", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("field", ["logp", "ref_logp", "entropies"])
def test_a_token_without_a_finite_signal_has_no_psi(field: str, infinite: float) -> None:
    batch = small([1.0, -1.0], [[0.1, 0.9, 0.3], [0.4, 0.2, 0.8]], [[1.0, 3.0, 2.0], [2.0, 1.0, 5.0]])
    broken = getattr(batch, field).clone()
    broken[0, 1] = infinite
    batch = replace(batch, **{field: broken})
    got = erpo(batch, **{**DEFAULTS, "buckets": 1})
    assert got.isfinite().all()
    assert torch.allclose(got, slow_erpo(batch, **{**DEFAULTS, "buckets": 1}))
    # Psi = 0 there, so its final advantage is where A = 1 alone lands. With eta = 0 all of the response are there
    assert not torch.isclose(got[0, 1], got[0, 0]) and not torch.isclose(got[0, 1], got[0, 2])
