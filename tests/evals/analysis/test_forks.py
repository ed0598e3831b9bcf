"""Forking tokens: the method's own threshold, ties, and rounding."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from evals.analysis.forks import fork_threshold, top_share
from harness.step.batch import TokenBatch
from reproductions.forking_tokens.method import forking_tokens


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30), st.sampled_from([0.05, 0.2, 0.3, 0.5, 0.999, 1.0]))
def test_forks_equal_those_of_the_training_method(values: list[int], rho: float) -> None:
    n = len(values)
    entropies = torch.tensor([values], dtype=torch.float64)
    batch = TokenBatch(
        rewards=torch.zeros(1), groups=torch.zeros(1, dtype=torch.long), mask=torch.ones(1, n, dtype=torch.bool),
        vocab_size=10, max_tokens=n, step=0, seed=0, entropies=entropies,
    )  # fmt: skip
    kept = forking_tokens(batch, rho=rho, keep="top", scope="update")[0].bool().tolist()
    assert top_share(values, rho).tolist() == kept


def test_by_hand() -> None:
    # 11 values 0..10, rho = 0.2: the 0.8 quantile is 8, and 1 + floor(0.2 * 10) = 3 values are at or above it
    assert fork_threshold(range(11), 0.2) == 8 and top_share(range(11), 0.2).sum() == 3
    # five values: the quantile 3.2 is between two of them, and the smallest value at or above it is the threshold
    assert fork_threshold([4, 0, 2, 1, 3], 0.2) == 4
    # the quantile of 0, 0, 1, 1, 1 at 0.8 is 1: all three ones stay
    assert top_share([0, 1, 0, 1, 1], 0.2).tolist() == [False, True, False, True, True]


def test_the_threshold_keeps_the_tokens_of_the_interpolated_quantile_but_for_rounding() -> None:
    entropies = np.random.default_rng(0).gamma(0.4, 0.8, 40)
    assert ((entropies >= fork_threshold(entropies)) == (entropies >= np.quantile(entropies, 0.8))).all()
    # 1 - 0.3 is 0.7 rounded up, so the computed quantile of 0..10 is 7.000000000000001 on some machines: 7 must stay
    assert fork_threshold(range(11), 0.3) == 7


def test_bad_input_is_named() -> None:
    for values, rho, message in (
        ([1.0], 0.0, r"rho: expected in \(0, 1\], got 0.0"),
        ([], 0.2, "values: expected at least one"),
        ([1.0, np.nan], 0.2, "all finite"),
    ):
        with pytest.raises(ValueError, match=message):
            fork_threshold(values, rho)
