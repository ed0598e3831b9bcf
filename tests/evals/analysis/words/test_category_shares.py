"""Shares, entropies and changes of the categories, by hand."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from evals.analysis.words.token_categories import CATEGORIES, category_changes, category_shares
from tests.evals.analysis.tokens import token_table


def as_category(names: list[str]) -> pd.Series:
    return pd.Series(pd.Categorical(names, CATEGORIES))


def test_shares_by_hand() -> None:
    one, two = [("1", 0.2), ("+", 0.4), ("so", 2.0), ("we", 1.0)], [("2", 0.9), ("so", 1.0)]
    table = token_table({("p", 0): one, ("q", 0): two})
    shares = category_shares(table, as_category(["formal", "formal", "logical", "semantic", "formal", "logical"]))
    formal, logical, metacognitive = (shares.set_index("category").loc[name] for name in CATEGORIES[:3])
    # p: 2 of 4, q: 1 of 2, so 1/2; over all tokens 3 of 6
    assert formal["share"] == formal["share_pooled"] == 0.5 and formal["tokens"] == 3
    # p: (0.2 + 0.4) / 2, q: 0.9; over all tokens 1.5 / 3
    assert formal["entropy"] == pytest.approx(0.6) and formal["entropy_pooled"] == pytest.approx(0.5)
    # p: 1 of 4, q: 1 of 2; over all tokens 2 of 6
    assert logical["share"] == 0.375 and logical["share_pooled"] == pytest.approx(1 / 3)
    assert logical["share_low"] < 0.375 < logical["share_high"]
    assert metacognitive["share"] == 0 and math.isnan(metacognitive["entropy"]) and metacognitive["problems"] == 0
    assert shares["share"].sum() == pytest.approx(1) and shares["share_pooled"].sum() == pytest.approx(1)


def test_changes_by_hand() -> None:
    change = pd.Series([0.5, -0.4, 0.1, 0.0, -0.2])
    category = as_category(["formal", "logical", "formal", "semantic", "semantic"])
    changes = category_changes(change, category, top=0.4).set_index("category")
    # the top 2 of 5: 0.5 (formal) and -0.4 (logical)
    assert changes["share_of_top"].tolist() == [0.5, 0.5, 0, 0, 0]
    assert changes["share_in_top"][["formal", "logical", "semantic"]].tolist() == [0.5, 1, 0]
    assert changes["change"][["formal", "logical", "semantic"]].tolist() == pytest.approx([0.3, -0.4, -0.1])
    assert changes["size"]["semantic"] == pytest.approx(0.1) and changes["top_size"]["formal"] == 0.5
    assert math.isnan(changes["top_size"]["semantic"]) and math.isnan(changes["size"]["other"])


def test_the_top_is_never_more_than_asked_for() -> None:
    same = pd.Series([0.0] * 10)  # nothing moved: the first two are taken
    changes = category_changes(same, as_category(["formal"] * 2 + ["other"] * 8))
    assert changes.set_index("category")["share_of_top"]["formal"] == 1


@pytest.mark.parametrize(
    ("change", "top", "message"),
    [([0.1], 0.0, "top: expected a share"), ([1.5], 0.2, r"in \[-1, 1\]"), ([math.nan], 0.2, r"in \[-1, 1\]"),
     ([0.1, 0.2], 0.2, "the same rows")],
)  # fmt: skip
def test_bad_input_is_named(change: list[float], top: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        category_changes(pd.Series(change), as_category(["formal"]), top=top)
