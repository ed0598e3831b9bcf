"""The distribution of entropies: shares by hand."""

from __future__ import annotations

import numpy as np
import pytest

from evals.analysis.entropies import in_forks, shares


def test_shares_by_hand() -> None:
    shown = shares([0.0, 0.4, 0.5, 1.0], [0.0, 0.5, 1.0])
    assert shown["count"].tolist() == [2, 2] and shown["share"].tolist() == [0.5, 0.5]  # the last bin holds its end
    with pytest.raises(ValueError, match="expected all of them from"):
        shares([1.1], [0.0, 1.0])
    with pytest.raises(ValueError, match="at least one"):
        shares([], [0.0, 1.0])


def test_the_share_of_entropy_in_forks_by_hand() -> None:
    # 0, 0, 1, 2, 7: the fifth of highest entropy is 1 + floor(0.2 * 4) = 1 token, 7 of 10 nats
    assert in_forks([7.0, 0.0, 2.0, 0.0, 1.0], rho=0.2) == 0.7
    assert np.isnan(in_forks([0.0, 0.0]))
