"""How a step is spread over its tokens: by hand, against pairs and sorted lists, for every method."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from harness.spec.method import MethodOutput
from harness.step.batch import TokenBatch
from harness.step.spread import SPREAD_METRICS, effective_share, gini, spread_metrics, top_share
from harness.step.step_metrics import with_rewards
from tests.batches import padded, permuted, token_batches
from tests.harness.cases import CASES

SIZES = st.lists(st.floats(0, 1e3, allow_subnormal=False), min_size=1, max_size=250).filter(lambda x: sum(x) > 1e-3)


def slow_gini(sizes: list[float]) -> float:
    """Half the mean difference of two numbers (drawn with replacement) over their mean."""
    n = len(sizes)
    differences = sum(abs(a - b) for a in sizes for b in sizes) / n**2
    return differences / 2 / (sum(sizes) / n)


def slow_effective_share(sizes: list[float]) -> float:
    """1 / (1 + the squared coefficient of variation)."""
    n = len(sizes)
    mean = sum(sizes) / n
    return 1 / (1 + sum((x - mean) ** 2 for x in sizes) / n / mean**2)


def slow_top_share(sizes: list[float]) -> float:
    """One number in each hundred that has begun."""
    return sum(sorted(sizes, reverse=True)[: (len(sizes) + 99) // 100]) / sum(sizes)


def test_by_hand() -> None:
    # ascending 0, 1, 3: ranks 2i - n - 1 = -2, 0, 2, so 6 / (3 * 4). 16 / (3 * 10). The largest one of three has 3 of 4
    sizes = torch.tensor([3.0, 0.0, 1.0])
    assert gini(sizes) == pytest.approx(0.5)
    assert effective_share(sizes) == pytest.approx(16 / 30)
    assert top_share(sizes) == 0.75
    # all alike, and all on one of four
    equal = torch.ones(200).double()
    assert (gini(equal), effective_share(equal), top_share(equal)) == (0.0, 1.0, 0.01)
    single = torch.tensor([0.0, 5.0, 0.0, 0.0])
    assert (gini(single), effective_share(single), top_share(single)) == (0.75, 0.25, 1.0)
    assert top_share(torch.ones(201)) == pytest.approx(3 / 201)  # 1 % of 201 tokens is 2.01


@given(SIZES, st.floats(1e-3, 1e3))
def test_equals_the_slow_versions_whatever_the_unit(numbers: list[float], unit: float) -> None:
    for fast, slow in ((gini, slow_gini), (effective_share, slow_effective_share), (top_share, slow_top_share)):
        want = slow(numbers)
        assert fast(torch.tensor(numbers, dtype=torch.float64)) == pytest.approx(want, rel=1e-9, abs=1e-9)
        assert fast(unit * torch.tensor(numbers, dtype=torch.float64)) == pytest.approx(want, rel=1e-6, abs=1e-9)


def slow_spread(shaped: MethodOutput, unshaped: torch.Tensor, mask: torch.Tensor) -> dict[str, float]:
    """Token by token."""
    sizes, advantages = [], []
    for i, row in enumerate(mask.tolist()):
        for t, counts in enumerate(row):
            if counts and float(unshaped[i, t]) != 0:
                gate = 1.0 if shaped.gates is None else float(shaped.gates[i, t])
                advantages.append(abs(float(shaped.advantages[i, t])))
                sizes.append(advantages[-1] * abs(float(shaped.weights[i, t]) * gate))
    values = {}
    if sum(sizes) > 0:
        values = {"train/token_gini": slow_gini(sizes), "train/token_effective_share": slow_effective_share(sizes)}
    if sum(advantages) > 0:
        values["train/token_top_share"] = slow_top_share(advantages)
    return values


NAMES = ("grpo", "egsw-step", "entropy_advantage", "forking_tokens", "ppl_advantage", "position_advantage", "dapo")


@pytest.mark.parametrize("name", NAMES)
@given(token_batches())
def test_of_a_method_equals_loops_for_every_order_and_padding(name: str, batch: TokenBatch) -> None:
    method = CASES[name].method

    def measure(batch_of_case: TokenBatch) -> tuple[MethodOutput, torch.Tensor, torch.Tensor]:
        return method.apply(batch_of_case), method.advantage(with_rewards(method, batch_of_case)), batch_of_case.mask

    want = pytest.approx(slow_spread(*measure(batch)), rel=1e-6, abs=1e-9)
    got = spread_metrics(*measure(batch))
    assert got == want and set(got) <= set(SPREAD_METRICS)
    moved = padded(permuted(batch, torch.arange(len(batch.rewards)).flip(0)), 2)
    assert spread_metrics(*measure(moved)) == want


def test_a_gate_and_a_group_without_signal() -> None:
    """A gate that keeps one of four tokens leaves a quarter effective. Responses of equal rewards do not count."""
    mask = torch.ones(3, 2, dtype=torch.bool)
    advantages = torch.tensor([[1.0, 1.0], [-1.0, -1.0], [0.0, 0.0]])
    gates = torch.tensor([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    plain = spread_metrics(MethodOutput(advantages, mask / 8, None, None), advantages, mask)
    assert plain == {"train/token_gini": 0.0, "train/token_effective_share": 1.0, "train/token_top_share": 0.25}
    gated = spread_metrics(MethodOutput(advantages, mask / 8, gates, None), advantages, mask)
    assert gated == {"train/token_gini": 0.75, "train/token_effective_share": 0.25, "train/token_top_share": 0.25}
    closed = spread_metrics(MethodOutput(advantages, mask / 8, 0 * gates, None), advantages, mask)
    assert closed == {"train/token_top_share": 0.25}
    assert spread_metrics(MethodOutput(0 * advantages, mask / 8, None, None), 0 * advantages, mask) == {}
