r"""`rlvr grade FILE`: verdicts and scores for existing answers, as JSON Lines.

Rows hold `answer` (or `gold`) and `response`. Several rows with one `problem_id` are its samples. Without it, rows with
one `problem` are its samples. Without both, each row is a problem of its own. A `finish_reason` ("stop", "length" or
null) is used. An `expected` (true or false) is compared with our verdicts. Other columns are kept.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Literal

from evals.answer_files.conventions import convention_effects
from evals.answer_files.differing import differing
from evals.answer_files.other_form import unlike
from evals.answer_files.own import decided_by, file_of, graded_by
from evals.answer_files.policies import PolicyEffect, advice, are_letters, policy_effects, program_advice
from evals.answer_files.read import read_of
from evals.answer_files.reading import NOTHING_SAID, AnswerFile, Reading, read_answers
from evals.answer_files.report import SHOWN, GradeReport, agreement
from evals.answer_files.sample import Sample
from evals.answer_files.table import Columns, columns_of_responses, ended, with_columns
from evals.code_execution.program_grader import ProgramGrader, is_gold
from evals.code_execution.programs import POLICIES as PROGRAMS
from evals.errors import UsageError
from evals.files import write_jsonl
from evals.grading import Conventions, Explanation, Grade, Grader, Response
from evals.grading.equivalence import DEFAULT
from evals.grading.extraction import POLICIES
from evals.grading.reasoning import graded_row, has_thought
from evals.grading.verdicts import Verdict

if TYPE_CHECKING:
    from evals.slow import Count
    from evals.stats.score import Score

__all__ = ["GradeReport", "grade_file"]

_COMMON_KS = tuple(2**power for power in range(11))


def grade_file(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    out: str | os.PathLike[str] | None = None,
    ks: Sequence[int] | None = None,
    policy: str | None = None,
    reasoning: str | None = None,
    conventions: Conventions = DEFAULT,
    explain: Sequence[int] | Literal["wrong"] = (),
    reading: Reading = NOTHING_SAID,
    progress: Count | None = None,
) -> GradeReport:
    """Grade a file of JSON Lines, or of any format of `evals.answer_files.formats`. All its rows are in memory.

    Args:
        path: the file, or the folder of an evaluation of one benchmark; several are samples of the same problems.
        out: FILE.jsonl for the rows in input order with our columns added (see `evals.answer_files.table`), which
            `rlvr compare` reads.
        ks: the k of pass@k and maj@k; by default the powers of two up to the fewest samples of a problem.
        policy: of extraction (`evals.grading.extraction`). None: the policy that decided the verdicts of a file of this
            project, or the format's own. If the format has none: `program` if every gold is a program's test, `letter`
            if every gold is a letter of a multiple choice, otherwise `boxed_last`.
        reasoning: the part of a response that is graded (`evals.grading.reasoning`); None for the one that decided the
            verdicts of a file of this project, else "after".
        conventions: what counts as the same answer (`evals.grading.Conventions`).
        explain: numbers of rows, from 1, whose verdicts are explained; "wrong" for the first rows that are wrong.
        reading: what the file does not state, such as the columns of a table of another form.
        progress: called with (what is counted, done, all): rows, problems, other policies.
    Raises:
        UsageError: before anything is graded: a bad row (with its number and field), another suffix of `out`, or an
            impossible k.
        OSError: the file cannot be read, or `out` cannot be written.
    """
    paths, target = _paths(path), _target(out)
    file = read_answers(paths, reading)
    rows = file.rows
    samples = Counter(row.problem_of for row in rows)
    of_benchmarks = _ks(samples, ks)
    decided = _decided(paths, file)
    by_file, part = decided or (file.policy, "after")
    policy, reasoning = policy or by_file or policy_for(rows), reasoning or part
    policies = tuple(PROGRAMS if policy in PROGRAMS else POLICIES)
    _check_policy(policy, policies, rows)
    _check_explain(explain, policy, len(rows))

    grader = _grader(policy, conventions, reasoning)
    graded = _responses(rows, policy, reasoning)
    units = ("rows", "problems whose answers are compared", "other policies")
    of_rows, of_problems, of_policies = (progress and partial(progress, unit) for unit in units)
    grades = _with_errors(rows, grader.grade_responses(graded, policy, of_rows))
    our_columns = columns_of_responses(rows, grades, grader, graded_by(policy, reasoning, conventions), of_problems)
    if target is not None:  # before what may take as long again
        write_jsonl(target, with_columns(rows, our_columns), str)  # a Parquet file may hold images or times
    failed = {place for place, row in enumerate(rows) if row.sampling_error is not None}
    effects = policy_effects(graded, grades, grader, policy, policies, of_policies, failed)
    explanations = _explanations(explain, rows, grades, grader, policy)
    answers = {id(row): grade.answer for row, grade in zip(rows, grades, strict=True)}
    return GradeReport(
        file=", ".join(map(str, paths)),
        rows=len(rows),
        problems=len(samples),
        samples=(min(samples.values()), max(samples.values())),
        verdicts=dict(sorted(Counter(map(str, our_columns["verdict"])).items())),
        unscored_reasons=_by_kind([reason for reason in our_columns["reason"] if reason]),
        scores=_scores(rows, our_columns, of_benchmarks),
        agreement=agreement(rows, grades),
        out=None if target is None else str(target),
        policy=policy,
        reasoning=reasoning,
        thoughts=sum(has_thought(row.exchange) for row in rows),
        policies=effects,
        conventions=[] if policy in PROGRAMS else convention_effects(rows, grades, conventions),
        advice=_advice(rows, grades, effects, policy),
        explanations=explanations,
        problem_texts={n: _problem_text(rows[n - 1]) for n in explanations},
        stated=replace(file, rows=[]),
        read=read_of(file, lambda sample: answers[id(sample)]),
        note=file.note,
        empty=file.empty,
        differing=differing(rows, grades, grader, policy, decided, reasoning),
    )


def _paths(path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[Path]:
    return [file_of(Path(file)) for file in ([path] if isinstance(path, str | os.PathLike) else path)]


def _grader(policy: str, conventions: Conventions, reasoning: str) -> Grader | ProgramGrader:
    return ProgramGrader(workers=os.cpu_count() or 2) if policy in PROGRAMS else Grader(conventions, reasoning)


def _target(out: str | os.PathLike[str] | None) -> Path | None:
    """The file to write.

    Raises:
        UsageError: its name does not end in .jsonl, or its folder is missing.
    """
    target = None if out is None else Path(out)
    if target is not None and (target.suffix != ".jsonl" or not target.parent.is_dir()):
        raise UsageError(f"out is {str(out)!r}. Expected a name that ends in .jsonl, in a folder that exists")
    return target


def _decided(paths: Sequence[Path], file: AnswerFile) -> tuple[str, str] | None:
    """The policy and the part of a response that decided the verdicts of all files; None if they differ."""
    ways = {decided_by(path, file.format, file.rows) for path in paths}
    return ways.pop() if len(ways) == 1 else None


def _check_policy(policy: str, policies: Sequence[str], rows: Sequence[Sample]) -> None:
    """Raise UsageError for an unknown policy, and for a row whose answer is a program where no program is graded, or
    the other way round."""
    if policy not in policies:
        raise UsageError(f"extraction policy {policy!r} is unknown. Expected one of {', '.join(POLICIES)}")
    if strange := [n for n, row in enumerate(rows, 1) if is_gold(row.gold) is not (policy in PROGRAMS)]:
        what = "no test of a program" if policy in PROGRAMS else "the test of a program: policy=program"
        raise UsageError(f"policy={policy}: the answer of row {strange[0]} is {what}")


def _check_explain(explain: Sequence[int] | Literal["wrong"], policy: str, rows: int) -> None:
    """Raise UsageError for a row that there is not, and for programs, whose verdicts have no steps to show."""
    for number in () if explain == "wrong" else explain:
        if not 1 <= number <= rows:
            raise UsageError(f"explain is {number}. Expected 1 to {rows}, the number of a row")
    if policy in PROGRAMS and explain:
        raise UsageError("explain: expected none, the answers are programs")


def _responses(rows: Sequence[Sample], policy: str, reasoning: str) -> list[Response]:
    """Each row as the grader takes it. A program's response is cut to its graded part here."""
    return [graded_row(row.exchange, reasoning) if policy in PROGRAMS else row.exchange for row in rows]


