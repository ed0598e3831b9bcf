r"""`rlvr grade FILE`: verdicts and scores for existing answers, as JSON Lines.

Rows hold `answer` (or `gold`) and `response`; several rows with one `problem_id` are its samples, and without it each
row is a problem of its own. With `answers=True` they hold `gold` and `prediction`, bare answers. A `finish_reason`
("stop", "length" or null) is used; an `expected` (true or false) is compared with our verdicts, per `source` where rows
name one. Other columns are kept.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

from evals.answer_files.formats import NEEDED, format_of
from evals.answer_files.graded import Graded, pieces
from evals.answer_files.reading import NOTHING_SAID, AnswerFile, Reading, read_answers
from evals.answer_files.report import Report, Stated, agreements
from evals.answer_files.rows import Row, as_text, checked, read
from evals.answer_files.table import ParquetColumns, check_target, write
from evals.grading import LIMIT_S, Conventions, Explanation, Grader, Progress
from evals.grading.equivalence import DEFAULT
from evals.grading.extraction import POLICIES

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

    JSON Lines of our own form are read three times (to check, grade and write) and never held in memory as a whole; the
    other formats are.

    Args:
        path: the file. answers: rows are pairs of bare answers instead of responses.
        out: where to write the rows in input order with our columns added (see `evals.answer_files.table`): .jsonl or
            .parquet. `rlvr compare` reads either.
        ks: the k of pass@k and maj@k; by default the powers of two up to the fewest samples of a problem.
        policy: of extraction (`evals.grading.extraction`); None for boxed_last, or for letter where every gold is a
            letter of a multiple choice.
        conventions: what counts as the same answer (`evals.grading.Conventions`).
        workers, limit_s: see `evals.grading.Grader`.
        explain: numbers of rows, from 1, whose verdicts are explained.
        columns: our name -> the file's, for a table of another form (`evals.answer_files.formats`).
        reading: all facts that the file does not state (`evals.answer_files.reading.Reading`), its columns included.
        progress: called with (done, all) rows.
    Raises:
        ValueError: before anything is graded: a bad line (with its number and field), an unknown suffix of `out`, or an
            impossible k.
        OSError: the file cannot be read, or `out` cannot be written.
    """
    if reading is not None and columns:
        raise ValueError(
            f"columns={dict(columns)} and a reading: expected one of them; a Reading has columns of its own"
        )
    path, reading = Path(path), reading or Reading(columns or {})
    target = None if out is None else check_target(Path(out))
    file = _File(path, answers, None if answers else _stated(path, reading))
    parquet = ParquetColumns(path, answers) if target and target.suffix == ".parquet" else None
    asked = _asked(file, policy, ks, explain, parquet)
    with (
        Grader(workers=workers, limit_s=limit_s, conventions=conventions) as grader,
        TemporaryFile("w+", encoding="utf-8", dir=target.parent) if target else nullcontext() as kept,
    ):
        graded = Graded(grader, asked.policy, asked.rows, kept)
        explained: dict[int, Row] = {}
        for piece in pieces(file.rows()):
            explained |= {n: piece[n - 1 - len(graded)] for n in explain if 0 < n - len(graded) <= len(piece)}
            graded.add(piece, progress)
        explanations = [_explained(grader, explained[number], asked.policy) for number in explain]
        if target is not None:
            write(target, graded.beside(file.rows()), parquet)
        return _report(file, asked, graded, explanations, target)


class _File(NamedTuple):
    """Its rows, read again for each iteration; `stated`: what another tool's file holds, where it is one."""

    path: Path
    answers: bool
    stated: AnswerFile | None

    def rows(self) -> Iterator[Row]:
        """Each row once it is checked."""
        numbered = read(self.path) if self.stated is None else enumerate(self.stated.rows, 1)
        return checked(self.path, numbered, self.answers)


class _Asked(NamedTuple):
    """Facts about all rows that grading needs. For pairs: no samples, no ks, no policy."""

    rows: int
    samples: Counter[str]  # of each problem
    ks: Sequence[int]
    policy: str | None


def _asked(
    file: _File, policy: str | None, ks: Sequence[int] | None, explain: Sequence[int], parquet: ParquetColumns | None
) -> _Asked:
    """Raise ValueError if something cannot be graded, measured, explained or written."""
    count, samples, letters = 0, Counter[str](), True
    for piece in pieces(file.rows()):
        count += len(piece)
        if parquet is not None:
            parquet.add(piece)
        if not file.answers:
            samples.update(str(row["problem_id"]) for row in piece)
            letters = letters and policy_for(piece) == "letter"
    wanted = [] if file.answers else _ks(samples, ks)
    for number in explain:
        if not 1 <= number <= count:
            raise ValueError(f"explain is {number}; expected 1 to {count}, the number of a row")
    if policy is not None and policy not in POLICIES:
        raise ValueError(f"extraction policy {policy!r} is unknown; expected one of {', '.join(POLICIES)}")
    used = None if file.answers else policy or ("letter" if letters else "boxed_last")
    return _Asked(count, samples, wanted, used)


def _report(file: _File, asked: _Asked, graded: Graded, explanations: list[Explanation], target: Path | None) -> Report:
    return Report(
        file=str(file.path),
        rows=asked.rows,
        problems=len(asked.samples) or None,
        samples=(min(asked.samples.values()), max(asked.samples.values())) if asked.samples else None,
        verdicts=graded.verdicts(),
        unscored_reasons=graded.unscored_reasons(),
        scores=graded.scores(asked.ks),
        agreement=agreements(graded.agreements),
        out=None if target is None else str(target),
        policy=asked.policy,
        policies=graded.effects,
        explanations=explanations,
        stated=None if file.stated is None else Stated.of(file.stated),
        differing=graded.differing,
    )


def _stated(path: Path, reading: Reading) -> AnswerFile | None:
    """The file of another tool, or any table; None for JSON Lines of our own form."""
    if reading == NOTHING_SAID and path.suffix == ".jsonl":
        first = next(read(path))[1]
        if format_of(first) in (None, "rows", "gold_rows", "answer_rows") and set(first) & {*NEEDED, "gold"}:
            return None
    return read_answers(path, reading)


def policy_for(rows: Sequence[Row]) -> str:
    """The extraction policy of a file that names none: letter if every gold is a letter, else boxed_last."""
    golds = {as_text(row["answer"]).strip() for row in rows}
    return "letter" if all(re.fullmatch(r"\(?[A-H]\)?", gold) for gold in golds) else "boxed_last"


def _explained(grader: Grader, row: Row, policy: str | None) -> Explanation:
    gold, response = (row["gold"], row["prediction"]) if policy is None else (row["answer"], row["response"])
    return grader.explain(as_text(gold), as_text(response), policy)


def _ks(samples: Counter[str], ks: Sequence[int] | None) -> list[int]:
    fewest = min(samples.values())
    if ks is None:
        return [k for k in _COMMON_KS if k <= fewest]
    for k in ks:
        if not 1 <= k <= fewest:
            raise ValueError(f"k is {k}; expected 1 to {fewest}, the fewest samples of a problem in the file")
    return list(ks)
