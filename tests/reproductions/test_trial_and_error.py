"""PPL and position advantage: derived values, properties, and slow versions in loops over the equations."""

from __future__ import annotations

import math
import statistics as st_lib
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from harness.step.batch import TokenBatch
from reproductions.trial_and_error.method import position_advantage, ppl_advantage, standardised
from tests.batches import VOCAB, token_batches

PPL: dict[str, Any] = {"alpha": 0.01, "sign": -1, "statistics": "as_printed"}
RELEASED_PPL = {**PPL, "statistics": "as_released"}
POSITION: dict[str, Any] = {"gamma": 0.1, "d": 1.0, "m": 15.0, "n": 0.5, "bound": 0.5, "first_step": 0, "steps": None}
PRINTED_POSITION = {**POSITION, "n": -0.5, "bound": None}


def slow_ppl_advantage(batch: TokenBatch, *, alpha: float, sign: int, statistics: str) -> torch.Tensor:
    """Eq. 7 and 11 with sums written out, in Python floats."""
    assert batch.advantages is not None and batch.old_logp is not None
    rows, tokens = batch.mask.shape
    groups = batch.groups.tolist()
    log_ppl: dict[int, float] = {}
    for i in range(rows):
        steps = [t for t in range(tokens) if batch.mask[i, t]]
        if steps:
            value = -sum(float(batch.old_logp[i, t]) for t in steps) / len(steps)
            if math.isfinite(value):
                log_ppl[i] = value
    shaped = torch.zeros(rows, tokens, dtype=torch.float64)
    for i in range(rows):
        weight = 0.0
        peers = [log_ppl[j] for j in range(rows) if j in log_ppl and groups[j] == groups[i]]
        if i in log_ppl and len(set(peers)) > 1:
            kept = peers if statistics == "as_printed" else inside_fences(peers)
            mean = sum(kept) / len(kept)
            squares = sum((v - mean) ** 2 for v in kept)
            if statistics == "as_printed":
                weight = (log_ppl[i] - mean) / math.sqrt(squares / (len(kept) - 1))
            else:
                std = math.sqrt(squares / len(kept))
                weight = (log_ppl[i] - mean) / (std if std > 1e-6 else 1.0)
        factor = 1 + sign * alpha * weight
        if statistics == "as_released":
            factor = min(max(factor, 0.8), 1.2)
        for t in range(tokens):
            if batch.mask[i, t]:
                shaped[i, t] = float(batch.advantages[i, t]) * factor
    return shaped


def inside_fences(values: list[float]) -> list[float]:
    """Those at most 1.5 interquartile ranges outside the quartiles (linear interpolation between order statistics)."""
    low, _, high = st_lib.quantiles(values, n=4, method="inclusive") if len(values) > 1 else (values[0],) * 3
    reach = 1.5 * (high - low)
    return [v for v in values if low - reach <= v <= high + reach]


def slow_position_advantage(
    batch: TokenBatch,
    *,
    gamma: float,
    d: float,
    m: float,
    n: float,
    bound: float | None,
    first_step: int,
    steps: int | None,
) -> torch.Tensor:
    """Eq. 8 and 12 token by token, in Python floats."""
    assert batch.advantages is not None
    shaped = torch.zeros(batch.mask.shape, dtype=torch.float64)
    active = first_step <= batch.step < (math.inf if steps is None else first_step + steps)
    for i, row in enumerate(batch.mask.tolist()):
        for t in range(sum(row)):
            a = float(batch.advantages[i, t])
            x = d * m * (t / sum(row) - n)
            bonus = gamma / (1 + math.exp(-x)) if active else 0.0
            if bound is not None:
                bonus = min(bonus, bound * abs(a))
            shaped[i, t] = a + (bonus if a > 0 else -bonus if a < 0 else 0.0)
    return shaped


def batch_of(
    advantages: list[list[float]], old_logp: list[list[float]], groups: list[int], step: int = 0
) -> TokenBatch:
    """Rows of unequal length, padded here."""
    tokens = max(len(row) for row in advantages)

    def field(rows: list[list[float]]) -> torch.Tensor:
        return torch.tensor([row + [math.nan] * (tokens - len(row)) for row in rows], dtype=torch.float64)

    return TokenBatch(
        rewards=torch.zeros(len(groups), dtype=torch.float64),
        groups=torch.tensor(groups),
        mask=torch.tensor([[t < len(row) for t in range(tokens)] for row in advantages]),
        vocab_size=VOCAB,
        max_tokens=9,
        seed=0,
        step=step,
        advantages=field(advantages),
        old_logp=field(old_logp),
    )


