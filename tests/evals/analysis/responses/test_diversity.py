"""Answer diversity equals the mean over all k-subsets, counted one by one."""

from __future__ import annotations

from itertools import combinations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.analysis.responses.curves_over_k import distinct_at_k, diversity_curves
from tests.evals.analysis.verdict_tables import table


@given(st.lists(st.sampled_from([None, 0, 1, 2]), min_size=1, max_size=8), st.data())
def test_is_the_mean_over_k_subsets(classes: list[int | None], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(classes)))
    counts = [len({c for c in subset if c is not None}) for subset in combinations(classes, k)]
    assert distinct_at_k(classes, k) == pytest.approx(sum(counts) / len(counts))


def test_is_exact_for_many_samples() -> None:
    # 640 samples: class 0 on half of them, 320 classes once. k = 640 counts them; one draw has one answer.
    classes = [0] * 320 + list(range(1, 321))
    assert distinct_at_k(classes, 640) == 321 and distinct_at_k(classes, 1) == pytest.approx(1)
    for wrong in (0, 641):
        with pytest.raises(ValueError, match=r"k must lie in 1\.\.n"):
            distinct_at_k(classes, wrong)


def test_curves_by_hand() -> None:
    # p: classes 0, 1, 2, none: one draw has 3/4 answers; any 2 of 4: 6 pairs, 3 with none (1 answer), 3 with two
    # answers: (3 + 6)/6 = 1.5; all: 3. q: class 0 always: 1.
    tables = {"a": table({"p": "c12n", "q": "cccc"})}
    frame, _ = diversity_curves(tables)
    assert frame["k"].tolist() == [1, 2, 4]
    assert frame["distinct"].tolist() == pytest.approx([(3 / 4 + 1) / 2, (1.5 + 1) / 2, (3 + 1) / 2])
    assert (frame["low"] >= 0).all() and (frame["high"] <= frame["k"]).all()
    # unscored responses have an unknown answer: p has 3 scored ones, and the curves end at 3
    frame, same = diversity_curves({"a": table({"p": "c12u", "q": "cccc"})})
    assert frame["k"].tolist() == [1, 2, 3] and same.unscored == 1
    assert frame["distinct"].tolist()[-1] == pytest.approx((3 + 1) / 2)


def test_training_seeds_are_covered() -> None:
    two = pd.concat([table({"p": "c1", "q": "cc"}, train_seed=0), table({"p": "cc", "q": "cc"}, train_seed=5)])
    frame, _ = diversity_curves({"a": two}, ks=[2])
    assert frame["distinct"].tolist() == pytest.approx([(2 + 1 + 1 + 1) / 4])
    assert frame["covers"].tolist() == ["problems and seeds"]
