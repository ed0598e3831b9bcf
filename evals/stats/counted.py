"""Count a verdict table by training seed and problem: all that a score is computed from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evals.grading.verdicts import Verdict

if TYPE_CHECKING:
    import pandas as pd

NEEDED = ("problem_id", "sample", "verdict", "answer_class", "boxed")
COLUMNS = (*NEEDED, "benchmark", "train_seed", "gold", "tokens", "finish_reason")
KEY = ["train_seed", "problem_id"]


def counts_of_rows(rows: Any) -> tuple[pd.DataFrame, dict[Any, int], str]:
    """(a row for each training seed and problem, the seeds' fingerprints, a contradiction or "").

    Columns: generated, scored, correct, boxed samples; tokens, of the samples of known length; stopped by the length
    limit, of the reasons known; gold; right, the votes of the correct class of answers; rivals, the sorted ones of the
    others. A fingerprint is a number that equal samples share, in any order: verdicts, answer classes and lengths. A
    contradiction between verdicts and answer classes matters to maj@k alone.

    Args:
        rows: of one benchmark, a pandas frame or Arrow table; `train_seed` is 0 where it has no such column.
    Raises:
        ValueError: no rows, a missing column or value, an unknown verdict, several benchmarks, or a sample that is
            there twice.
    """
    import pandas as pd

    rows = _checked(rows)
    length, answer = (pd.to_numeric(rows[name]).astype(float) for name in ("tokens", "answer_class"))
    counted = rows[KEY].assign(
        generated=1,
        scored=(rows["verdict"] != Verdict.UNSCORED).astype(int),
        correct=(rows["verdict"] == Verdict.CORRECT).astype(int),
        boxed=rows["boxed"].astype(int),
        tokens=length.fillna(0.0),
        known=length.notna().astype(int),
        stopped=(rows["finish_reason"] == "length").astype(int),
        reasons=rows["finish_reason"].notna().astype(int),
    )
    counts = counted.groupby(KEY).sum()
    counts["gold"] = rows.groupby(KEY)["gold"].last()
    votes, fault = _votes(counted.assign(answer=answer))
    of_cells = [votes.get(cell, (0, ())) for cell in counts.index]
    counts["right"] = [right for right, _ in of_cells]
    counts["rivals"] = pd.Series([rivals for _, rivals in of_cells], counts.index, dtype=object)
    plain = {name: rows[name].astype(str).astype(object) for name in ("problem_id", "verdict")}
    numbers = {"sample": rows["sample"].astype(float), "answer": answer.fillna(-1.0), "tokens": length.fillna(-1.0)}
    hashes = pd.util.hash_pandas_object(pd.DataFrame({**plain, **numbers}), index=False)
    fingerprints = {seed: int(of_seed.sum()) for seed, of_seed in hashes.groupby(rows["train_seed"])}
    return counts, fingerprints, fault


def _votes(counted: pd.DataFrame) -> tuple[dict[Any, tuple[int, tuple[int, ...]]], str]:
    """((seed, problem) -> (votes of the correct class, sorted votes of the others); a contradiction, or "")."""
    lost = counted[(counted["correct"] == 1) & counted["answer"].isna()]
    if len(lost):
        return {}, f"problem {lost['problem_id'].iloc[0]!r}: a correct sample must have an answer class, got None"
    voted = counted[(counted["scored"] == 1) & counted["answer"].notna()]
    classes = voted.groupby([*KEY, "answer"])["correct"].agg(["size", "sum"])
    right: dict[Any, tuple[int, int]] = {}  # (class, votes)
    rivals: dict[Any, list[int]] = {}
    for (seed, problem, answer), size, correct in classes.itertuples():
        cell = seed, problem
        if not correct:
            rivals.setdefault(cell, []).append(size)
        elif correct < size:
            return {}, f"problem {problem!r}: answer class {answer:g} is correct in one sample and not in another"
        elif cell in right:
            return {}, f"problem {problem!r}: one answer class may be correct, got {[right[cell][0], int(answer)]}"
        else:
            right[cell] = int(answer), size
    cells = right.keys() | rivals.keys()
    return {cell: (right.get(cell, (0, 0))[1], tuple(sorted(rivals.get(cell, ())))) for cell in cells}, ""


def _checked(rows: Any) -> pd.DataFrame:
    """The table with all of `COLUMNS`; else a ValueError that names the fault."""
    frame: pd.DataFrame = rows.to_pandas() if hasattr(rows, "to_pandas") else rows
    if missing := [name for name in NEEDED if name not in frame]:
        raise ValueError(f"the verdict table lacks the column(s) {', '.join(missing)}")
    if len(frame) == 0:
        raise ValueError("the verdict table has no rows")
    if "benchmark" in frame and frame["benchmark"].nunique() > 1:
        raise ValueError(f"score one benchmark at a time, got {', '.join(sorted(frame['benchmark'].unique()))}")
    if unknown := set(frame["verdict"].unique()) - set(Verdict):
        raise ValueError(f"verdict must be one of {', '.join(Verdict)}, got {', '.join(map(repr, unknown))}")
    absent = {name: 0 if name == "train_seed" else None for name in COLUMNS if name not in frame}
    frame = frame[[name for name in COLUMNS if name in frame]].assign(**absent)
    for name in (*KEY, "sample", "boxed"):
        if frame[name].isna().any():
            raise ValueError(f"{name} must have a value in every row of the verdict table")
    frame = frame.astype({"problem_id": str}).reset_index(drop=True)
    sample = [*KEY, "sample"]
    if len(twice := frame[frame.duplicated(sample)]):
        which = ", ".join(f"{name} {value}" for name, value in twice[sample].iloc[0].items())
        raise ValueError(f"the verdict table holds the same sample twice: {which}")
    return frame