def _explanations(
    explain: Sequence[int] | Literal["wrong"],
    rows: Sequence[Sample],
    grades: Sequence[Grade],
    grader: Grader | ProgramGrader,
    policy: str,
) -> dict[int, Explanation]:
    """Number of a row -> how it is graded, with the verdict that was counted, which knows the finish reason."""
    if not isinstance(grader, Grader):
        return {}
    if explain == "wrong":
        explain = [n for n, grade in enumerate(grades, 1) if grade.verdict is Verdict.WRONG][:SHOWN]
    explained = {
        n: (grader.explain(row.to_grade, row.response, policy, bool(row.thought_begun)), grades[n - 1])
        for n, row in ((n, rows[n - 1]) for n in explain)
    }
    return {n: replace(how, verdict=grade.verdict, reason=grade.reason) for n, (how, grade) in explained.items()}


def _advice(
    rows: Sequence[Sample], grades: Sequence[Grade], effects: Sequence[PolicyEffect], policy: str
) -> str | None:
    """The policy that reads the responses, or the form that golds and answers do not share."""
    if policy in PROGRAMS:
        return program_advice(grades, effects, policy)
    answers = [grade.answer for grade in grades if grade.answer is not None]
    correct = sum(grade.verdict is Verdict.CORRECT for grade in grades)
    by_policy = advice([row.response for row in rows], grades, effects, policy)
    return by_policy or unlike([row.gold.strip() for row in rows], answers, correct)


