"""The rows of a verdict table: what is checked, and what is computed of them before they are forgotten."""

from __future__ import annotations

from collections.abc import Callable
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


def votes_of(classes: pd.DataFrame, problem_of: Callable[[int], str]) -> dict[int, tuple[int, tuple[int, ...]]]:
    """Cell -> (votes of the correct class, sorted votes of the other classes).

    Args:
        classes: as `VerdictTable.classes`.
        problem_of: the problem of a cell, for messages.
    Raises:
        ValueError: two correct classes, or a class that is correct in one sample and not in another.
    """
    right = classes[classes["sum"] > 0]
    if (twice := right[right["cell"].duplicated(keep=False)]).size:
        cell = int(twice["cell"].iloc[0])
        of_cell = twice[twice["cell"] == cell]["class"].tolist()
        raise ValueError(f"problem {problem_of(cell)!r}: one answer class may be correct, got {of_cell}")
    if (mixed := right[right["sum"] < right["size"]]).size:
        cell, answer = int(mixed["cell"].iloc[0]), mixed["class"].iloc[0]
        raise ValueError(
            f"problem {problem_of(cell)!r}: answer class {answer} is correct in one sample and not in another"
        )
    votes: dict[int, tuple[int, list[int]]] = {}
    for cell, size, correct in zip(classes["cell"], classes["size"], classes["sum"], strict=True):
        of_right, rivals = votes.get(cell, (0, []))
        votes[cell] = (size, rivals) if correct else (of_right, [*rivals, size])
    return {int(cell): (int(of_right), tuple(sorted(rivals))) for cell, (of_right, rivals) in votes.items()}
