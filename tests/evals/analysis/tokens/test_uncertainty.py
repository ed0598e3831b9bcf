"""Entropy and branching factor: derived values, properties, and every way through the search for the set."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from evals.analysis.tokens.quantities import branching_factor, entropy


def test_by_hand() -> None:
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
def test_the_set_is_the_smallest(values: list[float], mass: float) -> None:
    log_p = torch.tensor(values, dtype=torch.float64).log_softmax(-1)
    size = int(branching_factor(log_p, mass=mass))
    p = sorted(log_p.exp().tolist(), reverse=True)
    assert sum(p[:size]) >= mass - 1e-12 and sum(p[: size - 1]) < mass + 1e-12
    assert 0 <= float(entropy(log_p)) <= math.log(len(values)) + 1e-12
    assert int(branching_factor(log_p.flip(0), mass=mass)) == size


def test_narrow_and_wide_distributions_together() -> None:
    # each row from sure to nearly uniform over 10,000: sets of 1, of some hundred, of some thousand and nearly all are
    # found by different steps of the search; the loop sorts everything
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


def test_bad_mass_is_named() -> None:
    with pytest.raises(ValueError, match="mass: expected a number in"):
        branching_factor(torch.zeros(3), mass=0.0)
