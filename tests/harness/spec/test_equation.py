"""Stacks that mean nothing are refused when they are declared, with the reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from baselines.grpo import grpo
from evals.provenance import assumed
from harness.command.resolve import resolve
from harness.spec import Method, Use, use
from harness.spec.equation import outcome_rewards, policy_gradient_with, requires, stage
from reproductions.egsw.method import egsw
from tests.experiments import GRPO, WHY, experiment, sourced

SECOND_ADVANTAGE = use(grpo, std=assumed("none", WHY), epsilon=assumed(0.0, WHY))


def test_a_second_advantage_estimator_has_no_place_in_a_stack() -> None:
    # it would throw away what the first one made
    with pytest.raises(ValueError, match="method: grpo belongs to advantage, got it among shaping"):
        Method(advantage=anywhere(), aggregation=GRPO.aggregation, shaping=(SECOND_ADVANTAGE,))
    with pytest.raises(ValueError, match=r"appears twice in the stack \['grpo', 'grpo'\]"):
        replace(GRPO, shaping=(SECOND_ADVANTAGE,))


def anywhere() -> Use:
    """An equation without a declared stage may be in any stage."""

    def plain(batch: object) -> None: ...

    return use(plain)


def test_a_wrong_part_is_named() -> None:
    values = {
        **{"alpha": 0.3, "temperature": 1.0, "level": "step"},
        **{"entropy": "raw", "over": "batch", "rescale": "none", "micro_batch": None},
    }
    weights = use(egsw, **sourced(**values))
    with pytest.raises(ValueError, match="egsw belongs to weights, got it among gates"):
        replace(GRPO, gates=(weights,))
    with pytest.raises(ValueError, match="stage: expected one of"):
        stage("mask")  # type: ignore[arg-type]


def test_kept_tokens_are_counted_only_where_gates_drop_some() -> None:
    with pytest.raises(ValueError, match="denominator: expected 'all' in a method without gates"):
        replace(GRPO, denominator=assumed("kept", WHY))


def test_an_equation_may_refuse_an_experiment() -> None:
    @requires(outcome_rewards)
    def counts(batch: object) -> None: ...

    @stage("rewards")
    def shorter(batch: object) -> None: ...

    counting = Method(advantage=use(counts), aggregation=GRPO.aggregation)
    experiment(counting)  # accuracy alone: fine
    with pytest.raises(ValueError, match=r"counts cannot be used here: rewards: expected accuracy or signed_accuracy"):
        replace(
            experiment(counting),
            rewards=assumed(("accuracy", "boxed_format"), WHY),
            reward_weights=assumed((1.0, 1.0), WHY),
        )
    with pytest.raises(ValueError, match=r"expected nothing that changes them.*got \['shorter'\]"):
        experiment(replace(counting, rewards=(use(shorter),)))


@pytest.mark.parametrize(("arm", "aggregation"), [("real", "sequence_mean"), ("a_star_po", "sequence_sum")])
def test_an_advantage_of_reinforce_names_objective_and_aggregation(arm: str, aggregation: str) -> None:
    """Two values can be wrong, and the message has both."""
    expected = f"objective and aggregation: expected policy_gradient with {aggregation}, got"
    with pytest.raises(ValueError, match=f"{expected} policy_gradient with token_mean"):
        resolve("baselines", arms=[arm], overrides={"aggregation": "token_mean"})
    other = experiment()
    got = f"the default objective with {other.method.aggregation.value}"
    assert policy_gradient_with(other, aggregation) == f"{expected} {got}"
