"""Count a verdict table by training seed and problem: all that a score is computed from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evals.errors import UsageError
from evals.grading.verdicts import WITHHELD, Verdict

if TYPE_CHECKING:
    import pandas as pd

NEEDED = ("problem_id", "sample", "verdict", "answer_class", "boxed")
COLUMNS = (*NEEDED, "benchmark", "train_seed", "gold", "tokens", "finish_reason")


def counts_of_rows(rows: object) -> tuple[pd.DataFrame, dict[object, int], str]:
    """(a row for each training seed and problem, the seeds' fingerprints, a contradiction or "").

    Columns: generated, scored, correct, replied (not withheld), boxed of these, and those without an answer;
    tokens, of the samples of known length; stopped by the length limit, of the reasons known; gold; right, the votes
    of the correct class of answers; rivals, the sorted ones of the others. A fingerprint is a number that equal samples
    share, in any order: verdicts, answer classes and lengths. A contradiction between verdicts and answer classes
    matters to maj@k alone.

    Args:
        rows: of one benchmark, a pandas frame or Arrow table. `train_seed` is 0 where it has no such column.
    Raises:
        UsageError: no rows, a missing column or value, an unknown verdict, several benchmarks, or a sample that is
            there twice.
    """
    import pandas as pd

    rows = _checked(rows)
    seed, seeds = pd.factorize(rows["train_seed"], sort=True)
    problem, problems = pd.factorize(rows["problem_id"], sort=True)
    cell = seed * len(problems) + problem
    if (again := pd.DataFrame({"cell": cell, "sample": rows["sample"]}).duplicated()).any():
        twice = rows[["train_seed", "problem_id", "sample"]][again].iloc[0]
        place_of_sample = ", ".join(f"{name} {value}" for name, value in twice.items())
        raise UsageError(f"the verdict table holds the same sample twice: {place_of_sample}")
    scored, correct = (rows["verdict"] != Verdict.UNSCORED).to_numpy(), (rows["verdict"] == Verdict.CORRECT).to_numpy()
    length, answer = (pd.to_numeric(rows[name]).to_numpy(float, na_value=np.nan) for name in ("tokens", "answer_class"))
    replied = (~rows["finish_reason"].isin(WITHHELD)).to_numpy()
    weights = {
        "generated": None,
        "scored": scored,
        "correct": correct,
        "replied": replied,
        "boxed": replied & rows["boxed"].to_numpy(bool),
        "no_answer": (rows["verdict"] == Verdict.NO_ANSWER).to_numpy(),
        "known": ~np.isnan(length),
        "stopped": (rows["finish_reason"] == "length").to_numpy(bool),
        "reasons": rows["finish_reason"].notna().to_numpy(),
        "tokens": np.nan_to_num(length),
    }
    index: pd.MultiIndex = pd.MultiIndex.from_product([seeds, problems])
    sums = {name: np.bincount(cell, weight, len(index)) for name, weight in weights.items()}
    counts = pd.DataFrame({name: s if name == "tokens" else s.astype(int) for name, s in sums.items()}, index)
    gold = pd.Series(rows["gold"].to_numpy(object), cell).groupby(level=0).last()
    counts["gold"] = gold.reindex(range(len(index))).to_numpy(object)
    named = scored & ~np.isnan(answer)
    if (lost := correct & ~named).any():
        fault = f"problem {problems[problem[lost][0]]!r}: a correct sample must have an answer class, got None"
        votes: list[tuple[int, tuple[int, ...]]] = []
    else:
        votes, fault = _votes(cell[named], answer[named].astype(int), correct[named], index)
    counts["right"] = [right for right, _ in votes] or 0
    counts["rivals"] = pd.Series([rivals for _, rivals in votes] or [()] * len(index), index, dtype=object)
    samples = {
        "problem": pd.Categorical.from_codes(problem, problems),
        "verdict": rows["verdict"].astype("category"),
        **{"sample": rows["sample"].astype(float), "answer": np.nan_to_num(answer, nan=-1.0), "tokens": length},
    }
    hashes = pd.util.hash_pandas_object(pd.DataFrame(samples).fillna({"tokens": -1.0}), index=False).to_numpy()
    fingerprints = {seeds[s]: int(hashes[seed == s].sum()) for s in range(len(seeds))}
    return counts[counts["generated"] > 0], fingerprints, fault


def _votes(
    cell: NDArray[np.int_], answer: NDArray[np.int_], correct: NDArray[np.bool_], cells: pd.MultiIndex
) -> tuple[list[tuple[int, tuple[int, ...]]], str]:
    """(of each cell: the votes of the correct class, the sorted ones of the others, a contradiction, or "")."""
    answers, place = np.unique(answer, return_inverse=True)
    classes, class_of_vote = np.unique(cell * len(answers) + place, return_inverse=True)
    right: dict[int, tuple[int, int]] = {}  # (class, votes)
    rivals: dict[int, list[int]] = {}
    sizes, rights = np.bincount(class_of_vote), np.bincount(class_of_vote, correct)
    of_cell, of_answer = (classes // len(answers)).tolist(), answers[classes % len(answers)].tolist()
    for c, number, size, of_right in zip(of_cell, of_answer, sizes.tolist(), rights.tolist(), strict=True):
        if not of_right:
            rivals.setdefault(c, []).append(size)
        elif of_right < size:
            return [], f"problem {cells[c][1]!r}: answer class {number} is correct in one sample and not in another"
        elif c in right:
            return [], f"problem {cells[c][1]!r}: one answer class may be correct, got {[right[c][0], number]}"
        else:
            right[c] = number, size
    return [(right.get(c, (0, 0))[1], tuple(sorted(rivals.get(c, ())))) for c in range(len(cells))], ""


def _checked(rows: Any) -> pd.DataFrame:
    """The table with all of `COLUMNS`, else a UsageError that names the fault."""
    frame: pd.DataFrame = rows.to_pandas() if hasattr(rows, "to_pandas") else rows
    if missing := [name for name in NEEDED if name not in frame]:
        raise UsageError(f"the verdict table lacks the column(s) {', '.join(missing)}")
    if len(frame) == 0:
        raise UsageError("the verdict table has no rows")
    if "benchmark" in frame and frame["benchmark"].nunique() > 1:
        raise UsageError(f"score one benchmark at a time, got {', '.join(sorted(frame['benchmark'].unique()))}")
    if unknown := set(frame["verdict"].unique()) - set(Verdict):
        raise UsageError(f"verdict must be one of {', '.join(Verdict)}, got {', '.join(map(repr, unknown))}")
    for name in ("train_seed", "problem_id", "sample", "boxed"):
        if name in frame and frame[name].isna().any():
            raise UsageError(f"{name} must have a value in every row of the verdict table")
    absent = {name: 0 if name == "train_seed" else None for name in COLUMNS if name not in frame}
    return frame.assign(**absent, problem_id=frame["problem_id"].astype(str)).reset_index(drop=True)
