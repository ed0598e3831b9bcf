"""The drop in accuracy, by hand, without bias, and by group."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evals.analysis.effects import by_group, compare_groups, effects


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
    return frame.join(effects([(f"{i}|o", f"{i}|a") for i in range(len(rows))], verdicts))


FRAME = frame_of(
    ("top", "a", "cc", "ww"), ("top", "a", "cc", "cc"),  # a: (1 + 0) / 2
    ("top", "b", "cu", "wc"),  # b: 1 - 1/2
    ("top", "c", "cc", "uu"),  # not known
    ("low", "a", "ww", "cc"), ("none", "a", "uu", "cc"),
)  # fmt: skip


def test_every_problem_counts_once_and_unknown_ones_are_excluded() -> None:
    summary = by_group(FRAME).set_index("group")
    top = summary.loc["top"]
    assert top[["mean", "problems", "interventions", "unknown", "k"]].tolist() == [0.5, 2, 3, 1, 1]
    assert top[["original", "altered"]].tolist() == [1.0, 0.5]
    # both problems have 0.5: no spread is seen, and 1 - 0.025^(1/2) = 0.84 of others may lie at the bounds -1 and 1
    assert (top["low"], top["high"]) == pytest.approx((0.5 - 0.84189 * 1.5, 0.5 + 0.84189 * 0.5), abs=1e-4)
    assert np.isnan(summary.loc["low", "low"])  # one problem has no interval
    assert np.isnan(summary.loc["none", "mean"]) and summary.loc["none", "unknown"] == 1


def test_drops_by_hand() -> None:
    frame = frame_of(("g", "a", "cccw", "cwww"), ("g", "b", "ww", "cc"), ("g", "c", "cu", "ww"), ("g", "d", "uu", "c"))
    # 3/4 - 1/4; the alternative is better; unscored continuations are excluded, not wrong; nothing known
    assert frame["drop"].tolist()[:3] == [0.5, -1, 1] and np.isnan(frame["drop"][3])
    assert frame["k_original"].tolist() == [4, 2, 1, 0]


def test_groups_are_paired_by_problem() -> None:
    assert compare_groups(FRAME, "top", "low").difference == 0.5 - -1  # on problem a alone
    for a, b in (("top", "none"), ("other", "top")):
        with pytest.raises(ValueError, match="no problem has a drop in group"):
            compare_groups(FRAME, a, b)