def test_ppl_by_hand() -> None:
    # log PPL: (1 + 3) / 2 = 2, 4, 6. Mean 4, sample std 2 -> w = -1, 0, 1.
    # alpha = 0.1: factors 1.1, 1, 0.9 (fluent up), the opposite sign swaps them.
    batch = batch_of([[1.0, 1.0], [-2.0], [-2.0]], [[-1.0, -3.0], [-4.0], [-6.0]], [0, 0, 0])
    low = ppl_advantage(batch, alpha=0.1, sign=-1, statistics="as_printed")
    assert torch.allclose(low, torch.tensor([[1.1, 1.1], [-2.0, 0.0], [-1.8, 0.0]], dtype=torch.float64))
    high = ppl_advantage(batch, alpha=0.1, sign=1, statistics="as_printed")
    assert torch.allclose(high, torch.tensor([[0.9, 0.9], [-2.0, 0.0], [-2.2, 0.0]], dtype=torch.float64))
    # released: population std sqrt(8/3), w = -1.2247, 0, 1.2247. alpha = 0.3 gives 1.367 and 0.633: clamped
    released = ppl_advantage(batch, alpha=0.3, sign=-1, statistics="as_released")
    assert torch.allclose(released, torch.tensor([[1.2, 1.2], [-2.0, 0.0], [-1.6, 0.0]], dtype=torch.float64))


def test_released_statistics_exclude_outliers() -> None:
    # 1, 2, 3, 4, 100: quartiles 2 and 4, fences -1 and 7, so 100 is out. Mean 2.5, population std sqrt(5/4).
    values = torch.tensor([1.0, 2.0, 3.0, 4.0, 100.0], dtype=torch.float64)
    want = (values - 2.5) / math.sqrt(1.25)
    assert torch.allclose(standardised(values, "as_released"), want)
    # seven equal values and one far off: what is kept has no spread, so the deviation counts as 1
    values = torch.tensor([1.0] * 7 + [5.0], dtype=torch.float64)
    assert standardised(values, "as_released").tolist() == [0.0] * 7 + [4.0]
    # as printed: mean 1.5, squares 7/4 + 49/4 = 14, sample std sqrt(2)
    want = torch.tensor([-0.5] * 7 + [3.5], dtype=torch.float64) / math.sqrt(2)
    assert torch.allclose(standardised(values, "as_printed"), want)


@pytest.mark.parametrize("statistics", ["as_printed", "as_released"])
@pytest.mark.parametrize("sign", [-1, 1])
@given(batch=token_batches(max_group=7), alpha=st.floats(0, 2))
def test_ppl_equals_the_loops(statistics: Any, sign: Any, batch: TokenBatch, alpha: float) -> None:
    got = ppl_advantage(batch, alpha=alpha, sign=sign, statistics=statistics)
    want = slow_ppl_advantage(batch, alpha=alpha, sign=sign, statistics=statistics)
    assert torch.allclose(got, want, atol=1e-9)


@given(token_batches())
def test_ppl_with_alpha_zero_is_the_plain_advantage(batch: TokenBatch) -> None:
    for settings_ in (PPL, RELEASED_PPL):
        assert torch.equal(ppl_advantage(batch, **{**settings_, "alpha": 0.0}), batch.need("advantages"))


@given(token_batches(max_group=6), st.floats(0, 5))
def test_ppl_keeps_the_sign_in_the_documented_range(batch: TokenBatch, alpha: float) -> None:
    released = ppl_advantage(batch, **{**RELEASED_PPL, "alpha": alpha})
    assert torch.equal(released.sign(), batch.need("advantages").sign())
    # |w| <= (n - 1) / sqrt(n) for any n values (one at the far end, the others together), n = 6 at most here
    small = ppl_advantage(batch, **{**PPL, "alpha": min(alpha, 0.99 * math.sqrt(6) / 5)})
    assert torch.equal(small.sign(), batch.need("advantages").sign())


@given(token_batches())
def test_ppl_weights_average_to_nothing(batch: TokenBatch) -> None:
    # as printed, w has mean 0 over the responses of a group: with A = 1 everywhere the mean factor is 1
    ones = replace(batch, advantages=torch.ones_like(batch.need("advantages")))
    shaped = ppl_advantage(ones, **{**PPL, "alpha": 0.5})
    filled = batch.mask.any(1)
    for group in batch.groups.unique():
        rows = (batch.groups == group) & filled
        if rows.any():
            assert float(shaped[rows, 0].mean()) == pytest.approx(1.0)


