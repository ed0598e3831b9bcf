"""Means over problems: each problem counts once, seeds are crossed with problems, and missing values are excluded."""

from __future__ import annotations

import pandas as pd
import pytest

from evals.analysis.responses.forms import mean_over_problems
from evals.stats.intervals import over_problems, over_problems_and_seeds


def frame(*rows: tuple[int, str, float | None]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["train_seed", "problem_id", "x"])


def test_a_problem_counts_once_however_many_samples_it_has() -> None:
    mean = mean_over_problems(frame((0, "p", 1), (0, "p", 1), (0, "p", 0), (0, "q", 0)), "x", bounds=(0.0, 1.0))
    assert mean is not None and mean.value == pytest.approx((2 / 3 + 0) / 2)
    assert mean.interval == over_problems([2 / 3, 0])
    assert (mean.problems, mean.excluded, mean.samples) == (2, 0, 4)


def test_seeds_are_crossed_with_problems() -> None:
    rows = [(s, p, v) for s, values in enumerate([(1, 0), (0.5, 0.5)]) for p, v in zip("pq", values, strict=True)]
    mean = mean_over_problems(frame(*rows), "x", bounds=(0.0, 1.0))
    assert mean is not None and mean.value == 0.5
    assert mean.interval == over_problems_and_seeds([[1, 0], [0.5, 0.5]])


def test_missing_values_are_excluded_and_counted() -> None:
    # q has no value in seed 1, so it is out in both; of p one value is missing
    rows = frame((0, "p", 1), (0, "p", None), (0, "q", 1), (1, "p", 0), (1, "q", None))
    mean = mean_over_problems(rows, "x", bounds=(0.0, 1.0))
    assert mean is not None and (mean.value, mean.interval) == (0.5, None)
    assert (mean.problems, mean.excluded, mean.samples) == (1, 1, 2)
    assert mean_over_problems(frame((0, "p", None)), "x", bounds=None) is None
    # a whole seed without values leaves no problem that all seeds have
    assert mean_over_problems(frame((0, "p", 1), (1, "p", None)), "x", bounds=None) is None
