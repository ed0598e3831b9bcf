"""The loss: derived values, and an independent slow version of value and gradient."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from harness.step.batch import TokenBatch
from harness.step.loss import aggregation_coefficients, clipped_objective, clipped_tokens, k3, policy_loss
from tests.batches import token_batches

CLIP = {"clip_low": 0.2, "clip_high": 0.28}


def scalar(value: float) -> torch.Tensor:
    return torch.tensor([[value]], dtype=torch.float64)


@pytest.mark.parametrize(
    ("ratio", "advantage", "dual_clip", "want"),
    [
        (1.5, 2.0, None, 2.56),  # min(3, 1.28 * 2): clipped high
        (0.5, 2.0, None, 1.0),  # min(1, 0.8 * 2): a good token that became rarer is not clipped
        (0.5, -2.0, None, -1.6),  # min(-1, 0.8 * -2): clipped low
        (9.0, -2.0, None, -18.0),  # min(-18, 1.28 * -2): unbounded below ...
        (9.0, -2.0, 3.0, -6.0),  # ... unless the dual clip bounds it at 3 * -2
        (9.0, 2.0, 3.0, 2.56),  # the dual clip leaves positive advantages alone
    ],
)
def test_clipping_by_hand(ratio: float, advantage: float, dual_clip: float | None, want: float) -> None:
    got = clipped_objective(scalar(math.log(ratio)), scalar(0.0), scalar(advantage), **CLIP, dual_clip=dual_clip)
    assert got.item() == pytest.approx(want)


def test_a_ratio_at_a_bound_is_not_clipped() -> None:
    """At 1 + clip_high both terms of the minimum are equal, so the token keeps its gradient. With bounds of 0 a ratio
    of 1 is at both."""
    at, beyond = torch.zeros(1, 2), torch.tensor([[1e-3, -1e-3]])
    advantages = torch.tensor([[1.0, -1.0]])
    assert clipped_tokens(at, at, advantages, clip_low=0.0, clip_high=0.0).tolist() == [[False, False]]
    assert clipped_tokens(beyond, at, advantages, clip_low=0.0, clip_high=0.0).tolist() == [[True, True]]
    assert clipped_tokens(-beyond, at, advantages, clip_low=0.0, clip_high=0.0).tolist() == [[False, False]]


def test_k3_by_hand() -> None:
    # ref three times likelier: d = log 3 -> 3 - log 3 - 1. equal: 0
    assert k3(scalar(0.0), scalar(math.log(3))).item() == pytest.approx(2 - math.log(3))
    assert k3(scalar(-1.0), scalar(-1.0)).item() == 0


def test_coefficients_by_hand() -> None:
    # lengths 3 and 1, B = 2, max_tokens = 4
    mask = torch.tensor([[True, True, True], [True, False, False]])
    sixth, half, quarter, eighth = 1 / 6, 1 / 2, 1 / 4, 1 / 8
    want = {
        "sequence_mean": [[sixth] * 3, [half, 0, 0]],  # 1 / (2 * 3), 1 / (2 * 1)
        "token_mean": [[quarter] * 3, [quarter, 0, 0]],  # 1 / 4 tokens
        "fixed_length": [[eighth] * 3, [eighth, 0, 0]],  # 1 / (2 * 4)
    }
    for aggregation, rows in want.items():
        got = aggregation_coefficients(mask, aggregation, max_tokens=4)  # type: ignore[arg-type]
        assert torch.allclose(got, torch.tensor(rows))
    with pytest.raises(ValueError, match=r"aggregation: expected one of .*'mean'"):
        aggregation_coefficients(mask, "mean", max_tokens=4)  # type: ignore[arg-type]


def slow_loss_and_gradient(
    batch: TokenBatch, weights: torch.Tensor, kl_beta: float, dual_clip: float | None
) -> tuple[float, torch.Tensor]:
    """Value in Python floats. Gradient from the derivative of each case by hand."""
    assert batch.logp is not None and batch.old_logp is not None
    assert batch.ref_logp is not None and batch.advantages is not None
    total, gradient = 0.0, torch.zeros_like(batch.logp)
    for i, row in enumerate(batch.mask.tolist()):
        for t, counts in enumerate(row):
            if not counts:
                continue
            logp, a, w = float(batch.logp[i, t]), float(batch.advantages[i, t]), float(weights[i, t])
            ratio = math.exp(logp - float(batch.old_logp[i, t]))
            clipped = min(max(ratio, 0.8), 1.28)
            value, slope = (ratio * a, ratio * a) if ratio * a <= clipped * a else (clipped * a, 0.0)
            if ratio == clipped:
                slope = ratio * a
            if dual_clip is not None and a < 0 and value < dual_clip * a:
                value, slope = dual_clip * a, 0.0
            d = float(batch.ref_logp[i, t]) - logp
            value -= kl_beta * (math.exp(d) - d - 1)
            slope -= kl_beta * (1 - math.exp(d))
            total -= w * value
            gradient[i, t] = -w * slope
    return total, gradient


@given(token_batches(), st.sampled_from([0.0, 0.04]), st.sampled_from([None, 3.0]))
def test_value_and_gradient_equal_the_loops(batch: TokenBatch, kl_beta: float, dual_clip: float | None) -> None:
    weights = torch.rand(batch.mask.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * batch.mask
    assert batch.logp is not None and batch.old_logp is not None and batch.ref_logp is not None
    leaf = batch.logp.nan_to_num(0.0).requires_grad_()
    loss = policy_loss(
        leaf,
        batch.old_logp.nan_to_num(0.0),
        batch.need("advantages"),
        weights,
        ref_logp=batch.ref_logp.nan_to_num(0.0),
        kl_beta=kl_beta,
        dual_clip=dual_clip,
        **CLIP,
    )
    (gradient,) = torch.autograd.grad(loss, leaf)
    want, want_gradient = slow_loss_and_gradient(batch, weights, kl_beta, dual_clip)
    assert loss.item() == pytest.approx(want, abs=1e-10)
    assert torch.allclose(gradient, want_gradient, atol=1e-10)


def test_a_padded_position_may_hold_infinity() -> None:
    logp = torch.tensor([[-1.0, float("inf")]])
    loss = policy_loss(logp, torch.zeros(1, 2), torch.ones(1, 2), torch.tensor([[1.0, 0.0]]), **CLIP)
    assert loss.item() == pytest.approx(-math.exp(-1))


def test_kl_without_a_reference_is_refused() -> None:
    with pytest.raises(ValueError, match=r"kl_beta=0\.1 needs ref_logp"):
        policy_loss(scalar(0), scalar(0), scalar(0), scalar(1), kl_beta=0.1, **CLIP)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("name", ["logp", "old_logp", "ref_logp", "advantages", "entropies", "gates", "penalties"])
@pytest.mark.parametrize("with_objective", [False, True], ids=["clipped", "an objective"])
def test_what_stands_at_a_position_of_weight_0_never_matters(name: str, value: float, with_objective: bool) -> None:
    """Neither in the loss nor in the gradient, as padded log-probabilities may be anything."""
    mask = torch.tensor([[True, True, False], [True, False, False]])
    generator = torch.Generator().manual_seed(0)

    def loss_and_gradients(fill: float) -> tuple[float, list[torch.Tensor]]:
        generator.manual_seed(0)
        given = {
            key: torch.rand(2, 3, generator=generator)
            for key in ("logp", "old_logp", "ref_logp", "advantages", "entropies", "gates", "penalties")
        }
        given[name] = given[name].masked_fill(~mask, fill)
        leaves = [given[key].requires_grad_() for key in ("logp", "entropies")]
        loss = policy_loss(
            token_weights=mask / 3,
            mask=mask,
            kl_beta=0.1,
            entropy_coefficient=0.2,
            objective=(lambda logp, old, advantages, _: (logp - old).exp() * advantages) if with_objective else None,
            **given,
        )
        loss.backward()
        return loss.item(), [leaf.grad for leaf in leaves]

    (loss, gradients), (expected, of_zeros) = loss_and_gradients(value), loss_and_gradients(0.0)
    assert loss == expected
    assert all(torch.equal(gradient, other) for gradient, other in zip(gradients, of_zeros, strict=True))
