"""pass@k curves: values by hand, and the same problems at every point of every curve."""

from __future__ import annotations

import pytest

from evals.analysis.responses.curves_over_k import pass_curves
from tests.evals.analysis.verdict_tables import table


def test_by_hand() -> None:
    # p: n = 4, c = 1: pass@1 = 1/4, pass@2 = 1 - C(3,2)/C(4,2) = 1/2, pass@4 = 1. q: none right.
    frame, same = pass_curves({"a": table({"p": "cwwn", "q": "wwnt"})})
    assert frame[["model", "k"]].to_numpy().tolist() == [["a", 1], ["a", 2], ["a", 4]]
    assert frame["pass"].tolist() == pytest.approx([1 / 8, 1 / 4, 1 / 2])
    assert (frame["low"] < frame["pass"]).all() and (frame["pass"] < frame["high"]).all()
    assert set(frame["covers"]) == {"problems"} and same.k == 4


def test_curves_stand_on_the_same_problems() -> None:
    # q has two scored samples only: asked for k = 3 it leaves both curves, at k = 1 and 2 too
    a, b = table({"p": "cww", "q": "ccu"}), table({"p": "www", "q": "ccc"})
    frame, same = pass_curves({"a": a, "b": b}, ks=[1, 3])
    assert same.problems == ("p",) and same.left_out == 1
    assert frame["pass"].tolist() == pytest.approx([1 / 3, 1, 0, 0])
    assert frame["low"].isna().all()  # one problem has no interval
    # not asked, the curves end where q does
    frame, same = pass_curves({"a": a, "b": b})
    assert same.left_out == 0 and frame["k"].tolist() == [1, 2, 1, 2]
    with pytest.raises(ValueError, match="ks: expected"):
        pass_curves({"a": a}, ks=[])
