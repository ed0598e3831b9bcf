"""The rows of a verdict table, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evals.grading.verdicts import Verdict

if TYPE_CHECKING:
    import pandas as pd

NEEDED = ("problem_id", "sample", "verdict", "answer_class", "boxed")
_OPTIONAL = {"train_seed": 0, "tokens": None, "finish_reason": None}


def checked_rows(rows: Any) -> pd.DataFrame:
    """The table with all columns that are read; else a ValueError that names the fault."""
    frame: pd.DataFrame = rows.to_pandas() if hasattr(rows, "to_pandas") else rows
    if missing := [name for name in NEEDED if name not in frame.columns]:
        raise ValueError(f"the verdict table lacks the column(s) {', '.join(missing)}")
    if len(frame) == 0:
        raise ValueError("the verdict table has no rows")
    if "benchmark" in frame.columns and frame["benchmark"].nunique() > 1:
        raise ValueError(f"score one benchmark at a time, got {', '.join(sorted(frame['benchmark'].unique()))}")
    if unknown := set(frame["verdict"].unique()) - set(Verdict):
        raise ValueError(f"verdict must be one of {', '.join(Verdict)}, got {', '.join(map(repr, unknown))}")
    frame = frame.assign(**{name: value for name, value in _OPTIONAL.items() if name not in frame.columns})
    for name in ("train_seed", "problem_id", "sample", "boxed"):
        if frame[name].isna().any():
            raise ValueError(f"{name} must have a value in every row of the verdict table")
    check_each_once(frame)
    return frame.reset_index(drop=True)


def check_each_once(rows: pd.DataFrame) -> None:
    """Raise ValueError if a sample is there twice."""
    key = [name for name in ("train_seed", "problem_id", "sample") if name in rows]
    twice = rows[rows.duplicated(key)]
    if len(twice):
        which = ", ".join(f"{name} {value}" for name, value in twice[key].iloc[0].items())
        raise ValueError(f"the verdict table holds the same sample twice: {which}")
