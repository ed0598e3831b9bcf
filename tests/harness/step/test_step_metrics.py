"""The metrics of a step: by hand, against loops, and unmoved by order and padding."""

from __future__ import annotations

from dataclasses import replace
from math import isnan
from statistics import stdev

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from evals.provenance import assumed
from harness.spec import Method, use
from harness.step.batch import TokenBatch
from harness.step.step_metrics import STEP_METRICS, correct_responses, step_metrics, with_rewards
from reproductions.entropy_advantage.method import entropy_advantage
from tests.batches import padded, permuted, token_batches
from tests.experiments import GRPO

NAN = float("nan")


def batch_of(rewards: list[float], groups: list[int], lengths: list[int], **fields: torch.Tensor) -> TokenBatch:
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    return TokenBatch(
        torch.tensor(rewards), torch.tensor(groups), mask, vocab_size=5, max_tokens=9, step=0, seed=0, **fields
    )


def test_equal_rewards_are_those_that_the_advantage_reads() -> None:
    """The verifier's are equal in the first group and differ in the second. A control's coins differ in both."""
    batch = batch_of([1.0, 1.0, 0.0, 1.0], [0, 0, 1, 1], [2, 1, 2, 1])
    assert step_metrics(batch)["train/zero_variance_groups"] == 0.5
    coins = torch.tensor([0.0, 1.0, 0.0, 1.0])
    assert step_metrics(batch, rewards=coins)["train/zero_variance_groups"] == 0.0
    assert step_metrics(batch, rewards=torch.zeros(4))["train/zero_variance_groups"] == 1.0


def test_by_hand() -> None:
    # groups: 0 = {1, 0} varies, 1 = {1, NaN} has one scored reward, 2 = {NaN} has none and does not count
    entropies = torch.tensor([[1.0, 3.0, NAN], [5.0, NAN, NAN], [2.0, 2.0, 4.0], [7.0, 9.0, NAN], [8.0, NAN, NAN]])
    batch = batch_of([1, 0, 1, NAN, NAN], [0, 0, 1, 1, 2], [2, 1, 3, 2, 1], entropies=entropies)
    metrics = step_metrics(replace(batch, correct=torch.tensor([1, 0, 1, NAN, NAN])))
    assert metrics == {
        "train/reward": pytest.approx(2 / 3),
        "train/reward_std": pytest.approx(0.5**0.5),  # group 0's: no other has two scored responses
        "train/unscored_fraction": pytest.approx(2 / 5),
        "train/zero_variance_groups": pytest.approx(1 / 2),
        "train/accuracy": pytest.approx(2 / 3),
        "train/response_length_positive": pytest.approx(2.5),
        "train/response_length_negative": pytest.approx(1),
        "train/entropy": pytest.approx((1 + 3 + 5 + 2 + 2 + 4 + 7 + 9 + 8) / 9),
        "train/entropy_positive": pytest.approx((1 + 3 + 2 + 2 + 4) / 5),  # over tokens: over responses it is 7/3
        "train/entropy_negative": pytest.approx(5),
    }


def test_the_spread_of_rewards_is_that_within_a_prompt() -> None:
    """Rewards that differ between prompts alone have none, whose standard deviation over the batch is 0.58."""
    between = step_metrics(batch_of([1.0, 1.0, 0.0, 0.0], [0, 0, 1, 1], [2, 1, 2, 1]))
    assert (between["train/reward"], between["train/reward_std"]) == (0.5, 0)
    # {1, 3} and {1, 1, 4}: sqrt(2) and sqrt(3)
    within = step_metrics(batch_of([1.0, 3.0, 1.0, 1.0, 4.0, NAN], [0, 0, 1, 1, 1, 1], [1] * 6))
    assert within["train/reward_std"] == pytest.approx((2**0.5 + 3**0.5) / 2) and within["train/reward"] == 2


def test_metrics_without_values_are_absent() -> None:
    unscored = batch_of([NAN, NAN], [0, 0], [2, 1])
    for correct in (None, torch.tensor([NAN, NAN])):
        assert step_metrics(replace(unscored, correct=correct)) == {"train/unscored_fraction": 1.0}
    incorrect = step_metrics(batch_of([0.0, 0.0], [0, 0], [2, 1], correct=torch.tensor([0.0, 0.0])))
    assert incorrect["train/accuracy"] == 0 and incorrect["train/zero_variance_groups"] == 1
    assert "train/response_length_positive" not in incorrect and "train/entropy" not in incorrect
    # an empty response has a length and no entropy
    empty = batch_of([1.0, 0.0], [0, 0], [0, 1], entropies=torch.ones(2, 1))
    metrics = step_metrics(replace(empty, correct=torch.tensor([1.0, 0.0])))
    assert metrics["train/response_length_positive"] == 0 and "train/entropy_positive" not in metrics
    assert "train/accuracy" not in step_metrics(empty)  # no reward says which responses are correct


