"""Steps to a target: the prediction interval against scipy's, and false refusals on the study's own seeds."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evals.errors import UsageError
from evals.stats.acceptance import Crossing, accept, crossing

CURVES = Path(__file__).parents[3] / "results" / "study" / "curves.parquet"


def test_where_a_curve_crosses() -> None:
    assert crossing([10, 20, 30], [0.1, 0.6, 0.5], 0.5) == Crossing(10, 20)
    assert crossing([10, 20], [0.7, 0.1], 0.5) == Crossing(0, 10)
    assert crossing([10, 20], [0.1, 0.2], 0.5) == Crossing(20, math.inf)
    with pytest.raises(ValueError, match="steps must rise"):
        crossing([10, 10], [0.1, 0.2], 0.5)


def test_the_interval_is_that_of_one_more_value() -> None:
    # logs of 90, 100, 110: mean 4.6018, sd 0.10036. t(2, .99) = 6.9646. half = 6.9646 * .10036 * sqrt(4/3) = .8071
    reference = [Crossing(steps, steps) for steps in (90.0, 100.0, 110.0)]
    acceptance = accept(Crossing(95, 100), reference, 0.5)
    assert acceptance.low == pytest.approx(44.46, abs=0.05) and acceptance.high == pytest.approx(223.3, abs=0.3)
    assert acceptance.verdict == "belongs to the reference" and "needs 100 steps to reach 0.5" in acceptance.sentence
    assert accept(Crossing(30, 40), reference, 0.5).verdict == "too early"
    assert accept(Crossing(230, 240), reference, 0.5).verdict == "too late"
    assert (
        accept(Crossing(220, 240), reference, 0.5).verdict == "belongs to the reference"
    )  # it may have crossed at 221
    assert accept(Crossing(400, math.inf), reference, 0.5).verdict == "too late"
    assert accept(Crossing(200, math.inf), reference, 0.5).verdict == "these numbers cannot decide it"


def test_what_has_no_spread_is_not_decided_and_few_seeds_are_refused() -> None:
    alike = [Crossing(9, 10)] * 3
    assert accept(Crossing(1, 2), alike, 0.5).verdict == "these numbers cannot decide it"
    with pytest.raises(UsageError, match="2 reference curves"):
        accept(Crossing(1, 2), alike[:2], 0.5)
    with pytest.raises(UsageError, match="never reaches it"):
        accept(Crossing(1, 2), [*alike, Crossing(10, math.inf)], 0.5)
    with pytest.raises(UsageError, match="reaches it at step 0"):  # the logarithm of no step
        accept(Crossing(1, 2), [*alike, crossing([0, 10], [0.6, 0.7], 0.5)], 0.5)


def test_at_most_one_in_twenty_of_the_studys_own_seeds_is_refused() -> None:
    # each seed against the nine others of its arm: every refusal is false
    curves = pd.read_parquet(CURVES)
    curves = curves[curves["metric"] == "train/accuracy"]
    table = curves.pivot_table(index=["family", "paper", "arm", "seed"], columns="step", values="value")
    refused, tried = 0, 0
    for target in (0.4, 0.6, 0.8):
        for _, arm in table.groupby(level=[0, 1, 2]):
            crossings = [crossing(row.dropna().index, row.dropna(), target) for _, row in arm.iterrows()]
            if len(crossings) < 10 or any(np.isinf(run.at) for run in crossings):
                continue
            for place, run in enumerate(crossings):
                verdict = accept(run, crossings[:place] + crossings[place + 1 :], target).verdict
                refused += verdict in ("too early", "too late")
                tried += 1
    assert tried > 1000
    assert refused / tried <= 0.05
