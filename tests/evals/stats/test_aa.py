"""The A/A test on simulated runs with known seed spread, and on runs that differ by construction."""

from __future__ import annotations

import numpy as np
import pytest

from evals.stats.aa import _pairs, aa
from evals.stats.intervals import Vector


def runs(count: int, spread: float, seed: int = 0, problems: int = 40, samples: int = 16) -> Vector:
    """[R, P] shares correct: rates from 0.2 to 0.8 by problem, shifted by one normal number a run."""
    rng = np.random.default_rng(seed)
    rates = np.linspace(0.2, 0.8, problems) + spread * rng.standard_normal((count, 1))
    return rng.binomial(samples, np.clip(rates, 0, 1)) / samples


def test_equal_methods_differ_in_at_most_one_of_twenty() -> None:
    # 10 independent sets of 20 runs. Seeds that differ by 6 points, where one seed a side differs most of the time
    tests = [aa({"x": runs(20, 0.06, seed=s)}, splits=40) for s in range(10)]
    assert [r.seeds for r in tests[0]] == [1, 3, 5, 10]
    for rates in zip(*tests, strict=True):
        share = sum(r.false for r in rates) / sum(r.splits for r in rates)
        assert share <= 0.05 + 0.02 if rates[0].about_method else share > 0.3  # the ten sets' deviation is 0.01
        assert all(r.disjoint == 20 // (2 * r.seeds) for r in rates)


def test_runs_of_two_kinds_differ() -> None:
    # ten runs near 0.5 and ten 0.3 higher are not one method. With all of a kind on one side a verdict is right
    low, high = runs(10, 0.005), runs(10, 0.005, seed=1) * 0.6 + 0.35
    rate = aa({"x": np.vstack([low, high])}, sizes=(3,), splits=400)[0]
    assert rate.false > 0 and rate.by_benchmark["x"] == rate.false
    assert 0 <= rate.low <= rate.false / rate.splits <= rate.high < 1


def test_sides_are_disjoint_and_splits_are_counted_once() -> None:
    pairs = _pairs(20, 3, 200, np.random.default_rng(0))
    assert len(set(pairs)) == len(pairs) >= 190  # a few are sampled twice
    assert all(len(a) == len(b) == 3 and not set(a) & set(b) for a, b in pairs)
    assert len(_pairs(20, 1, 200, np.random.default_rng(0))) == 190  # all of them


def test_sizes_that_do_not_fit_are_skipped_and_different_runs_refused() -> None:
    assert [r.seeds for r in aa({"x": runs(7, 0.1)}, splits=5)] == [1, 3]
    with pytest.raises(ValueError, match="expected the same runs on all benchmarks"):
        aa({"x": runs(4, 0.1), "y": runs(5, 0.1)})


def test_the_command_takes_the_runs_of_one_method() -> None:
    from harness.errors import UsageError
    from rlvr.sizing import aa as command

    with pytest.raises(UsageError, match="nowhere: expected a run's folder"):
        command("nowhere")
