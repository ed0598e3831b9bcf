"""Do committed numbers come back: the four answers, the prediction intervals by hand, and the page."""

from __future__ import annotations

import math
import random
from statistics import fmean, pvariance
from typing import Any

import pytest

from evals.stats.verdict_table import pass_at_k
from harness.runs import comeback
from harness.runs.comeback import BACK, EQUAL, NOT_BACK, UNKNOWN, Run, compare, page, prediction


def run(seed: int, value: float | None, arm: str = "grpo", trained: bool = True, **more: Any) -> Run:
    tags = {"scale": "tiny", "backend": "trl", "model": "m", "arm": arm, "overrides": "", "seed": str(seed)}
    record = {
        "training": {"steps": 2} if trained else None,
        "environment": {"commit": f"c{seed}", "cpu": "a"},
        "settings": {"learning_rate": {"value": 1e-4}, **more},
    }
    return Run({f"rlvr.{k}": v for k, v in tags.items()}, record, {"b": {"avg_at_4": value}}, {"b": [(4, 2), (4, 0)]})


def test_answers() -> None:
    # seeds 0.4, 0.5, 0.6: mean 0.5, s = 0.1, two degrees of freedom, t = 4.3027: 0.5 +- 4.3027 * 0.1 * sqrt(4/3)
    committed = [run(0, 0.4), run(1, 0.5), run(2, 0.6)]
    low, high = prediction(committed, committed[0], "b", "avg_at_4")
    assert low == pytest.approx(0.0032, abs=1e-4) and high == pytest.approx(0.9968, abs=1e-4)
    for today, answer in ((0.4, EQUAL), (0.8, BACK), (0.0, NOT_BACK), (None, NOT_BACK)):
        (cell,) = compare(committed, [run(0, today)])
        assert cell.answer == answer, today


def test_lengths_have_the_same_t() -> None:
    seeds = [run(i, None) for i in range(3)]
    for i, of in enumerate(seeds):
        of.scores["b"]["mean_tokens"] = 10.0 + i
    _, high = prediction(seeds, seeds[0], "b", "mean_tokens")
    assert high is not None and high - 11 == pytest.approx(4.3027 * math.sqrt(4 / 3), abs=1e-3)
    assert prediction([run(0, 0.4), run(1, 0.4)], run(0, 0.4), "b", "avg_at_4") == (None, None)  # alike: no spread


def test_one_committed_seed_cannot_tell() -> None:
    (cell,) = compare([run(0, 0.4)], [run(0, 0.5)])
    assert cell.answer == UNKNOWN
    (cell,) = compare([run(0, 0.4)], [run(0, 0.4)])
    assert cell.answer == EQUAL


def test_untrained_arm_has_the_noise_of_sampling_alone() -> None:
    # avg: a problem with c of n = 4 has variance p (1 - p) / 4, p = (c + 1/2) / 5: c = 2 gives 1/16, c = 0 gives 0.09/4
    # v = (1/16 + 0.0225) / 4; half = 1.96 sqrt(2 v) = 0.4041
    base = run(0, 0.25, trained=False)
    low, high = prediction([base], base, "b", "avg_at_4")
    assert high is not None and low is not None
    assert high - 0.25 == pytest.approx(1.959964 * math.sqrt(2 * (1 / 16 + 0.0225) / 4))
    assert (low + high) / 2 == pytest.approx(0.25)


@pytest.mark.parametrize(("n", "c", "k"), [(16, 3, 1), (16, 3, 4), (8, 0, 8)])
def test_sampling_variance_equals_a_simulation(n: int, c: int, k: int) -> None:
    rng = random.Random(n * 100 + c)
    p = (c + 0.5) / (n + 1)
    values = [pass_at_k(n, sum(rng.random() < p for _ in range(n)), k) for _ in range(20_000)]
    assert comeback._sampling_variance(n, c, k) == pytest.approx(pvariance(values), rel=0.06)


def test_predictions_hold_their_level() -> None:
    """A new run of the same normal population falls outside in at most 5 % of cases; one far outside does not."""
    rng = random.Random(0)
    outside = 0
    for _ in range(4000):
        seeds = [run(i, rng.gauss(0.5, 0.1)) for i in range(4)]
        (cell,) = compare(seeds, [run(0, rng.gauss(0.5, 0.1))])
        outside += cell.answer == NOT_BACK
    assert outside / 4000 <= 0.05 + 0.011  # 3 standard deviations
    # 1.5 points between seeds, 20 of them: a run 10 points off is detected
    seeds = [run(i, rng.gauss(0.5, 0.015)) for i in range(20)]
    assert compare(seeds, [run(0, 0.6)])[0].answer == NOT_BACK


def test_page_names_changed_settings_and_counts() -> None:
    committed = [run(0, 0.4), run(1, 0.6)]
    today = [run(0, 0.4, added={"value": 1})]
    text = page(compare(committed, today), committed, today)
    assert "equal: 1; comes back: 0; does not come back: 0; cannot tell: 0 (of 1 cells)" in text
    assert "declared values changed: added: 'not declared' -> 1" in text
    assert "| cpu | a | a |" in text and "Tiny scale" in text
    assert fmean([0.4, 0.6]) == 0.5
