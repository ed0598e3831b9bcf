"""Uncertainty by hand. The update-size proxy against what autograd says of a small model's output layer."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from evals.analysis.quantities import branching_factor, entropy, output_error, update_size
from tests.experiments import save_random_model


def test_update_size_by_hand() -> None:
    # pi = (1/2, 1/4, 1/4), o = 0: e - pi = (1/2, -1/4, -1/4), length sqrt(1/4 + 1/16 + 1/16) = sqrt(6)/4. ||h|| = 5
    log_p = torch.tensor([[0.5, 0.25, 0.25]], dtype=torch.float64).log()
    assert float(output_error(log_p, torch.tensor([0]))) == pytest.approx(math.sqrt(6) / 4)
    h = torch.tensor([[3.0, 4.0]], dtype=torch.float64)
    assert float(update_size(log_p, torch.tensor([0]), h)) == pytest.approx(5 * math.sqrt(6) / 4)
    # nearly sure of the token: 1 - pi(o) = 1e-9 would be lost in 1 - 2 pi(o) + sum pi^2. The rest is one other token
    sure = torch.tensor([[math.log1p(-1e-9), math.log(1e-9)]], dtype=torch.float64)
    assert float(output_error(sure, torch.tensor([0]))) == pytest.approx(math.sqrt(2) * 1e-9, rel=1e-6)


def test_update_size_is_the_gradient_norm_of_a_model(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    # untied, so that the output layer's weight has no second use
    folder = save_random_model(tmp_path / "model")
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64, tie_word_embeddings=False)
    weight = model.get_output_embeddings().weight
    assert weight is not model.get_input_embeddings().weight
    ids = torch.tensor([[5, 9, 3, 11, 7]])
    hidden = model.base_model(ids).last_hidden_state[0, :-1].detach()
    tokens = ids[0, 1:]
    log_p = (hidden @ weight.T).log_softmax(-1)
    sizes = update_size(log_p.detach(), tokens, hidden)
    objective = log_p.gather(1, tokens.unsqueeze(1)).squeeze(1)
    for t in range(4):
        (gradient,) = torch.autograd.grad(objective[t], weight, retain_graph=True)
        assert float(sizes[t]) == pytest.approx(float(gradient.norm()), rel=1e-9, abs=1e-15)


def test_uncertainty_by_hand() -> None:
    # 1/2, 1/4, 1/8, 1/8: H = (1/2) ln 2 + (1/4) ln 4 + 2 (1/8) ln 8 = (1/2 + 1/2 + 3/4) ln 2
    log_p = torch.tensor([0.5, 0.25, 0.125, 0.125], dtype=torch.float64).log()
    assert float(entropy(log_p)) == pytest.approx(1.75 * math.log(2))
    # a mass that the first k reach exactly needs no more than k
    for mass, size in ((0.1, 1), (0.5, 1), (0.51, 2), (0.75, 2), (0.875, 3), (0.9, 4), (1.0, 4)):
        assert int(branching_factor(log_p, mass=mass)) == size
    # one token has it all
    certain = torch.tensor([0.0, -math.inf, -math.inf])
    assert float(entropy(certain)) == 0 and int(branching_factor(certain, mass=1.0)) == 1
    # uniform over 100: 95 of them
    assert int(branching_factor(torch.full((100,), 0.01, dtype=torch.float64).log(), mass=0.949)) == 95


@given(st.lists(st.floats(-8, 8), min_size=1, max_size=12), st.floats(0.01, 1))
def test_the_nucleus_is_the_smallest_set(values: list[float], mass: float) -> None:
    log_p = torch.tensor(values, dtype=torch.float64).log_softmax(-1)
    size = int(branching_factor(log_p, mass=mass))
    p = sorted(log_p.exp().tolist(), reverse=True)
    assert sum(p[:size]) >= mass - 1e-12 and sum(p[: size - 1]) < mass + 1e-12
    assert 0 <= float(entropy(log_p)) <= math.log(len(values)) + 1e-12
    assert int(branching_factor(log_p.flip(0), mass=mass)) == size


def test_narrow_and_wide_distributions_together() -> None:
    # each row from sure to nearly uniform over 10,000: sets of 1, of some hundred, of some thousand and nearly all are
    # different steps of the search return these. The loop sorts everything
    generator = torch.Generator().manual_seed(0)
    scale = torch.tensor([30.0, 6.0, 3.0, 2.0, 0.1, 1.0], dtype=torch.float64).unsqueeze(1)
    log_p = (scale * torch.randn(6, 10_000, generator=generator, dtype=torch.float64)).log_softmax(-1).view(2, 3, -1)
    sizes = branching_factor(log_p, mass=0.95)
    for got, row in zip(sizes.flatten().tolist(), log_p.view(6, -1), strict=True):
        p, total, size = row.exp().sort(descending=True).values.tolist(), 0.0, 0
        while total < 0.95:
            total, size = total + p[size], size + 1
        assert got == size
    assert int(sizes.min()) <= 32 and 512 < int(sizes.flatten().sort().values[3]) < 8192 < int(sizes.max())
