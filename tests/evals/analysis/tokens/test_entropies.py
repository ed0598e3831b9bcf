"""The distribution of entropies: shares and summaries by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evals.analysis.tokens.entropies import shares, summary
from tests.evals.analysis.token_tables import random_table


def test_shares_by_hand() -> None:
    found = shares([0.0, 0.4, 0.5, 1.0], [0.0, 0.5, 1.0])
    assert found["count"].tolist() == [2, 2] and found["share"].tolist() == [0.5, 0.5]  # the last bin holds its end
    with pytest.raises(ValueError, match="expected all of them from"):
        shares([1.1], [0.0, 1.0])
    with pytest.raises(ValueError, match="at least one"):
        shares([], [0.0, 1.0])


def test_summary_by_hand() -> None:
    # 0, 0, 1, 2, 7: the fifth of highest entropy is 1 + floor(0.2 * 4) = 1 token, 7 of 10 nats; the median is 1
    table = pd.DataFrame({"entropy": [7.0, 0.0, 2.0, 0.0, 1.0], "verdict": "correct"})
    found = summary(table, rho=0.2).set_index("outcome")
    assert list(found.index) == ["all", "correct"]  # there is no token of another response
    assert (
        found.loc["correct", "in_forks"] == 0.7 and found.loc["correct", "mean"] == 2 and found.loc["all", "q50"] == 1
    )
    assert np.isnan(summary(table.assign(entropy=0.0))["in_forks"]).all()


def test_unscored_tokens_are_in_all_alone() -> None:
    table = random_table(samples=6)
    found = summary(table).set_index("outcome")["tokens"]
    unscored = (table["verdict"] == "unscored").sum()
    assert unscored > 0 and found["all"] == len(table)
    assert found["correct"] + found["incorrect"] == len(table) - unscored