def test_shaping_ratio_by_hand() -> None:
    # |A| sums to 2 + 2 + 1. min(0.5 H, |A| / 2) = min(1, 1), min(2, 1), min(0.25, 0.5) adds 1 + 1 + 0.25 = 2.25
    batch = batch_of(
        [1.0, 0.0],
        [0, 0],
        [2, 1],
        entropies=torch.tensor([[2.0, 4.0], [0.5, NAN]]),
        advantages=torch.tensor([[2.0, 2.0], [-1.0, NAN]]),
    )
    shaped = entropy_advantage(batch, alpha=0.5, kappa=2.0)
    assert step_metrics(batch, shaped_advantages=shaped)["train/shaping_ratio"] == pytest.approx(2.25 / 5)
    still = replace(batch, advantages=torch.zeros(2, 2))
    assert "train/shaping_ratio" not in step_metrics(still, shaped_advantages=shaped)


def test_unshaped_advantages_are_those_of_the_stack_without_shaping() -> None:
    shaping = use(entropy_advantage, alpha=assumed(0.4, "a test"), kappa=assumed(2.0, "a test"))
    method: Method = replace(GRPO, shaping=(shaping,))
    batch = batch_of([1.0, 0.0], [0, 0], [2, 1], entropies=torch.ones(2, 2))
    assert torch.equal(method.advantage(with_rewards(method, batch)), GRPO.apply(batch).advantages)
    assert not torch.equal(method.advantage(with_rewards(method, batch)), method.apply(batch).advantages)


def test_a_group_of_one_response_has_no_variance_to_lack() -> None:
    assert "train/zero_variance_groups" not in step_metrics(batch_of([1.0, 0.0], [0, 1], [2, 1]))
    # one response in the group of two is not scored: nothing to compare, so its advantage is 0
    assert step_metrics(batch_of([1.0, 0.0, NAN], [0, 1, 1], [2, 1, 1]))["train/zero_variance_groups"] == 1.0


def test_correctness_comes_from_an_outcome_reward() -> None:
    box = torch.tensor([1.0, 1.0, 0.0])
    for name, incorrect in (("accuracy", 0.0), ("signed_accuracy", -1.0)):
        correct = correct_responses({"boxed_format": box, name: torch.tensor([1.0, incorrect, NAN])})
        assert correct is not None and correct[:2].tolist() == [1, 0] and isnan(correct[2])
    assert correct_responses({"boxed_format": box}) is None


def test_bad_arguments_are_named() -> None:
    batch = batch_of([1.0, 0.0], [0, 0], [2, 1])
    with pytest.raises(ValueError, match="correct: expected 0, 1 or NaN"):
        step_metrics(replace(batch, correct=torch.tensor([1.0, -1.0])))
    with pytest.raises(ValueError, match="correct: expected shape"):
        replace(batch, correct=torch.tensor([1.0]))
    with pytest.raises(ValueError, match="shaped_advantages: expected shape"):
        step_metrics(batch, shaped_advantages=torch.zeros(2, 3))


def slow_step_metrics(batch: TokenBatch, correct: list[float]) -> dict[str, float]:
    """The definitions, response by response and token by token."""
    rewards, groups = batch.rewards.tolist(), batch.groups.tolist()
    held: dict[int, list[float]] = {}
    for reward, group in zip(rewards, groups, strict=True):
        if not isnan(reward):
            held.setdefault(group, []).append(reward)
    values: dict[str, list[float]] = {
        "reward": [r for r in rewards if not isnan(r)],
        "reward_std": [stdev(g) for g in held.values() if len(g) > 1],
        "unscored_fraction": [float(isnan(r)) for r in rewards],
        "zero_variance_groups": [float(min(g) == max(g)) for key, g in held.items() if groups.count(key) > 1],
        "accuracy": [r for r in correct if not isnan(r)],
    }
    assert batch.entropies is not None
    for i, row in enumerate(batch.mask.tolist()):
        sign = {1.0: "_positive", 0.0: "_negative"}.get(correct[i])
        if sign:
            values.setdefault("response_length" + sign, []).append(sum(row))
        for t, counts in enumerate(row):
            for suffix in ("", sign):
                if counts and suffix is not None:
                    values.setdefault("entropy" + suffix, []).append(float(batch.entropies[i, t]))
    return {f"train/{name}": sum(v) / len(v) for name, v in values.items() if v}


@given(token_batches(), st.data())
def test_equals_loops_for_every_order_and_padding(batch: TokenBatch, data: st.DataObject) -> None:
    correct = (batch.rewards > 0).double().masked_fill(batch.rewards.isnan(), NAN)
    want = pytest.approx(slow_step_metrics(batch, correct.tolist()))
    batch = replace(batch, correct=correct)
    metrics = step_metrics(batch)
    assert metrics == want and set(metrics) <= set(STEP_METRICS)
    order = torch.tensor(data.draw(st.permutations(range(len(correct)))))
    assert step_metrics(padded(permuted(batch, order), 2)) == want
