"""For every method: the order of responses, padding and masked values change nothing, and no result has a gradient."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
import torch
from hypothesis import given, settings

from harness.spec import Experiment, Method, catalogue
from harness.spec.method import MethodOutput
from harness.step.batch import SEQUENCE_SIGNALS, SIGNALS, TokenBatch
from tests.batches import one_group, padded, permuted, token_batches
from tests.harness.cases import CASES

# consecutive responses form a micro-batch. Tokens are drawn, or ranked where they tie, in their order
ORDERED = ("egsw-micro-batch", "clip_cov", "clip_cov-released", "kl_cov", "entropy_advantage on dapo with clip_cov")
DRAWN = "random_reward"  # `rlvr new` makes it for a method without a signal: a coin for each response, in their order


def _methods() -> dict[str, Method]:
    """The methods of the cases, and every declared one with an equation that no case has (`rlvr new` writes one)."""
    methods = {name: case.method for name, case in CASES.items()}
    known = {equation.name for method in methods.values() for equation in method.uses()}
    for key in catalogue.papers():
        for arm in catalogue.load(key).arms:
            if isinstance(arm.train, Experiment):
                new = [u.name for u in arm.train.method.uses() if u.name not in known]
                methods |= {f"{key}/{arm.key}": arm.train.method} if new else {}
                known |= set(new)
    return methods


METHODS = _methods()


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=20)
@given(token_batches())
def test_order_padding_and_masked_values_change_nothing(name: str, batch: TokenBatch) -> None:
    method = METHODS[name]
    parts = torch.stack([batch.rewards, batch.rewards.roll(1)], 1)
    batch = replace(batch, reward_parts=parts, reward_weights=(1.0, 0.5))
    batch = replace(batch, **{signal: getattr(batch, signal).requires_grad_() for signal in SIGNALS})
    order = torch.arange(len(batch.rewards)).flip(0).roll(1)
    whole, wider, moved = (method.apply(b) for b in (batch, padded(batch, 2), permuted(batch, order)))
    for output in fields(MethodOutput):
        want = getattr(whole, output.name)
        if want is not None:
            assert want.isfinite().all() and not want.requires_grad  # masked positions of the signals are NaN
            torch.testing.assert_close(getattr(wider, output.name)[:, :-2], want)
            if name not in ORDERED and DRAWN not in {equation.name for equation in method.uses()}:
                torch.testing.assert_close(getattr(moved, output.name), want[order])


@pytest.mark.parametrize("name", METHODS)
def test_a_signal_that_is_not_there_is_named(name: str) -> None:
    signals = {signal: torch.full((4,) if signal in SEQUENCE_SIGNALS else (4, 3), -0.5) for signal in SIGNALS}
    whole = one_group(advantages=torch.ones(4, 3), rewards=torch.tensor([1.0, 0.0, 1.0, 0.0]), **signals)
    for equation in METHODS[name].uses():
        for signal in equation.reads:
            with pytest.raises(ValueError, match=f"this method needs `{signal}`, which this batch does not hold"):
                equation(replace(whole, **{signal: None}))
