"""SimKO: by the authors' sum, term by term, and by hand."""

from __future__ import annotations

import math
import statistics
from typing import Any

import pytest
import torch

from baselines.simko import row_quantile, simko
from harness.step.batch import TokenBatch
from harness.step.likeliest import Distribution, likeliest_tokens

VALUES: dict[str, Any] = {"low": 0.2, "high": 0.3, "likeliest": 3, "alpha": 0.3, "penalty": 1.4, "quantile": 0.5}


def slow_simko(
    batch: TokenBatch, logp: torch.Tensor, old_logp: torch.Tensor, every: torch.Tensor, sampled: torch.Tensor
) -> torch.Tensor:
    """The authors' form, which has old log-probabilities of the top 3: any do, so these differ from token to token."""
    v, advantages, entropies = VALUES, batch.need("advantages"), batch.need("entropies")
    terms = torch.zeros_like(logp)
    for i in range(len(logp)):
        columns = batch.mask[i].nonzero().flatten().tolist()
        middle = statistics.median(float(entropies[i, t]) for t in columns) if columns else 0.0  # the 0.5 quantile
        for t in columns:
            a, fork = float(advantages[i, t]), float(entropies[i, t]) > middle
            ratio = (logp[i, t] - old_logp[i, t]).exp()
            order = sorted(range(every.shape[-1]), key=lambda token: -float(every[i, t, token].detach()))
            if fork and a > 0:
                total = torch.zeros_like(ratio)
                for k, token in enumerate(order[:3]):
                    of_top = (every[i, t, token] - (-1.0 - 0.3 * k - 0.1 * t)).exp()
                    total = total + ratio.detach() / of_top.detach() * of_top
                ratio = (1 - v["alpha"]) * ratio + v["alpha"] / 3 * total
            if fork and a < 0 and order[0] == int(sampled[i, t]):
                a = v["penalty"] * a
            terms[i, t] = torch.minimum(ratio * a, ratio.clamp(1 - v["low"], 1 + v["high"]) * a)
    return terms


def gradients(a: float, *, entropy: float, is_top: bool) -> tuple[float, list[float]]:
    """The gradients for one token of ratio 1, beside another of entropy 1: the objective's, for log pi and the two
    likeliest."""
    logp = torch.tensor([[-1.0, -1.0]], dtype=torch.float64, requires_grad=True)
    top = torch.tensor([[[-0.5, -2.0], [-0.5, -2.0]]], dtype=torch.float64, requires_grad=True)
    now = Distribution(torch.tensor([[entropy, 1.0]]), top, torch.tensor([[is_top, False]]))
    mask, advantages = torch.ones(1, 2, dtype=torch.bool), torch.full((1, 2), a, dtype=torch.float64)
    values = {**VALUES, "likeliest": 2, "alpha": 0.1}
    simko(logp, logp.detach(), advantages, mask, now, **values)[0, 0].backward()
    assert logp.grad is not None
    return float(logp.grad[0, 0]), [0.0, 0.0] if top.grad is None else top.grad[0, 0].tolist()


def test_by_hand() -> None:
    # a correct fork: 0.9 of A = 2 for the sampled token, 0.1 / 2 of it for each of the two likeliest
    sampled, top = gradients(2.0, entropy=3.0, is_top=True)
    assert sampled == pytest.approx(1.8) and top == pytest.approx([0.1, 0.1])
    # an incorrect fork whose token is the likeliest: 1.4 A. Another token, and one that is no fork: A
    assert gradients(-2.0, entropy=3.0, is_top=True) == (pytest.approx(-2.8), [0.0, 0.0])
    assert gradients(-2.0, entropy=3.0, is_top=False) == (pytest.approx(-2.0), [0.0, 0.0])
    assert gradients(2.0, entropy=0.5, is_top=True) == (pytest.approx(2.0), [0.0, 0.0])


def test_the_quantile_is_of_each_response_alone() -> None:
    values = torch.tensor([[1.0, 2.0, 3.0, 99.0], [5.0, 7.0, 99.0, 99.0], [9.0, 9.0, 9.0, 9.0]])
    mask = torch.tensor([[True, True, True, False], [True, True, False, False], [False] * 4])
    # 0.8 x 2 = 1.6 places behind 1. 0.8 of a place behind 5. None
    got = row_quantile(values, mask, 0.8)[:, 0].tolist()
    assert got[:2] == pytest.approx([2.6, 6.6]) and math.isnan(got[2])


def test_the_likeliest_tokens_come_in_order_with_the_gradient_of_the_softmax() -> None:
    logits = torch.tensor([1.0, 3.0, 2.0], dtype=torch.float64, requires_grad=True)
    top, first = likeliest_tokens(logits, 2)
    torch.testing.assert_close(top, logits.log_softmax(-1)[[1, 2]].float(), rtol=1e-6, atol=1e-6)
    assert int(first) == 1
    top[0].backward()
    assert logits.grad is not None  # 1 - p of the token itself, -p of the others
    expected = torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64) - logits.detach().softmax(-1)
    torch.testing.assert_close(logits.grad, expected, rtol=1e-6, atol=1e-6)