@pytest.mark.parametrize("statistics", ["as_printed", "as_released"])
def test_ppl_edge_cases_leave_the_advantage_as_it_is(statistics: Any) -> None:
    settings_ = {**PPL, "alpha": 1.0, "statistics": statistics}
    # a group of one. Equal perplexities from tokens whose mean does not round (0.1 + 0.2 + 0.3 in different orders)
    batch = batch_of(
        [[2.0], [1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]], [[-5.0], [-0.1, -0.2, -0.3], [-0.1, -0.2, -0.3]], [0, 1, 1]
    )
    assert torch.equal(ppl_advantage(batch, **settings_), batch.need("advantages"))
    # an empty response, and one with a token of probability 0, take no part: the others are as if alone
    inf = math.inf
    batch = batch_of([[], [1.0, 1.0], [1.0], [-1.0]], [[], [-1.0, -inf], [-1.0], [-3.0]], [0, 0, 0, 0])
    alone = batch_of([[1.0], [-1.0]], [[-1.0], [-3.0]], [0, 0])
    got = ppl_advantage(batch, **settings_)
    assert got.isfinite().all()
    assert torch.equal(got[0], torch.zeros(2, dtype=torch.float64)) and torch.equal(got[1], torch.ones(2).double())
    assert torch.equal(got[2:, :1], ppl_advantage(alone, **settings_))
    # no finite value
    batch = batch_of([[1.0], [1.0]], [[-inf], [math.nan]], [0, 0])
    assert torch.equal(ppl_advantage(batch, **settings_), torch.ones(2, 1).double())


def test_position_by_hand() -> None:
    # four tokens: l = 0, 1/4, 1/2, 3/4. m = 4 ln 3, n = 1/2: r = -2 ln 3, -ln 3, 0, ln 3
    # sigmoid: 1 / (1 + 9), 1 / (1 + 3), 1 / 2, 3 / 4. gamma = 1 -> b = 0.1, 0.25, 0.5, 0.75
    settings_ = {**POSITION, "gamma": 1.0, "m": 4 * math.log(3), "bound": None}
    batch = batch_of([[2.0] * 4, [-2.0] * 4, [0.0] * 4], [[-1.0] * 4] * 3, [0, 0, 0])
    want = torch.tensor([2.1, 2.25, 2.5, 2.75], dtype=torch.float64)
    got = position_advantage(batch, **settings_)
    assert torch.allclose(got, torch.stack([want, -want, want * 0]))
    # d = -1 turns the curve round: sigmoid(-r) = 1 - sigmoid(r)
    early = position_advantage(batch, **{**settings_, "d": -1.0})
    assert torch.allclose(early[0], torch.tensor([2.9, 2.75, 2.5, 2.25], dtype=torch.float64))
    # bound 0.2: b <= 0.4
    capped = position_advantage(batch, **{**settings_, "bound": 0.2})
    assert torch.allclose(capped[1], torch.tensor([-2.1, -2.25, -2.4, -2.4], dtype=torch.float64))


def test_position_as_printed_is_a_constant_bonus() -> None:
    # n = -0.5: r >= 15 * 0.5 = 7.5 and sigmoid(7.5) = 0.99945. With n = +0.5 the bonus spans nearly all of 0 to gamma
    batch = batch_of([[1.0] * 100], [[-1.0] * 100], [0])
    printed = position_advantage(batch, **PRINTED_POSITION) - 1
    assert printed.min() / printed.max() > 0.9994
    released = position_advantage(batch, **POSITION) - 1
    assert released.min() < 0.1 * 0.001 and released.max() > 0.1 * 0.999
    assert (released.diff() > 0).all()


OPTIONS = [POSITION, PRINTED_POSITION, {**POSITION, "gamma": 1.0, "d": -1.0}, {**POSITION, "gamma": 3.0, "bound": None}]


@pytest.mark.parametrize("settings_", OPTIONS, ids=["as_released", "as_printed", "early", "unbounded"])
@given(batch=token_batches(), step=st.integers(0, 6))
def test_position_equals_the_loops_and_keeps_the_sign(settings_: dict[str, Any], batch: TokenBatch, step: int) -> None:
    settings_ = {**settings_, "first_step": 2, "steps": 3}
    batch = replace(batch, step=step)
    got = position_advantage(batch, **settings_)
    assert torch.allclose(got, slow_position_advantage(batch, **settings_), atol=1e-12)
    advantages = batch.need("advantages")
    assert torch.equal(got.sign(), advantages.sign())
    if not 2 <= step < 5:
        assert torch.equal(got, advantages)
    if settings_["bound"] is not None:
        assert ((got - advantages).abs() <= 0.5 * advantages.abs() + 1e-12).all()


@given(token_batches())
def test_position_with_gamma_zero_is_the_plain_advantage(batch: TokenBatch) -> None:
    assert torch.equal(position_advantage(batch, **{**POSITION, "gamma": 0.0}), batch.need("advantages"))
