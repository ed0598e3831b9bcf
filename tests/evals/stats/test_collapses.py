"""Collapses: which seeds did, and when a verdict could be undone by those that no seed shows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.stats.collapses import Collapses, Undoing, collapses, undoing, unlike
from evals.stats.compare import Line
from evals.stats.differences import paired


def test_a_seed_far_below_the_others_collapsed() -> None:
    # 0.2 lies 0.5 below the median 0.7. The median distance is 0.01, five times it 0.05, a quarter of the median 0.175
    assert collapses([0.7, 0.71, 0.69, 0.2, 0.7]) == Collapses(1, 5, pytest.approx(0.6), pytest.approx(0.7))
    assert collapses([0.7, 0.71, 0.2]).count == 1
    assert collapses([0.7, 0.71, 0.69, 0.6, 0.7]).count == 0  # 0.1 is less than a quarter of the median
    assert collapses([0.2, 0.35, 0.5, 0.65, 0.8]).count == 0  # a wide spread: five median distances are 0.75
    assert collapses([0.7, 0.2]).count == 0  # which of two did cannot be told
    text = collapses([0.7, 0.71, 0.69, 0.2, 0.7]).text()
    assert text == "1 of 5 seeds collapsed: the mean of all is 60.0, of the others 70.0"


def test_unlike_spreads() -> None:
    assert unlike([0.5, 0.51, 0.49], [0.4, 0.5, 0.6])  # deviations 0.01 and 0.1
    assert not unlike([0.5, 0.51, 0.49], [0.5, 0.52, 0.48])
    assert not unlike([0.5], [0.4, 0.6])


def test_the_collapses_that_would_undo_a_difference_by_hand() -> None:
    # a = 0.7 is 0.05 above b: if 1/14 of a's trainings end at 0, its mean is 0.7 (13/14) = 0.65. Three seeds show none
    # the chance is (13/14)^3 = 0.80 with these. 41 seeds: (13/14)^41 = 0.048
    undone = undoing((0.7, 0.65), (3, 3), "avg")
    assert undone is not None
    assert (undone.side, undone.share, undone.seeds) == ("a", pytest.approx(1 / 14), 3)
    assert undone.unseen == pytest.approx((13 / 14) ** 3)
    assert undone.needed == 41
    assert undoing((0.7, 0.65), (40, 3), "avg") is not None and undoing((0.7, 0.65), (41, 3), "avg") is None
    # 0.7 to 0.2: 5/7 of the trainings would have to collapse, and (2/7)^3 = 0.023
    assert undoing((0.7, 0.2), (3, 3), "avg") is None
    # the better side was not trained: collapses of the other one only confirm it
    assert undoing((0.7, 0.65), (0, 3), "avg") is None
    # the rate of truncated responses of a collapsed training is 1: b = 0.1 is the better side
    undone = undoing((0.2, 0.1), (3, 3), "truncation_rate")
    assert undone is not None and (undone.side, undone.share) == ("b", pytest.approx(1 / 9))
    assert undoing((310.0, 290.0), (3, 3), "mean_tokens") is None  # no such length is known


def test_equality_is_undone_on_either_side() -> None:
    # equal within 0.05: b = 0.69 leaves the margin below a = 0.7 when it falls by 0.04, a when it falls by 0.06
    undone = undoing((0.7, 0.69), (3, 3), "avg", within=0.05)
    assert undone is not None and (undone.side, undone.share) == ("b", pytest.approx(0.04 / 0.69))


@given(st.floats(0.01, 1), st.floats(0.0, 1), st.integers(1, 60))
def test_a_mean_that_falls_by_the_share_meets_the_other(better: float, part: float, seeds: int) -> None:
    other = better * part
    undone = undoing((better, other), (seeds, 0), "avg")
    if undone is not None:
        assert better * (1 - undone.share) == pytest.approx(other, abs=1e-12)
        assert undone.needed is None or undone.needed > seeds
    else:
        assert better == other or part**seeds <= 0.05  # 1 - r = part


def test_a_stable_method_is_not_lower_than_one_that_collapses() -> None:
    """Equal means, 100 runs: B collapses once in ten, by 50 points. In 73 % no seed of three shows it, and B looks 5
    points better. Such verdicts say that they are about trainings that do not collapse."""
    rng = np.random.default_rng(0)
    words: list[str] = []
    for _ in range(100):
        a = np.full((3, 1), 0.6) + 0.01 * rng.standard_normal((3, 1)) * np.ones(40)
        b = 0.65 - 0.5 * (rng.random((3, 1)) < 0.1) + 0.01 * rng.standard_normal((3, 1)) * np.ones(40)
        a, b = (side + 0.02 * rng.standard_normal(side.shape) for side in (a, b))
        result = paired(a, b)
        means = [tuple(side.mean(axis=1).tolist()) for side in (a, b)]
        line = Line(
            benchmark="x", name="avg", metric="avg", a=float(a.mean()), b=float(b.mean()), problems=40,
            p_holm=result.p_value, scores_a=means[0], scores_b=means[1], **result.parts(),
        )  # fmt: skip
        words.append(line.verdict)
    assert not {"higher", "lower"} & set(words)
    # 0.9^3 = 0.729. One standard deviation of 100 runs is 0.044
    assert words.count("lower without collapses") / 100 == pytest.approx(0.729, abs=0.14)


def test_how_many_seeds_show_a_collapse() -> None:
    # a share of a half: (1/2)^4 = 0.0625 is over 5 %, (1/2)^5 = 0.03125 is not
    assert [Undoing("a", share, 3).needed for share in (0.0, 0.5, 1.0)] == [None, 5, None]
