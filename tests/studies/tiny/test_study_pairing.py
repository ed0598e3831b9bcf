"""Whether shared seeds narrow a difference: the ratio of variances on planted scores."""

from __future__ import annotations

import numpy as np
import pytest

from studies.tiny.outcomes import pooled_ratio


def test_opposite_arms_have_a_ratio_of_two() -> None:
    # Var(a - (c - a)) = Var(2a) = 4 Var(a), over Var(a) + Var(c - a) = 2 Var(a)
    a = np.array([0.1, 0.5, 0.3, 0.35])
    ratio, interval = pooled_ratio([(a, 1 - a)])
    assert ratio == pytest.approx(2)
    assert interval is None  # the same without any one seed: no spread to tell


def test_pooling_weighs_pairs_by_their_variance() -> None:
    # pair 1: Var(d) = 0, Var(a) + Var(b) = 2 * 0.04 (a = 0, 0.2, 0.4); pair 2 the opposite of one tenth of it:
    # Var(d) = 4 * 0.0004, sum = 2 * 0.0004; pooled 0.0016 / 0.0808
    a = np.array([0.0, 0.2, 0.4])
    ratio, _ = pooled_ratio([(a, a), (a / 10, -a / 10)])
    assert ratio == pytest.approx(0.0016 / 0.0808)


def test_independent_arms_have_an_interval_that_holds_one_about_as_often_as_promised() -> None:
    rng = np.random.default_rng(7)
    holds = 0
    for _ in range(200):
        scores = rng.normal(size=(8, 10))
        _, interval = pooled_ratio([(scores[i], scores[i + 4]) for i in range(4)])
        assert interval is not None
        holds += interval.low <= 1 <= interval.high
    # seeded; 95 % promised, 1.5 points of standard error, and the jackknife of a ratio is a little short
    assert holds / 200 >= 0.88
