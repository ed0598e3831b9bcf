"""Means by bin against loops, and where tokens fall."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.analysis.entropies import by_position, in_forks, shares
from evals.analysis.token_table import by_bin, mean_of, perplexity_bins, position_bins, rank_bins
from tests.evals.analysis.token_tables import random_table


@given(st.lists(st.tuples(st.floats(-5, 5), st.sampled_from("pqrs")), min_size=1, max_size=30))
def test_a_mean_is_over_problems_and_equals_a_loop(rows: list[tuple[float, str]]) -> None:
    mean = mean_of(*zip(*rows, strict=True))
    of_problem = {p: [v for v, q in rows if q == p] for _, p in rows}
    means = [sum(values) / len(values) for values in of_problem.values()]
    assert mean["mean"] == pytest.approx(sum(means) / len(means), abs=1e-9)
    assert mean["pooled"] == pytest.approx(sum(v for v, _ in rows) / len(rows), abs=1e-9)
    assert (mean["count"], mean["problems"]) == (len(rows), len(means))


def test_no_value_is_nan_and_not_zero() -> None:
    nothing = mean_of([], [])
    assert all(np.isnan(nothing[name]) for name in ("low", "mean", "high", "pooled")) and nothing["count"] == 0
    assert np.isnan(mean_of([1.0], ["p"])["low"])  # one problem shows no spread
    with pytest.raises(ValueError, match="expected finite numbers"):
        mean_of([np.nan], ["p"])
    with pytest.raises(ValueError, match="expected one of each"):
        mean_of([1.0], ["p", "q"])


def test_means_by_hand() -> None:
    # bin 0: problem a has 1 and 3 (mean 2), b has 6: mean over problems (2 + 6)/2 = 4, pooled 10/3. Bin 1: a alone
    bins = by_bin([1.0, 3.0, 6.0, 5.0], np.array([0, 0, 0, 1]), ["a", "a", "b", "a"], count=3)
    assert bins["mean"].tolist()[:2] == [4.0, 5.0] and bins["pooled"].tolist()[:2] == [pytest.approx(10 / 3), 5.0]
    assert bins["count"].tolist() == [3, 1, 0] and bins["problems"].tolist() == [2, 1, 0]
    assert bins["low"][0] < 4 < bins["high"][0] and np.isnan(bins["low"][1]) and np.isnan(bins["mean"][2])


def test_parts_of_a_response() -> None:
    table = pd.DataFrame({"position": [0, 1, 2, 3, 4, 0, 1], "length": [5] * 5 + [2] * 2})
    # 5 tokens in 4 bins: floor(4 t / 5) = 0, 0, 1, 2, 3. 2 tokens: 0, 2
    assert position_bins(table, 4).tolist() == [0, 0, 1, 2, 3, 0, 2]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 8))
def test_ranks_make_bins_of_equal_size(values: list[int], count: int) -> None:
    bins = rank_bins(values, count)
    sizes = np.bincount(bins, minlength=count)
    assert len(sizes) == count and sizes.max() - sizes.min() <= 1
    for i, a in enumerate(values):  # a smaller value never lies in a higher bin
        assert all(bins[i] <= bins[j] for j, b in enumerate(values) if a < b)


def test_perplexity_is_of_the_response() -> None:
    table = random_table(problems=3, samples=4)
    shuffled = table.sample(frac=1, random_state=1)
    bins = pd.Series(perplexity_bins(shuffled, 5), index=shuffled.index).sort_index()
    surprise = {key: -rows["logp"].mean() for key, rows in table.groupby(["problem_id", "sample"])}
    order = sorted(surprise, key=lambda key: surprise[key])
    for key, rows in table.groupby(["problem_id", "sample"]):
        assert (bins[rows.index] == order.index(key) * 5 // 12).all()


def test_entropy_by_position_against_loops() -> None:
    table = random_table(problems=3, samples=5, seed=3)
    bins = by_position(table, count=4)
    members = {"all": lambda v: True, "correct": lambda v: v == "correct",
               "incorrect": lambda v: v in ("wrong", "no_answer", "truncated")}  # fmt: skip
    assert set(bins["outcome"]) == set(members)
    for row in bins.to_dict("records"):
        of_problem: dict[str, list[float]] = {}
        for t in table.to_dict("records"):
            if members[row["outcome"]](t["verdict"]) and t["position"] * 4 // t["length"] == row["bin"]:
                of_problem.setdefault(t["problem_id"], []).append(t["entropy"])
        assert row["problems"] == len(of_problem) and row["position"] == (row["bin"] + 0.5) / 4
        means = [sum(v) / len(v) for v in of_problem.values()]
        assert row["mean"] == pytest.approx(sum(means) / len(means) if means else np.nan, nan_ok=True)


def test_shares_by_hand() -> None:
    shown = shares([0.0, 0.4, 0.5, 1.0], [0.0, 0.5, 1.0])
    assert shown["count"].tolist() == [2, 2] and shown["share"].tolist() == [0.5, 0.5]  # the last bin holds its end
    with pytest.raises(ValueError, match="expected all of them from"):
        shares([1.1], [0.0, 1.0])
    with pytest.raises(ValueError, match="at least one"):
        shares([], [0.0, 1.0])


def test_the_share_of_entropy_in_forks_by_hand() -> None:
    # 0, 0, 1, 2, 7: the fifth of highest entropy is 1 + floor(0.2 * 4) = 1 token, 7 of 10 nats
    assert in_forks([7.0, 0.0, 2.0, 0.0, 1.0]) == 0.7
    assert np.isnan(in_forks([0.0, 0.0]))
