"""Eq. 5-6 of arXiv 2508.07534 on branches whose outcome is known."""

from __future__ import annotations

from itertools import product
from math import isnan, nan, prod
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evals.analysis.replacement import (
    by_group,
    compare_groups,
    impact,
    impacts,
    measure_impact,
    replacement_branches,
    squared_impact,
)
from evals.analysis.selection import Selection, select
from evals.engines import Decoding
from tests.evals.analysis.interventions import BENCHMARK, Rule, subject, token_table

# token id, entropy, alternative id
TABLE = token_table({
    ("a", 0): [(40, 0.1, 41), (42, 2.0, 43), (44, 0.0, 45)],
    ("b", 0): [(46, 1.0, 47), (48, 0.2, 49)],
})  # fmt: skip
DECODING = Decoding(1.0, 1.0, 16)


def test_impact_by_hand() -> None:
    assert impact([1, 1, 0, 1], [1, 0, 0, 0]) == 0.75 - 0.25
    assert impact([0, 0], [1, 1]) == -1  # the alternative is better
    assert impact([1, nan], [0, 0]) == 1  # unscored continuations are left out, not wrong
    assert isnan(impact([nan, nan], [1, 1]))
    # both variances are 4 * (3/16) / 3 = 1/4, of the means 1/16: 1/4 - 1/8
    assert squared_impact([1, 1, 0, 1], [1, 0, 0, 0]) == pytest.approx(1 / 8)
    assert isnan(squared_impact([1], [0]))


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5), (0.9, 0.2), (1.0, 0.0)])
def test_the_squared_impact_has_no_bias(p: float, q: float) -> None:
    """Over all outcomes of k = 3 continuations of either, weighted by their probability."""
    mean = 0.0
    for outcome in product((0, 1), repeat=6):
        weight = prod(r if x else 1 - r for x, r in zip(outcome, (p,) * 3 + (q,) * 3, strict=True))
        mean += weight * squared_impact(outcome[:3], outcome[3:])
    assert mean == pytest.approx((p - q) ** 2, abs=1e-12)


def test_branches_are_the_token_and_its_alternative() -> None:
    chosen = select(TABLE, Selection("top", count=1))
    branches = replacement_branches(chosen, TABLE, {"a": "A", "b": "B"}, {"a": "7", "b": "8"})
    assert [(b.id, b.prompt, b.forced, b.gold) for b in branches] == [
        ("a|0|1|o", "A", (40, 42), "7"),
        ("a|0|1|r", "A", (40, 43), "7"),
        ("b|0|0|o", "B", (46,), "8"),
        ("b|0|0|r", "B", (47,), "8"),
    ]
    with pytest.raises(ValueError, match="problem 'b' of the token table: expected its prompt, found none"):
        replacement_branches(chosen, TABLE, {"a": "A"}, {"a": "7", "b": "8"})


def test_measured_where_the_outcome_is_known(random_model: Path, tmp_path: Path) -> None:
    """Right, unless 43 or 49 was forced; and token 44 is wrong while its alternative is right."""
    engine = Rule(random_model, lambda request: not {43, 49, 44} & set(request.forced))
    top, bottom = Selection("top", count=1), Selection("bottom", count=1)
    groups = {"top": top, "bottom": bottom, "again": top}
    frame = measure_impact(
        subject(random_model, "ab"), BENCHMARK, TABLE, groups, decoding=DECODING, k=3, folder=tmp_path, engine=engine
    )
    got = {(row.group, row.problem_id, row.position): row.impact for row in frame.itertuples()}
    assert got == {
        ("top", "a", 1): 1.0, ("top", "b", 0): 0.0,
        ("bottom", "a", 2): -1.0, ("bottom", "b", 1): 1.0,
        ("again", "a", 1): 1.0, ("again", "b", 0): 0.0,
    }  # fmt: skip
    assert len(engine.asked) == 4 * 2 * 3  # 4 tokens, 2 branches, k = 3: the group "again" costs nothing
    assert len({request.seed for request in engine.asked}) == 24  # drawn independently
    assert (frame[["k_original", "k_replaced"]] == 3).all(axis=None)
    summary = by_group(frame).set_index("group")
    assert summary["impact"].to_dict() == {"top": 0.5, "bottom": 0.0, "again": 0.5}
    assert summary.loc["bottom", "squared_impact"] == 1.0
    # t with 1 degree of freedom over (1, 0) and (-1, 1): as wide as can be, bent to [-1, 1]
    assert -1 < summary.loc["top", "low"] < 0.5 < summary.loc["top", "high"] < 1
    assert compare_groups(frame, "top", "bottom").difference == 0.5


def outcomes(group: str, problem: str, position: int, *ends: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A token, and the verdicts of its branches: c, w, u for correct, wrong, unscored."""
    words = {"c": "correct", "w": "truncated", "u": "unscored"}
    chosen = TABLE.head(1).assign(group=group, problem_id=problem, position=position)
    rows = [
        {"problem_id": f"{problem}|0|{position}|{end}", "verdict": words[letter]}
        for end, letters in zip("or", ends, strict=True)
        for letter in letters
    ]
    return chosen, pd.DataFrame(rows)


def test_every_problem_counts_once_and_the_unknown_not_at_all() -> None:
    parts = [
        outcomes("top", "a", 0, "cc", "ww"), outcomes("top", "a", 1, "cc", "cc"),  # a: (1 + 0) / 2
        outcomes("top", "b", 0, "cu", "wc"),  # b: 1 - 1/2
        outcomes("top", "c", 0, "cc", "uu"),  # not known
        outcomes("low", "a", 5, "ww", "cc"),
        outcomes("none", "a", 6, "uu", "cc"),
    ]  # fmt: skip
    frame = impacts(pd.concat([c for c, _ in parts]), pd.concat([v for _, v in parts]))
    summary = by_group(frame).set_index("group")
    top = summary.loc["top"]
    assert (top["impact"], top["problems"], top["tokens"], top["unknown"], top["k"]) == (0.5, 2, 3, 1, 1)
    # both problems have 0.5: no spread is seen, and 1 - 0.025^(1/2) = 0.84 of others may lie at the bounds -1 and 1
    assert (top["low"], top["high"]) == pytest.approx((0.5 - 0.84189 * 1.5, 0.5 + 0.84189 * 0.5), abs=1e-4)
    assert np.isnan(summary.loc["low", "low"])  # one problem has no interval
    assert np.isnan(summary.loc["none", "impact"]) and summary.loc["none", "unknown"] == 1
    assert compare_groups(frame, "top", "low").difference == 1.5  # on problem a alone
    with pytest.raises(ValueError, match="no problem has an impact both in group 'top' and in group 'none'"):
        compare_groups(frame, "top", "none")
