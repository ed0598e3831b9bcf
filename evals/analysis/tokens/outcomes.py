"""The tokens of right and of other responses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evals.grading.verdicts import Verdict

if TYPE_CHECKING:
    import pandas as pd

ALL, RIGHT, NOT_RIGHT = "all", "right", "not right"
OUTCOMES = (ALL, RIGHT, NOT_RIGHT)


def outcomes(table: pd.DataFrame) -> dict[str, pd.Series]:
    """Outcome -> which rows: all; those of right responses; those of wrong, unanswered and truncated ones.

    Rows of unscored responses are in "all" alone: whether they are right is not known.
    """
    verdict = table["verdict"]
    right = verdict == Verdict.CORRECT
    return {ALL: verdict.notna(), RIGHT: right, NOT_RIGHT: ~right & (verdict != Verdict.UNSCORED)}
