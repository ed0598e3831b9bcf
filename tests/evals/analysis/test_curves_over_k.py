"""Curves over k equal the mean over all k-subsets, counted one by one, on the problems that all models have."""

from __future__ import annotations

from itertools import combinations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.analysis.curves_over_k import distinct_at_k, diversity_curves, keep_common_problems, pass_curves
from tests.evals.analysis.verdict_tables import table


@given(st.lists(st.sampled_from([None, 0, 1, 2]), min_size=1, max_size=8), st.data())
def test_distinct_answers_are_a_mean_over_k_subsets(classes: list[int | None], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(classes)))
    counts = [len({c for c in subset if c is not None}) for subset in combinations(classes, k)]
    assert distinct_at_k(classes, k) == pytest.approx(sum(counts) / len(counts))


def test_is_exact_for_many_samples() -> None:
    # 640 samples: class 0 on half of them, 320 classes once. k = 640 counts them. One sample has one answer.
    classes = [0] * 320 + list(range(1, 321))
    assert distinct_at_k(classes, 640) == 321 and distinct_at_k(classes, 1) == pytest.approx(1)
    for wrong in (0, 641):
        with pytest.raises(ValueError, match=r"k must lie in 1\.\.n"):
            distinct_at_k(classes, wrong)


def test_curves_by_hand() -> None:
    # p: classes 0, 1, 2, none: one sample has 3/4 answers. Any 2 of 4: 6 pairs, 3 with none (1 answer), 3 with two
    # answers: (3 + 6)/6 = 1.5. all: 3. q: class 0 always: 1.
    tables = {"a": table({"p": "c12n", "q": "cccc"})}
    frame, _ = diversity_curves(tables)
    assert frame["k"].tolist() == [1, 2, 4]
    assert frame["mean"].tolist() == pytest.approx([(3 / 4 + 1) / 2, (1.5 + 1) / 2, (3 + 1) / 2])
    assert (frame["low"] >= 0).all() and (frame["high"] <= frame["k"]).all()
    # unscored responses have an unknown answer: p has 3 scored ones, and the curves end at 3
    frame, same = diversity_curves({"a": table({"p": "c12u", "q": "cccc"})})
    assert frame["k"].tolist() == [1, 2, 3] and same.unscored == 1
    assert frame["mean"].tolist()[-1] == pytest.approx((3 + 1) / 2)


def test_training_seeds_are_covered() -> None:
    rows = ({"p": "c1", "q": "cc"}, {"p": "cc", "q": "cc"}, {"p": "cc", "q": "cc"})
    three = pd.concat([table(problems, train_seed=seed) for problems, seed in zip(rows, (0, 5, 6), strict=True)])
    frame, _ = diversity_curves({"a": three})
    assert frame["mean"].tolist()[-1] == pytest.approx((2 + 1 + 1 + 1 + 1 + 1) / 6) and frame["k"].tolist() == [1, 2]
    assert frame["covers"].tolist()[-1] == "problems and seeds"


def test_by_hand() -> None:
    # p: n = 4, c = 1: pass@1 = 1/4, pass@2 = 1 - C(3,2)/C(4,2) = 1/2, pass@4 = 1. q: none right.
    frame, same = pass_curves({"a": table({"p": "cwwn", "q": "wwnt"})})
    assert frame[["model", "k"]].to_numpy().tolist() == [["a", 1], ["a", 2], ["a", 4]]
    assert frame["mean"].tolist() == pytest.approx([1 / 8, 1 / 4, 1 / 2])
    assert (frame["low"] < frame["mean"]).all() and (frame["mean"] < frame["high"]).all()
    assert set(frame["covers"]) == {"problems"} and same.k == 4


def test_problems_without_a_scored_sample_in_some_model_are_excluded() -> None:
    a = table({"p": "ccw", "q": "wwu", "r": "uuu", "s": "c"})
    b = table({"p": "cc", "q": "wwww", "r": "ccc"})
    same = keep_common_problems({"a": a, "b": b})
    # p has 3 and 2 scored samples, q 2 and 4. r has none in a. s was not asked of b
    assert (same.problems, same.excluded, same.k, same.unscored) == (("p", "q"), 2, 2, 4)
    assert len(same.tables["a"]) == 5 and len(same.tables["b"]) == 6
    assert "run: 2." in same.note() and "scored: 4." in same.note()
    assert keep_common_problems({"b": b}).note() == ""


def test_one_unscored_response_does_not_end_the_curves_early() -> None:
    # 20 problems of 4 samples, one response unscored: its problem (5 %) goes, and pass@4 is over the 19 others, which
    # all have a correct response. With two such problems (10 %) all stay, and the curves end at k = 3.
    whole = {f"p{i}": "cwww" for i in range(19)}
    frame, same = pass_curves({"a": table({**whole, "q": "wwwu"})})
    assert frame["k"].tolist() == [1, 2, 4] and (same.k, same.excluded) == (4, 1)
    assert frame["mean"].iloc[-1] == 1
    assert "without 4 scored samples in every run: 1." in same.note()
    frame, same = pass_curves({"a": table({**whole, "q": "wwwu", "p0": "cwwu"})})
    assert frame["k"].tolist() == [1, 2, 3] and (same.k, same.excluded) == (3, 0)


def test_every_training_seed_counts() -> None:
    two = pd.concat([table({"p": "cc", "q": "cc"}, train_seed=0), table({"p": "c", "q": "uu"}, train_seed=1)])
    same = keep_common_problems({"a": two})
    assert (same.problems, same.excluded, same.k, same.unscored) == (("p",), 1, 1, 2)
    # a seed of which nothing could be scored leaves nothing to compare
    with pytest.raises(ValueError, match="no problem has a scored sample"):
        keep_common_problems({"a": pd.concat([table({"p": "cc"}, train_seed=0), table({"p": "uu"}, train_seed=1)])})
    with pytest.raises(ValueError, match="at least one model"):
        keep_common_problems({})
