r"""`rlvr grade FILE`: verdicts and scores for answers that somebody already has, as JSON Lines.

Rows hold `problem_id`, `answer` (the gold) and `response`; several rows with one `problem_id` are its samples. With
`answers=True` they hold `gold` and `prediction`, bare answers. A `finish_reason` ("stop", "length" or null) is used; an
`expected` (true or false) is compared with our verdicts, per `source` where rows name one. Other columns are kept.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evals.answer_files.report import Report, agreements
from evals.answer_files.rows import Row, as_text, checked, read
from evals.answer_files.table import (
    Columns,
    check_target,
    columns_of_pairs,
    columns_of_responses,
    parquet_columns,
    write,
)
from evals.grading import LIMIT_S, Grader, Progress

if TYPE_CHECKING:
    from evals.stats.score import Score

__all__ = ["Report", "grade_file"]

_COMMON_KS = tuple(2**power for power in range(11))


def grade_file(
    path: str | os.PathLike[str],
    *,
    answers: bool = False,
    out: str | os.PathLike[str] | None = None,
    ks: Sequence[int] | None = None,
    policy: str = "boxed_last",
    workers: int = 2,
    limit_s: float = LIMIT_S,
    progress: Progress | None = None,
) -> Report:
    """Grade a JSON Lines file.

    Args:
        path: the file. answers: rows are pairs of bare answers instead of responses.
        out: where to write the rows in input order with our columns beside theirs (see `evals.answer_files.table`):
            .jsonl or .parquet. Graded responses can be compared: `rlvr compare` reads either.
        ks: the k of pass@k and maj@k; by default the powers of two up to the fewest samples of a problem.
        policy: see `evals.grading.extraction`. workers, limit_s: see `evals.grading.Grader`.
        progress: told (done, all) comparisons.
    Raises:
        ValueError: a bad line (named by number and field), a suffix of `out` that is not known, or an impossible k; all
            before anything is graded.
        OSError: the file cannot be read, or `out` cannot be written.
    """
    path = Path(path)
    rows = checked(path, read(path), answers)
    target = None if out is None else check_target(Path(out))
    columns = parquet_columns(path, rows, answers) if target and target.suffix == ".parquet" else None
    wanted = [] if answers else _ks(rows, ks)
    with Grader(workers=workers, limit_s=limit_s) as grader:
        if answers:
            grades = grader.grade_answers(
                [(as_text(row["gold"]), as_text(row["prediction"])) for row in rows], progress
            )
            scores, ours = [], columns_of_pairs(grades)
        else:
            triples = [(as_text(row["answer"]), row["response"], row.get("finish_reason")) for row in rows]
            grades = grader.grade_responses(triples, policy, progress)
            ours = columns_of_responses(rows, grades, grader)
            scores = _scores(rows, ours, wanted)
    if target is not None:
        write(target, rows, ours, columns)
    samples = None if answers else Counter(str(row["problem_id"]) for row in rows)
    reasons = Counter(grade.reason.split(":")[0] for grade in grades if grade.reason)
    return Report(
        file=str(path),
        rows=len(rows),
        problems=len(samples) if samples else None,
        samples=(min(samples.values()), max(samples.values())) if samples else None,
        verdicts=dict(sorted(Counter(str(grade.verdict) for grade in grades).items())),
        unscored_reasons=dict(reasons),
        scores=scores,
        agreement=agreements(rows, grades),
        out=None if target is None else str(target),
    )


def _ks(rows: list[Row], ks: Sequence[int] | None) -> list[int]:
    fewest = min(Counter(str(row["problem_id"]) for row in rows).values())
    if ks is None:
        return [k for k in _COMMON_KS if k <= fewest]
    for k in ks:
        if not 1 <= k <= fewest:
            raise ValueError(f"k is {k}; expected 1 to {fewest}, the fewest samples of a problem in the file")
    return list(ks)


def _scores(rows: list[Row], ours: Columns, ks: list[int]) -> list[Score]:
    import pandas as pd

    from evals.stats.score import score

    frame = pd.DataFrame({name: ours[name] for name in ("sample", "verdict", "answer_class", "boxed")})
    frame.insert(0, "problem_id", [str(row["problem_id"]) for row in rows])
    return score(frame.astype({"answer_class": "Int64"}), ks=ks)
