r"""`rlvr grade FILE`: verdicts and scores for answers that somebody already has, as JSON Lines.

Rows hold `problem_id`, `answer` (the gold) and `response`; several rows with one `problem_id` are its samples. With
`answers=True` they hold `gold` and `prediction`, bare answers. A `finish_reason` ("stop", "length" or null) is used; an
`expected` (true or false) is compared with our verdicts, per `source` where rows name one. Other columns are kept.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evals.answer_files.differing import Disagreement, differing
from evals.answer_files.formats import NEEDED
from evals.answer_files.reading import NOTHING_SAID, AnswerFile, Reading, read_answers
from evals.answer_files.report import Report, Stated, agreements
from evals.answer_files.rows import Row, as_text, checked, read
from evals.answer_files.table import (
    Columns,
    check_target,
    columns_of_pairs,
    columns_of_responses,
    parquet_columns,
    write,
)
from evals.grading import LIMIT_S, Conventions, Explanation, Grade, Grader, Progress
from evals.grading.effects import PolicyEffect, policy_effects
from evals.grading.equivalence import DEFAULT
from evals.grading.extraction import POLICIES

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
    policy: str | None = None,
    conventions: Conventions = DEFAULT,
    workers: int | None = None,
    limit_s: float = LIMIT_S,
    explain: Sequence[int] = (),
    columns: Mapping[str, str] | None = None,
    reading: Reading | None = None,
    progress: Progress | None = None,
) -> Report:
    """Grade a file of JSON Lines, or of any format of `evals.answer_files.formats`.

    Args:
        path: the file. answers: rows are pairs of bare answers instead of responses.
        out: where to write the rows in input order with our columns beside theirs (see `evals.answer_files.table`):
            .jsonl or .parquet. Graded responses can be compared: `rlvr compare` reads either.
        ks: the k of pass@k and maj@k; by default the powers of two up to the fewest samples of a problem.
        policy: of extraction (`evals.grading.extraction`); None for boxed_last, or for letter where every gold is a
            letter of a multiple choice.
        conventions: what counts as the same answer (`evals.grading.Conventions`).
        workers, limit_s: see `evals.grading.Grader`.
        explain: numbers of rows, from 1, whose verdicts are explained.
        columns: our name -> the file's, for a table of another form (`evals.answer_files.formats`).
        reading: more of what the file does not say (`evals.answer_files.reading.Reading`); with it, no `columns`.
        progress: told (done, all) comparisons.
    Raises:
        ValueError: a bad line (named by number and field), a suffix of `out` that is not known, or an impossible k; all
            before anything is graded.
        OSError: the file cannot be read, or `out` cannot be written.
    """
    path = Path(path)
    reading = reading or Reading(columns or {})
    stated = None if answers else _stated(path, reading)
    numbered = read(path) if answers else read(path) if stated is None else list(enumerate(stated.rows, 1))
    rows = checked(path, numbered, answers)
    target = None if out is None else check_target(Path(out))
    parquet = parquet_columns(path, rows, answers) if target and target.suffix == ".parquet" else None
    wanted = [] if answers else _ks(rows, ks)
    for number in explain:
        if not 1 <= number <= len(rows):
            raise ValueError(f"explain is {number}; expected 1 to {len(rows)}, the number of a row")
    used = policy_for(rows) if policy is None and not answers else policy
    if used is not None and used not in POLICIES:
        raise ValueError(f"extraction policy {used!r} is unknown; expected one of {', '.join(POLICIES)}")
    with Grader(workers=workers, limit_s=limit_s, conventions=conventions) as grader:
        if answers:
            graded = _graded_pairs(grader, rows, progress)
        else:
            assert used is not None
            graded = _graded_responses(grader, rows, used, wanted, progress)
        explanations = [_explained(grader, rows[number - 1], None if answers else used) for number in explain]
    if target is not None:
        write(target, rows, graded.ours, parquet)
    samples = None if answers else Counter(str(row["problem_id"]) for row in rows)
    reasons = Counter(grade.reason.split(":")[0] for grade in graded.grades if grade.reason)
    return Report(
        file=str(path),
        rows=len(rows),
        problems=len(samples) if samples else None,
        samples=(min(samples.values()), max(samples.values())) if samples else None,
        verdicts=dict(sorted(Counter(str(grade.verdict) for grade in graded.grades).items())),
        unscored_reasons=dict(reasons),
        scores=list(graded.scores),
        agreement=agreements(rows, graded.grades),
        out=None if target is None else str(target),
        policy=None if answers else used,
        policies=list(graded.effects),
        explanations=explanations,
        stated=None if stated is None else Stated.of(stated),
        differing=list(graded.differing),
    )


class _Graded(NamedTuple):
    """The grades of a file's rows, and what follows from them: our columns; of responses also scores and effects."""

    grades: list[Grade]
    ours: Columns
    scores: Sequence[Score] = ()
    effects: Sequence[PolicyEffect] = ()
    differing: Sequence[Disagreement] = ()


def _graded_pairs(grader: Grader, rows: list[Row], progress: Progress | None) -> _Graded:
    pairs = [(as_text(row["gold"]), as_text(row["prediction"])) for row in rows]
    grades = grader.grade_answers(pairs, progress)
    return _Graded(grades, columns_of_pairs(grades))


def _graded_responses(
    grader: Grader, rows: list[Row], policy: str, ks: list[int], progress: Progress | None
) -> _Graded:
    triples = [(as_text(row["answer"]), row["response"], row.get("finish_reason")) for row in rows]
    grades = grader.grade_responses(triples, policy, progress)
    effects = policy_effects(triples, grades, grader, policy)
    ours = columns_of_responses(rows, grades, grader)
    return _Graded(grades, ours, _scores(rows, ours, ks), effects, differing(rows, grades, grader, policy))


def _stated(path: Path, reading: Reading) -> AnswerFile | None:
    """The file as another tool wrote it, or any table; None for JSON Lines of our own form that need no reading."""
    if reading == NOTHING_SAID and path.suffix == ".jsonl" and set(NEEDED) & set(read(path)[0][1]):
        return None
    return read_answers(path, reading)


def policy_for(rows: Sequence[Row]) -> str:
    """The extraction policy of a file that names none: letter where every gold is a letter, else boxed_last."""
    golds = {as_text(row["answer"]).strip() for row in rows}
    return "letter" if all(re.fullmatch(r"\(?[A-H]\)?", gold) for gold in golds) else "boxed_last"


def _explained(grader: Grader, row: Row, policy: str | None) -> Explanation:
    gold, response = (row["gold"], row["prediction"]) if policy is None else (row["answer"], row["response"])
    return grader.explain(as_text(gold), as_text(response), policy)


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
