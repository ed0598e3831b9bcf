"""Does a run reach a target in as many steps as the reference's seeds? The question of MLPerf's acceptance rule.

The logarithm of the steps to the target is taken as normal over seeds. A new run then lies within

    mean of the S references  +-  t_{S-1} sd sqrt(1 + 1/S)

(the prediction interval of one more value). A curve crosses the target somewhere between two evaluations. So the steps
of a run are an interval, and a run is refused only if all of it is outside. results/agree.md has the false refusals on
the study's ten seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from evals.errors import UsageError
from evals.stats.intervals import MIN_SEEDS, t_quantile

Verdict = Literal["belongs to the reference", "too early", "too late", "these numbers cannot decide it"]
LEVEL = 0.98  # the prediction interval's. With 95 %, up to 6 % of the study's own seeds are refused at some targets.


@dataclass(frozen=True)
class Crossing:
    """Where a curve first reaches the target: after step `after`, at the latest at step `at`. `at` is inf if never."""

    after: float
    at: float

    @property
    def middle(self) -> float:
        return (self.after + self.at) / 2


@dataclass(frozen=True)
class Acceptance:
    """The verdict about one run. `low` and `high`: the steps that a further seed of the reference needs, or None
    without a known spread."""

    verdict: Verdict
    run: Crossing
    reference: tuple[Crossing, ...]
    low: float | None
    high: float | None
    target: float

    @property
    def sentence(self) -> str:
        """The verdict with its numbers."""
        seeds = f"{len(self.reference)} seeds of the reference"
        if self.low is None or self.high is None:
            return f"These numbers cannot decide it: all {seeds} reach {self.target:g} at one evaluation."
        steps = f"{self.run.at:g} steps"
        if math.isinf(self.run.at):
            steps = f"more than {self.run.after:g} steps"
        needed = f"By {seeds}, a further one needs {self.low:.0f} to {self.high:.0f}."
        head = {
            "belongs to the reference": f"The run belongs to the reference: it needs {steps} to reach {self.target:g}.",
            "too early": f"Too early: the run needs {steps} to reach {self.target:g}.",
            "too late": f"Too late: the run needs {steps} to reach {self.target:g}.",
        }.get(self.verdict, f"These numbers cannot decide it: the run ends before it reaches {self.target:g}.")
        return f"{head} {needed}"


def crossing(steps: ArrayLike, values: ArrayLike, target: float) -> Crossing:
    """The first evaluation that reaches the target, and the one before it.

    Args:
        steps: [K], rising. values: [K].
    Raises:
        ValueError: lengths differ, there is none, or steps do not rise.
    """
    at, value = np.asarray(steps, dtype=float), np.asarray(values, dtype=float)
    if at.shape != value.shape or at.ndim != 1 or at.size == 0 or (np.diff(at) <= 0).any():
        raise ValueError(f"steps must rise, one for each value, got shapes {at.shape} and {value.shape}")
    reached = np.flatnonzero(value >= target)
    if reached.size == 0:
        return Crossing(float(at[-1]), math.inf)
    first = int(reached[0])
    return Crossing(float(at[first - 1]) if first else 0.0, float(at[first]))


def accept(run: Crossing, reference: Sequence[Crossing], target: float, *, level: float = LEVEL) -> Acceptance:
    """Whether a run belongs to the reference's seeds.

    Raises:
        UsageError: fewer than `MIN_SEEDS` references, or one that never reaches the target, or reaches it at step 0.
    """
    if len(reference) < MIN_SEEDS:
        raise UsageError(f"{len(reference)} reference curves: at least {MIN_SEEDS} seeds show their spread.")
    if any(math.isinf(crossing.at) for crossing in reference):
        raise UsageError(f"target={target:g}: a reference curve never reaches it. Choose a lower target.")
    if any(crossing.at <= 0 for crossing in reference):
        raise UsageError(f"target={target:g}: a reference curve reaches it at step 0. Choose a higher target.")
    logs = np.log([crossing.middle for crossing in reference])
    spread = float(logs.std(ddof=1))
    if spread == 0:
        return Acceptance("these numbers cannot decide it", run, tuple(reference), None, None, target)
    half = t_quantile((1 + level) / 2, len(logs) - 1) * spread * math.sqrt(1 + 1 / len(logs))
    low, high = math.exp(logs.mean() - half), math.exp(logs.mean() + half)
    verdict: Verdict = "belongs to the reference"
    if run.at < low:
        verdict = "too early"
    elif run.after > high:
        verdict = "too late"
    elif math.isinf(run.at):
        verdict = "these numbers cannot decide it"
    return Acceptance(verdict, run, tuple(reference), low, high, target)
