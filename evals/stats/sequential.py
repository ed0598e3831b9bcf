"""A sequential test that may stop at any time: is a mean of values in [0, 1] above or below a threshold?

Problems arrive one after another, in random order. Two players bet against "the mean is at most m" and "at least m".
Under its hypothesis a player's capital is a nonnegative martingale, for any distribution, so the probability that it
ever reaches 2 / alpha is at most alpha / 2 (Ville's inequality). Stopping when a player reaches it keeps the error rate
at alpha, however often one looks: "Estimating means of bounded random variables by betting" (arXiv 2010.09686).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

MOST = 0.75  # share of the largest bet that cannot lose everything


@dataclass(frozen=True)
class Decision:
    """The state of a sequential test.

    Args:
        verdict: "above" or "below" the threshold, or None: not decided.
        used: values read so far. low, high: the mean lies between them with confidence 1 - alpha, at all times
            together; mean: of the values.
    """

    verdict: Literal["above", "below"] | None
    used: int
    mean: float
    low: float
    high: float


def decide(values: Sequence[float], threshold: float, *, alpha: float = 0.05) -> Decision:
    """The test after these values, in their order; values after a decision are ignored.

    Args:
        values: in [0, 1]. threshold: in (0, 1). alpha: the chance of a wrong decision, at most.
    Raises:
        ValueError: a value or number out of range.
    """
    if not 0 < threshold < 1:
        raise ValueError(f"threshold: expected a number in (0, 1), got {threshold}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha: expected a number in (0, 1), got {alpha}")
    numbers = np.asarray(values, dtype=float)
    if numbers.size and not ((numbers >= 0) & (numbers <= 1)).all():
        raise ValueError(f"values: expected numbers in [0, 1], got {numbers.min()} to {numbers.max()}")
    bets, goal = plug_in_bets(numbers, alpha), math.log(2 / alpha)
    verdict, used = first_decision(numbers, bets, threshold, goal)
    low, high = _interval(numbers[:used], bets[:used], goal)
    mean = float(numbers[:used].mean()) if used else math.nan
    return Decision(verdict, used, mean, low, high)


def first_decision(
    values: np.ndarray, bets: np.ndarray, threshold: float, goal: float
) -> tuple[Literal["above", "below"] | None, int]:
    """(which player's log capital reaches `goal` first, after how many values); (None, all) if none does."""
    rising = _log_capital(values, bets, threshold)
    falling = _log_capital(1 - values, bets, 1 - threshold)
    reached = np.flatnonzero((rising >= goal) | (falling >= goal))
    if not reached.size:
        return None, len(values)
    return ("above" if rising[reached[0]] >= goal else "below"), int(reached[0]) + 1


def difference_as_share(values: Iterable[float]) -> list[float]:
    """Differences in [-1, 1] as values in [0, 1]: 0 becomes 0.5, the threshold of "no difference"."""
    return [(1 + value) / 2 for value in values]


def as_difference(share: float) -> float:
    """A mean of `difference_as_share` as the difference again."""
    return 2 * share - 1


def plug_in_bets(values: np.ndarray, alpha: float) -> np.ndarray:
    """The bet on each value, from the values before it alone (predictable plug-in, section 4 of the paper)."""
    count = np.arange(1, len(values) + 1)
    means = (0.5 + np.cumsum(values)) / (count + 1)
    spread = (0.25 + np.cumsum((values - means) ** 2)) / (count + 1)
    before = np.concatenate([[0.25], spread[:-1]]) if len(values) else spread
    return np.sqrt(2 * math.log(2 / alpha) / (before * count * np.log1p(count)))


def _log_capital(values: np.ndarray, bets: np.ndarray, threshold: float) -> np.ndarray:
    """Log of the capital of a player who bets that the mean is above the threshold, after each value."""
    stakes = np.minimum(bets, MOST / threshold)
    return np.cumsum(np.log1p(stakes * (values - threshold)))


def _interval(values: np.ndarray, bets: np.ndarray, goal: float) -> tuple[float, float]:
    """The thresholds that no player has refuted at any time so far; the capital is monotone in the threshold."""
    if not len(values):
        return 0.0, 1.0

    def refuted(rows: np.ndarray, threshold: float) -> bool:
        return bool(_log_capital(rows, bets, threshold).max() >= goal)

    def edge(rows: np.ndarray) -> float:
        """The largest threshold that the values have ruled out from below."""
        low, high = 0.0, 1.0
        if not refuted(rows, 1e-6):
            return 0.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if refuted(rows, max(middle, 1e-6)) else (low, middle)
        return low

    return edge(values), 1 - edge(1 - values)
