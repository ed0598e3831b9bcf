"""Clip-Cov and KL-Cov: derived values, properties, and slow versions in loops."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from baselines.clip_cov import clip_cov, clip_cov_as_released
from baselines.kl_cov import kl_cov
from evals.provenance import assumed
from harness.spec import use
from harness.step.batch import TokenBatch
from tests.batches import one_group, token_batches
from tests.experiments import GRPO, WHY, experiment


def slow_covariances(batch: TokenBatch) -> dict[tuple[int, int], float]:
    """Token -> (log pi - mean)(A - mean), in Python floats."""
    assert batch.logp is not None and batch.advantages is not None
    cells = [(i, t) for i, row in enumerate(batch.mask.tolist()) for t, counts in enumerate(row) if counts]
    logp = {cell: float(batch.logp[cell]) for cell in cells}
    a = {cell: float(batch.advantages[cell]) for cell in cells}
    mean_logp = sum(logp.values()) / max(len(cells), 1)
    mean_a = sum(a.values()) / max(len(cells), 1)
    return {cell: (logp[cell] - mean_logp) * (a[cell] - mean_a) for cell in cells}


def slow_kl_cov(batch: TokenBatch, share: float, coefficient: float) -> torch.Tensor:
    covariances = slow_covariances(batch)
    penalties = torch.zeros(batch.mask.shape, dtype=torch.float64)
    ranked = sorted(covariances, key=lambda cell: -covariances[cell])
    for cell in ranked[: max(1, int(share * len(ranked) + 1e-9))]:
        penalties[cell] = coefficient
    return penalties


def slow_clip_cov(
    batch: TokenBatch, share: float, low: float, high: float, clip_high: float | None = None
) -> torch.Tensor:
    """Shuffle the candidates with the step's generator, drop the first of them, in Python lists."""
    covariances = slow_covariances(batch)
    candidates = [cell for cell, value in covariances.items() if low < value < high]
    if clip_high is not None:
        assert batch.logp is not None and batch.old_logp is not None and batch.advantages is not None
        ratios = {cell: math.exp(float(batch.logp[cell] - batch.old_logp[cell])) for cell in candidates}
        candidates = [c for c in candidates if not (float(batch.advantages[c]) > 0 and ratios[c] > 1 + clip_high)]
    order = torch.randperm(len(candidates), generator=torch.Generator().manual_seed(batch.step)).tolist()
    gates = batch.mask.double()
    for j in order[: max(1, int(share * len(covariances) + 1e-9))]:
        gates[candidates[j]] = 0.0
    return gates


def four() -> TokenBatch:
    return one_group(
        advantages=torch.tensor([[1.0, 1.0], [-1.0, -1.0]], dtype=torch.float64),
        logp=torch.tensor([[-1.0, -3.0], [-1.5, -2.5]], dtype=torch.float64),
    )


def test_by_hand() -> None:
    # centred log pi: 1, -1, 0.5, -0.5. Centred A: 1, 1, -1, -1 -> covariances 1, -1, -0.5, 0.5
    assert kl_cov(four(), share=0.25, coefficient=2.0).tolist() == [[2, 0], [0, 0]]
    assert kl_cov(four(), share=0.5, coefficient=2.0).tolist() == [[2, 0], [0, 2]]
    # between 0.75 and 5 there is one candidate. Between 5 and 9 none. With all of both signs every token goes
    assert clip_cov(four(), share=0.0002, low=0.75, high=5.0).tolist() == [[0, 1], [1, 1]]
    assert clip_cov(four(), share=1.0, low=5.0, high=9.0).tolist() == [[1, 1], [1, 1]]
    assert clip_cov(four(), share=1.0, low=-9.0, high=9.0).tolist() == [[0, 0], [0, 0]]


def test_the_random_choice_depends_on_the_step_and_on_nothing_else() -> None:
    both = [clip_cov(replace(four(), step=step), share=0.25, low=0.25, high=5.0) for step in range(40)]
    again = [clip_cov(replace(four(), step=step), share=0.25, low=0.25, high=5.0) for step in range(40)]
    assert all(torch.equal(a, b) for a, b in zip(both, again, strict=True))
    first = sum(int(gates[0, 0] == 0) for gates in both)
    assert 8 <= first <= 32  # a fair coin thrown 40 times leaves this range with probability below 1e-4
    torch.manual_seed(1)
    random.seed(1)
    assert torch.equal(clip_cov(four(), share=0.25, low=0.25, high=5.0), both[0])  # no global generator is read


