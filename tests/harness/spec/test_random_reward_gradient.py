"""Why a random reward teaches nothing: the mean of its gradient over all outcomes of the coins, enumerated."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from torch import Tensor

from baselines.grpo import grpo
from harness.step.batch import TokenBatch
from harness.step.loss import aggregation_coefficients, policy_loss

LENGTHS = (1, 4, 2, 3)  # one group of four responses, of different lengths, to one prompt


def loss_of(coins: tuple[int, ...], logp: Tensor, old_logp: Tensor, aggregation: str, std: str) -> Tensor:
    """The loss of these responses, rewarded +1 or -1 by the coins."""
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS).unsqueeze(1)
    batch = TokenBatch(
        rewards=torch.tensor([2.0 * coin - 1 for coin in coins], dtype=torch.float64),
        groups=torch.zeros(len(LENGTHS), dtype=torch.int64),
        mask=mask,
        vocab_size=3,
        max_tokens=4,
        step=0,
        seed=0,
    )
    advantages = grpo(batch, std=std, epsilon=1e-6)  # type: ignore[arg-type]
    weights = aggregation_coefficients(mask, aggregation, max_tokens=4)  # type: ignore[arg-type]
    return policy_loss(logp, old_logp, advantages, weights.double(), clip_low=0.2, clip_high=0.2)


def gradients(logits: Tensor, tokens: Tensor, old_logp: Tensor | None, aggregation: str, std: str) -> Tensor:
    """[2 ** 4, ...]: the gradient with respect to the logits, for each outcome of the four coins."""
    gradients = []
    for coins in product((0, 1), repeat=len(LENGTHS)):
        leaf = logits.clone().requires_grad_()
        logp = leaf.log_softmax(-1).gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
        loss = loss_of(coins, logp, logp.detach() if old_logp is None else old_logp, aggregation, std)
        (gradient,) = torch.autograd.grad(loss, leaf)
        gradients.append(gradient)
    return torch.stack(gradients)


@pytest.mark.parametrize("aggregation", ["token_mean", "sequence_mean", "fixed_length", "sequence_sum"])
@pytest.mark.parametrize("std", ["sample", "population", "none"])
def test_the_mean_gradient_over_all_coins_is_zero_whatever_the_lengths(aggregation: str, std: str) -> None:
    """On the responses of the policy itself. Turning all coins turns the sign of every advantage, so that the 16
    outcomes cancel in pairs. The gradient of one outcome does not vanish unless all four coins are equal."""
    random = torch.Generator().manual_seed(0)
    logits = torch.randn(len(LENGTHS), max(LENGTHS), 3, generator=random, dtype=torch.float64)
    tokens = torch.randint(3, (len(LENGTHS), max(LENGTHS)), generator=random)
    of_coins = gradients(logits, tokens, None, aggregation, std)
    assert of_coins.mean(0).abs().max() < 1e-15
    sizes = of_coins.flatten(1).norm(dim=1)
    assert (sizes > 1e-2).sum() == 14  # two of 16 are missing: all heads and all tails have no advantage
    assert sizes[0] == sizes[-1] == 0


def test_clipping_pulls_a_later_update_back_to_the_policy_that_sampled() -> None:
    """With a ratio r outside the bounds the two signs no longer cancel. For r > 1.2 only A < 0 has a gradient:
    d term / d log pi = r A, whose mean over the coins is -r E|A| / 2, down, to where the ratio is 1. For r < 0.8 only
    A > 0 has one, + r E|A| / 2, up. Inside the bounds the mean is 0.

    E|A|, of any response, by hand: 6 of 16 outcomes have two heads, where |A| = 1 / s with s² = 4/3 (rewards ±1, mean
    0, divided by n - 1). 8 have one odd coin, s² = 1: the odd one's |A| is 3/2, that of the three others 1/2, on
    average (3/2 + 3/2) / 4 = 3/4.
    """
    ratios = torch.ones(len(LENGTHS), max(LENGTHS), dtype=torch.float64)
    ratios[1] = torch.tensor([1.5, 1.1, 0.9, 0.5])
    gradients = []
    for coins in product((0, 1), repeat=len(LENGTHS)):
        logp = torch.full_like(ratios, -1.0).requires_grad_()
        loss = loss_of(coins, logp, logp.detach() - ratios.log(), "sequence_sum", "sample")
        gradients.append(torch.autograd.grad(loss, logp)[0])
    down_the_loss = -torch.stack(gradients).mean(0) * len(LENGTHS)  # sequence_sum weighs each token by 1 / B
    mean_size = (6 * (3 / 4) ** 0.5 + 8 * (3 / 4)) / 16
    expected = torch.zeros_like(ratios)
    expected[1] = torch.tensor([-1.5, 0.0, 0.0, 0.5]) * mean_size / 2
    assert torch.allclose(down_the_loss, expected, atol=2e-6)  # epsilon 1e-6 in the advantage