def _with_errors(rows: Sequence[Sample], grades: Sequence[Grade]) -> list[Grade]:
    """The grades, unscored where the engine failed or a server withheld the response."""
    return [
        grade if (why := row.sampling_error) is None else Grade(Verdict.UNSCORED, None, why)
        for row, grade in zip(rows, grades, strict=True)
    ]


def _by_kind(reasons: Sequence[str]) -> dict[str, int]:
    """The reasons by what they begin with (what a server did as it is), each with the first of its kind."""
    kinds: dict[str, list[str]] = {}
    for reason in reasons:
        kinds.setdefault(reason if reason.startswith("server:") else reason.split(":")[0], []).append(reason)
    return {alike[0] + " (the first)" * (len(set(alike)) > 1): len(alike) for alike in kinds.values()}


def policy_for(rows: Sequence[Sample]) -> str:
    """The extraction policy of a file that names none: program or letter if every gold is one, else boxed_last."""
    if all(is_gold(row.gold) for row in rows):
        return "program"
    return "letter" if are_letters({row.gold for row in rows}) else "boxed_last"


def _problem_text(row: Sample) -> str:
    """The problem of a row, for people."""
    return f"problem {row.problem_id}" + (f": {shorten(row.problem, 200)}" if row.problem else "")


def _scores(rows: Sequence[Sample], our_columns: Columns, ks: Mapping[str, Sequence[int]]) -> dict[str, list[Score]]:
    """The scores by benchmark."""
    import pandas as pd

    from evals.stats.score import score

    columns = {name: our_columns[name] for name in ("benchmark", "sample", "verdict", "answer_class", "boxed")}
    columns |= {"finish_reason": [ended(row) for row in rows]}
    table = pd.DataFrame({"problem_id": [row.problem_id for row in rows], **columns})
    return {str(name): score(of_it, ks=ks[str(name)]) for name, of_it in table.groupby("benchmark", sort=False)}


def _ks(samples: Counter[tuple[str, str]], ks: Sequence[int] | None) -> dict[str, list[int]]:
    """The k of each benchmark: those that were asked for, else the common ones that its problems' samples can give."""
    fewest: dict[str, int] = {}
    for (benchmark, _), n in samples.items():
        fewest[benchmark] = min(n, fewest.get(benchmark, n))
    if ks is None:  # pass@1 and maj@1 are avg once more
        return {benchmark: [k for k in _COMMON_KS if 1 < k <= most] for benchmark, most in fewest.items()}
    for k in ks:
        if not 1 <= k <= (most := min(fewest.values())):
            raise UsageError(f"k is {k}. Expected 1 to {most}, the fewest samples of a problem in the file")
    return {benchmark: list(ks) for benchmark in fewest}
