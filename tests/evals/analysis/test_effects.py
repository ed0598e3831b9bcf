"""The drop in accuracy, by hand, without bias, and by group."""

from __future__ import annotations

from math import isnan, nan

import numpy as np
import pandas as pd
import pytest

from evals.analysis.effects import by_group, compare_groups, effects, impact


def test_impact_by_hand() -> None:
    assert impact([1, 1, 0, 1], [1, 0, 0, 0]) == 0.75 - 0.25
    assert impact([0, 0], [1, 1]) == -1  # the alternative is better
    assert impact([1, nan], [0, 0]) == 1  # unscored continuations are excluded, not wrong
    assert isnan(impact([nan, nan], [1, 1]))


def frame_of(*rows: tuple[str, str, str, str]) -> pd.DataFrame:
    """(group, problem, verdicts without, verdicts with): c, w, u for correct, wrong, unscored."""
    words = {"c": "correct", "w": "truncated", "u": "unscored"}
    verdicts = pd.DataFrame(
        [
            {"problem_id": f"{index}|{end}", "verdict": words[letter]}
            for index, row in enumerate(rows)
            for end, letters in zip("oa", row[2:], strict=True)
            for letter in letters
        ]
    )
    frame = pd.DataFrame([row[:2] for row in rows], columns=["group", "problem_id"])
    return frame.assign(**effects([(f"{i}|o", f"{i}|a") for i in range(len(rows))], verdicts))


FRAME = frame_of(
    ("top", "a", "cc", "ww"), ("top", "a", "cc", "cc"),  # a: (1 + 0) / 2
    ("top", "b", "cu", "wc"),  # b: 1 - 1/2
    ("top", "c", "cc", "uu"),  # not known
    ("low", "a", "ww", "cc"), ("none", "a", "uu", "cc"),
)  # fmt: skip


def test_every_problem_counts_once_and_unknown_ones_are_excluded() -> None:
    summary = by_group(FRAME).set_index("group")
    top = summary.loc["top"]
    assert top[["drop", "problems", "interventions", "unknown", "k"]].tolist() == [0.5, 2, 3, 1, 1]
    assert top[["original", "altered"]].tolist() == [1.0, 0.5]
    # both problems have 0.5: no spread is seen, and 1 - 0.025^(1/2) = 0.84 of others may lie at the bounds -1 and 1
    assert (top["low"], top["high"]) == pytest.approx((0.5 - 0.84189 * 1.5, 0.5 + 0.84189 * 0.5), abs=1e-4)
    assert np.isnan(summary.loc["low", "low"])  # one problem has no interval
    assert np.isnan(summary.loc["none", "drop"]) and summary.loc["none", "unknown"] == 1


def test_groups_are_paired_by_problem() -> None:
    assert compare_groups(FRAME, "top", "low").difference == 0.5 - -1  # on problem a alone
    alone = compare_groups(FRAME, "top")
    # differences 1/2, 1/2, no spread: the share u of others with (1 - u)^2 = p/2 at the bound -1 makes the mean
    # 1/2 - 3/2 u; it is zero at u = 1/3, so p = 2 (2/3)^2
    assert (alone.difference, alone.p_value) == (0.5, pytest.approx(8 / 9))
    top = by_group(FRAME).set_index("group").loc["top"]
    assert alone.interval is not None and (alone.interval.low, alone.interval.high) == (top["low"], top["high"])
    assert compare_groups(FRAME, "low").interval is None  # one problem
    for a, b in (("top", "none"), ("none", None), ("other", "top")):
        with pytest.raises(ValueError, match="no problem has a drop in group"):
            compare_groups(FRAME, a, b)
