"""The error rate of a test that stops when it is decided, in simulations and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.stats.sequential import MOST, as_difference, decide, difference_as_share

ALPHA = 0.05
SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=60)


def slow(values: list[float], threshold: float, alpha: float) -> tuple[str | None, int]:
    """The two players in plain loops: each bet from the values before it."""
    up = down = 1.0
    total, squares = 0.5, 0.25
    spread = 0.25
    for i, value in enumerate(values, 1):
        bet = math.sqrt(2 * math.log(2 / alpha) / (spread * i * math.log(1 + i)))
        up *= 1 + min(bet, MOST / threshold) * (value - threshold)
        down *= 1 + min(bet, MOST / (1 - threshold)) * (threshold - value)
        if max(up, down) >= 2 / alpha:
            return ("above" if up >= 2 / alpha else "below"), i
        total += value
        squares += (value - total / (i + 1)) ** 2
        spread = squares / (i + 1)
    return None, len(values)


@given(SHARES, st.floats(0.05, 0.95))
def test_equals_the_loops(values: list[float], threshold: float) -> None:
    made = decide(values, threshold, alpha=0.3)
    assert (made.verdict, made.used) == slow(values, threshold, 0.3)


@given(SHARES, st.floats(0.05, 0.95))
def test_it_is_symmetric_and_its_interval_agrees(values: list[float], threshold: float) -> None:
    made = decide(values, threshold, alpha=0.3)
    other = decide([1 - v for v in values], 1 - threshold, alpha=0.3)
    assert other.used == made.used
    assert other.verdict == {"above": "below", "below": "above", None: None}[made.verdict]
    assert other.low == pytest.approx(1 - made.high, abs=1e-6)
    if made.verdict == "above":
        assert made.low >= threshold - 1e-6
    elif made.verdict == "below":
        assert made.high <= threshold + 1e-6
    else:
        assert made.low <= threshold + 1e-6 and made.high >= threshold - 1e-6


@given(SHARES, st.data())
def test_values_after_a_decision_change_nothing(values: list[float], data: st.DataObject) -> None:
    made = decide(values, 0.5, alpha=0.3)
    if made.verdict is not None:
        assert decide(values[: made.used] + data.draw(SHARES), 0.5, alpha=0.3) == made


@pytest.mark.parametrize("threshold", [0.05, 0.5, 0.8])
@pytest.mark.parametrize("kind", ["one sample a problem", "easy and hard problems", "shares of eight samples"])
def test_at_the_threshold_it_decides_in_at_most_alpha_of_all_runs(threshold: float, kind: str) -> None:
    """Where the mean is the threshold every decision is an error. 400 runs of 500 problems; at a true rate of alpha the
    count is at most 400 * 0.05 + 4 * sqrt(400 * 0.05 * 0.95) = 37.4 but for one in 30,000."""
    rng = np.random.default_rng(20261122)
    errors = 0
    for _ in range(400):
        if kind == "one sample a problem":
            values = (rng.random(500) < threshold).astype(float)
        else:
            chance = rng.beta(0.5 * threshold, 0.5 * (1 - threshold), 500)  # mean: the threshold
            values = chance.round() if kind.startswith("easy") and threshold == 0.5 else rng.binomial(8, chance) / 8
        errors += decide(list(values), threshold, alpha=ALPHA).verdict is not None
    assert errors <= 37


def test_a_large_difference_is_seen_early() -> None:
    rng = np.random.default_rng(1)
    used = [decide(list((rng.random(500) < 0.75).astype(float)), 0.5).used for _ in range(50)]
    assert np.mean(used) < 150  # a fixed test would look at all 500


def test_a_difference_in_minus_1_to_1_is_a_share_and_back() -> None:
    # +1, 0, -1 -> 1, 0.5, 0
    assert difference_as_share([1, 0, -1]) == [1.0, 0.5, 0.0]
    assert as_difference(0.75) == 0.5
    rng = np.random.default_rng(2)
    better = difference_as_share(rng.choice([-1, 0, 1], p=[0.05, 0.7, 0.25], size=400))
    assert decide(better, 0.5).verdict == "above"


@pytest.mark.parametrize(
    ("values", "threshold", "alpha", "said"),
    [
        ([0.5], 0, 0.05, "threshold"),
        ([0.5], 1.0, 0.05, "threshold"),
        ([0.5], 0.5, 1, "alpha"),
        ([1.5], 0.5, 0.05, "values"),
    ],
)
def test_numbers_out_of_range_are_named(values: list[float], threshold: float, alpha: float, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        decide(values, threshold, alpha=alpha)
    assert math.isnan(decide([], 0.5).mean)
