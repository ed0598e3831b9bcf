"""Controls: what each changes in an arm, and what a placebo keeps (marginals) and breaks (order)."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from evals.grading import Grader
from evals.provenance import Origin
from harness.command.resolve import resolve
from harness.errors import UsageError
from harness.spec.controls import (
    CONTROLS,
    controlled,
    inverted_reward,
    no_update,
    permuted,
    placebo,
    random_reward,
    reward_range,
)
from harness.spec.job import Job
from harness.step.batch import TOKEN_SIGNALS, TokenBatch
from harness.step.rewards import score_responses
from tests import experiments
from tests.batches import token_batches
from tests.harness.cases import CASES

ALL = frozenset(TOKEN_SIGNALS)


def multiset(batch: TokenBatch, rows: list[int]) -> Counter[tuple[float, ...]]:
    """The complete signals of each token of some responses."""
    tokens: Counter[tuple[float, ...]] = Counter()
    for i in rows:
        for t in range(batch.mask.shape[1]):
            if batch.mask[i, t]:
                tokens[tuple(float(getattr(batch, name)[i, t]) for name in TOKEN_SIGNALS)] += 1
    return tokens


@given(token_batches(), st.sampled_from(["group", "response"]), st.integers(0, 5))
def test_a_permutation_keeps_the_signals_of_each_unit(batch: TokenBatch, among: Any, seed: int) -> None:
    after = permuted(replace(batch, seed=seed), ALL, among, "a test")
    groups = batch.groups.tolist()
    units = [[i] for i in range(len(groups))]
    if among == "group":
        units = [[i for i, g in enumerate(groups) if g == wanted] for wanted in sorted(set(groups))]
    for rows in units:
        assert multiset(after, rows) == multiset(batch, rows)
    for name in ("rewards", "groups", "mask", "advantages"):  # other fields stay unchanged
        torch.testing.assert_close(getattr(after, name), getattr(batch, name), equal_nan=True, rtol=0, atol=0)
    again = permuted(replace(batch, seed=seed), ALL, among, "a test")
    for name in TOKEN_SIGNALS:  # seeded
        assert torch.equal(getattr(after, name)[batch.mask], getattr(again, name)[batch.mask])


def long_batch(seed: int = 0, step: int = 0) -> TokenBatch:
    """Two groups of three responses of 50 tokens. The signals tell row and position."""
    rows, tokens = 6, 50
    place = torch.arange(rows * tokens, dtype=torch.float64).view(rows, tokens)
    return TokenBatch(
        rewards=torch.tensor([0.0, 1.0, 0.0, 1.0, 1.0, 0.0]),
        groups=torch.tensor([0, 0, 0, 1, 1, 1]),
        mask=torch.ones(rows, tokens, dtype=torch.bool),
        vocab_size=10,
        max_tokens=tokens,
        step=step,
        seed=seed,
        entropies=place,
        logp=-place,
    )


def test_a_permutation_breaks_the_order_and_differs_by_step_and_seed() -> None:
    before = long_batch().entropies
    assert before is not None
    in_group = permuted(long_batch(), ALL, "group", "x").entropies
    in_response = permuted(long_batch(), ALL, "response", "x").entropies
    assert in_group is not None and in_response is not None
    rows = (in_group // 50).long()
    # about 1 of 150 tokens of a group stays at its place (a random permutation has one fixed point on average), and a
    # response gets about a third of its tokens from itself
    assert int((in_group == before).sum()) < 12
    assert 0.2 < float((rows == torch.arange(6).unsqueeze(1)).double().mean()) < 0.5
    assert torch.equal((in_response // 50).long(), (before // 50).long())
    assert int((in_response == before).sum()) < 20
    # the correlation of position with the signal is gone: |r| of 50 shuffled positions is below 0.5 but for 1 in 4,000
    for row in in_response:
        assert abs(float(torch.corrcoef(torch.stack([row, before[0]]))[0, 1])) < 0.5
    for other in (long_batch(step=1), long_batch(seed=1)):
        changed = permuted(other, ALL, "group", "x").entropies
        assert changed is not None and not torch.equal(changed, in_group)
    assert torch.equal(permuted(long_batch(), ALL, "group", "x").logp, -in_group)  # signals move together


@pytest.mark.parametrize("among", ["group", "response"])
@pytest.mark.parametrize("name", ["egsw-step", "entropy_advantage", "erpo", "forking_tokens", "kl_cov"])
def test_a_placebo_is_the_equation_on_permuted_signals(name: str, among: Any) -> None:
    base = long_batch(seed=3)
    assert base.entropies is not None and base.logp is not None
    batch = replace(
        base,
        entropies=base.entropies / 300,
        logp=base.logp / 100,
        old_logp=base.logp / 90,
        ref_logp=base.logp / 110,
        advantages=torch.linspace(-1, 1, 6, dtype=torch.float64).unsqueeze(1) * base.mask,
    )
    (equation,) = (u for u in CASES[name].method.uses() if u.reads)
    wrapped = pickle.loads(pickle.dumps(placebo(equation, among)))  # noqa: S301  # as another process gets it
    want = equation(permuted(batch, equation.reads, among, f"placebo {equation.name}"))
    assert torch.equal(wrapped(batch), want)
    assert not torch.equal(wrapped(batch), equation(batch))
    assert (wrapped.name, wrapped.reads) == (equation.name, equation.reads)
    assert wrapped.values["placebo"].value == among and set(wrapped.values) - set(equation.values) == {"placebo"}


def test_a_placebo_needs_a_signal_that_is_not_a_critics() -> None:
    with pytest.raises(ValueError, match=r"shuffled_signal: no equation of its method reads a signal.*\['grpo'\]"):
        controlled(experiments.experiment(), "shuffled_signal")
    with pytest.raises(ValueError, match="gae: its signal is a critic's estimate"):
        controlled(experiments.ppo(), "shuffled_signal")
    (egsw,) = (u for u in CASES["egsw-step"].method.uses() if u.reads)
    with pytest.raises(ValueError, match="its signals are permuted already"):
        placebo(placebo(egsw, "group"), "group")


def test_a_random_reward_is_a_fair_coin_for_every_response_and_step() -> None:
    rows = 4000
    batch = replace(
        long_batch(),
        **{"rewards": torch.zeros(rows), "groups": torch.arange(rows) // 8, "entropies": None, "logp": None},
        mask=torch.ones(rows, 1, dtype=torch.bool),
    )
    first = random_reward(batch, probability=0.5, low=-1.0, high=1.0)
    second = random_reward(replace(batch, step=1), probability=0.5, low=-1.0, high=1.0)
    assert set(first.tolist()) == {-1.0, 1.0}
    # 4,000 coins: the standard deviation of the share is 0.008. Four of them
    assert abs(float((first > 0).double().mean()) - 0.5) < 0.032
    assert abs(float((first == second).double().mean()) - 0.5) < 0.032  # independent of the other step
    assert torch.equal(first, random_reward(batch, probability=0.5, low=-1.0, high=1.0))
    missing = batch.rewards.clone()
    missing[7] = float("nan")
    again = random_reward(batch.with_rewards(missing), probability=0.5, low=-1.0, high=1.0)
    assert again.isnan().nonzero().flatten().tolist() == [7]


def test_inverting_reverses_grpos_advantage() -> None:
    batch = long_batch()
    method = CASES["grpo"].method
    assert torch.equal(inverted_reward(batch, low=0.0, high=1.0), 1 - batch.rewards)
    inverted = method.advantage(batch.with_rewards(inverted_reward(batch, low=0.0, high=1.0)))
    torch.testing.assert_close(inverted, -method.advantage(batch))
    assert not no_update(batch).any()


def test_what_each_control_changes() -> None:
    declared = experiments.experiment().override({"dynamic_sampling": True, "weight_decay": 0.1}, Origin.USER, "a test")
    values = {
        name: {k: v.value for k, v in controlled(declared, name).settings().items()}
        for name in CONTROLS
        if "shuf" not in name
    }
    before = {key: sourced.value for key, sourced in declared.settings().items()}
    changed = {
        name: {key: value for key, value in now.items() if before.get(key) != value} for name, now in values.items()
    }
    assert changed == {
        "random_reward": {
            "dynamic_sampling": False,
            "random_reward.probability": 0.5,
            "random_reward.low": 0.0,
            "random_reward.high": 1.0,
        },
        "inverted_reward": {"dynamic_sampling": False, "inverted_reward.low": 0.0, "inverted_reward.high": 1.0},
        "format_only": {
            "dynamic_sampling": False,
            "rewards": ("boxed_format", "accuracy"),
            "reward_weights": (1.0, 0.0),
        },
        "majority_reward": {
            "dynamic_sampling": False,
            "rewards": ("majority", "accuracy"),
            "reward_weights": (1.0, 0.0),
        },
        "noisy_reward": {"dynamic_sampling": False, "noisy_reward.rate": 0.15, "noisy_reward.worth": 1.0},
        "false_positives": {"dynamic_sampling": False, "false_positives.share": 0.15, "false_positives.worth": 1.0},
        "no_update": {"weight_decay": 0.0, "max_steps": 1},
    }
    signed = declared.override(
        {"rewards": ["signed_accuracy", "boxed_format"], "reward_weights": [1.0, 0.5]}, Origin.USER, "a test"
    )
    assert reward_range(signed) == (-1.0, 1.5)
    assert controlled(signed, "majority_reward").reward_weights.value == (2.5, 0.0)


def names(jobs: list[Job]) -> list[str]:
    return list(dict.fromkeys(job.arm for job in jobs))


def test_controls_on_the_command_line() -> None:
    jobs = resolve("egsw", arms=["base", "egsw", "egsw+random_reward", "egsw+shuffled_signal"], seeds=[0])
    assert names(jobs) == ["base", "egsw", "egsw+random_reward", "egsw+shuffled_signal"]
    assert jobs[2].title.endswith("(random reward)") and len({job.digest for job in jobs}) == 4
    alone = resolve("egsw", arms=["egsw+shuffled_signal"], seeds=[0])
    assert [job.digest for job in alone] == [jobs[3].digest]
    with pytest.raises(UsageError, match=r"control=random: no such control.*random_reward"):
        resolve("egsw", arms=["grpo+random"])
    with pytest.raises(UsageError, match="random_reward: the arm is not trained"):
        resolve("egsw", arms=["base+random_reward"])
    with pytest.raises(UsageError, match="expected reinforcement learning"):
        resolve("erpo", arms=["sft+no_update"])


def test_majority_rewards_the_most_frequent_answer() -> None:
    responses = [r"\boxed{7}", r"\boxed{7.0}", r"\boxed{4}", "none"]  # 7 twice, wrong. 4 once, correct. No answer
    tie = [r"\boxed{9}", r"\boxed{4}", "none", "none"]  # one each: the one that came first
    grader = Grader()
    scores = score_responses(
        ("majority", "accuracy"), [*responses, *tie], ["4"] * 8, grader, policy="boxed_last", group_size=4
    )
    with pytest.raises(ValueError, match="majority: expected whole groups of responses, got 4 of 3"):
        score_responses(("majority",), responses, ["4"] * 4, grader, policy="boxed_last", group_size=3)
    assert scores == {
        "majority": [1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        "accuracy": [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0],
    }