@given(token_batches(), st.floats(0.001, 1.0), st.floats(0.0, 3.0))
def test_kl_cov_equals_the_loops(batch: TokenBatch, share: float, coefficient: float) -> None:
    got = kl_cov(batch, share=share, coefficient=coefficient)
    values = sorted(slow_covariances(batch).values())
    assume(all(b - a > 1e-9 for a, b in itertools.pairwise(values)))  # two tokens always have the same
    assert torch.equal(got, slow_kl_cov(batch, share, coefficient))


@given(token_batches(), st.floats(0.001, 1.0), st.floats(-1.0, 0.5))
def test_clip_cov_equals_the_loops(batch: TokenBatch, share: float, low: float) -> None:
    gates = clip_cov(batch, share=share, low=low, high=low + 1.0)
    assert torch.equal(gates, slow_clip_cov(batch, share, low, low + 1.0))


@given(token_batches(), st.floats(0.001, 1.0), st.floats(-1.0, 0.5), st.floats(0.0, 2.0))
def test_clip_cov_as_released_equals_the_loops(batch: TokenBatch, share: float, low: float, clip_high: float) -> None:
    gates = clip_cov_as_released(batch, share=share, low=low, high=low + 1.0, clip_high=clip_high)
    assert torch.equal(gates, slow_clip_cov(batch, share, low, low + 1.0, clip_high))


def test_a_token_that_the_ratio_clip_stops_is_no_candidate_as_released() -> None:
    # covariances 1, -1, -0.5, 0.5 (above). The first token has A > 0 and ratio e^2 = 7.4, the last A < 0 and e^2 too.
    old = torch.tensor([[-3.0, -3.0], [-1.5, -4.5]], dtype=torch.float64)
    batch = replace(four(), old_logp=old)
    assert clip_cov(batch, share=1.0, low=0.25, high=5.0).tolist() == [[0, 1], [1, 0]]
    values: dict[str, Any] = {"share": 1.0, "low": 0.25, "high": 5.0}
    assert clip_cov_as_released(batch, **values, clip_high=1.0).tolist() == [[1, 1], [1, 0]]
    assert clip_cov_as_released(batch, **values, clip_high=7.0).tolist() == [[0, 1], [1, 0]]  # 7.4 is below 8


def test_a_token_of_probability_zero_takes_no_part() -> None:
    logp = torch.tensor([[-1.0, float("-inf")], [-1.5, -2.5]], dtype=torch.float64)
    batch = replace(four(), logp=logp)
    # the other three: mean log pi -5/3, mean A -1/3. Covariances (2/3)(4/3) = 8/9, (1/6)(-2/3) < 0, (-5/6)(-2/3) = 5/9
    assert kl_cov(batch, share=0.5, coefficient=1.0).tolist() == [[1, 0], [0, 0]]
    assert clip_cov(batch, share=1.0, low=0.5, high=5.0).tolist() == [[0, 1], [1, 0]]
    nothing = replace(batch, mask=torch.zeros(2, 2, dtype=torch.bool))
    assert not kl_cov(nothing, share=0.5, coefficient=1.0).any()
    assert not clip_cov(nothing, share=0.5, low=0.0, high=1.0).any()
    # no advantage differs from another: every covariance is 0
    flat = replace(four(), advantages=torch.zeros(2, 2, dtype=torch.float64))
    assert clip_cov(flat, share=1.0, low=0.0, high=9.0).all()


def test_kl_cov_and_ratio_clipping_exclude_each_other() -> None:
    penalty = use(kl_cov, share=assumed(0.002, WHY), coefficient=assumed(1.0, WHY))
    stack = replace(GRPO, penalties=(penalty,))
    with pytest.raises(ValueError, match="kl_cov cannot be used here: clip_low: expected null"):
        experiment(stack)
    none = assumed(None, WHY)
    free: Any = replace(experiment(), clip_low=none, clip_high=none)
    assert replace(free, method=stack).method.penalties == (penalty,)
