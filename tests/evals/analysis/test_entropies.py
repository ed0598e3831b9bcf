"""The distribution of entropies: shares and summaries by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evals.analysis.entropies import shares, summary


def test_shares_by_hand() -> None:
    shown = shares([0.0, 0.4, 0.5, 1.0], [0.0, 0.5, 1.0])
    assert shown["count"].tolist() == [2, 2] and shown["share"].tolist() == [0.5, 0.5]  # the last bin holds its end
    with pytest.raises(ValueError, match="expected all of them from"):
        shares([1.1], [0.0, 1.0])
    with pytest.raises(ValueError, match="at least one"):
        shares([], [0.0, 1.0])


def test_summary_by_hand() -> None:
    # 0, 0, 1, 2, 7: the fifth of highest entropy is 1 + floor(0.2 * 4) = 1 token, 7 of 10 nats; the median is 1
    table = pd.DataFrame({"entropy": [7.0, 0.0, 2.0, 0.0, 1.0]})
    row = summary(table, rho=0.2)
    assert row["in_forks"] == 0.7 and row["mean"] == 2 and row["q50"] == 1
    assert np.isnan(summary(table.assign(entropy=0.0))["in_forks"])
