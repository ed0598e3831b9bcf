"""The evidence of an audit in graded responses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from evals.audit.evidence import NOT_COLUMNS
from evals.files import text_sha256

if TYPE_CHECKING:
    from evals.answer_files.reading import AnswerFile
    from evals.answer_files.sample import Sample
    from evals.grading import Grade, Grader, Response

LONG = 100  # characters of a response: two that are alike are copies
_ANSWERED = re.compile(r"\\(?:boxed|fbox)|</answer>|####|answer\b[^\n]{0,20}?(?:\bis\b|:|=)", re.IGNORECASE)
# a gold that is a name or a sentence, and no mathematics
WORDS = re.compile(r"(?=.*[^\W\d_]{4})[^\W\d_][^\d\\$=+^_{}]*")
LETTERS = "ABCDEFGHIJ"  # the options that `evals.grading.letters` reads
CONVENTION = 0.8  # this share of the correct responses states it so: a response without it has no answer


def graded(rows: Sequence[Sample], grader: Grader) -> pd.DataFrame:
    """Verdicts of responses: `problem_id`, `label` (theirs), `ours`, `strict`, `truncated`, as `Evidence` takes them.
    Where the file cut its gold (`gold_cut`), a verdict against it says nothing, and the label stands.

    Args:
        rows: of `evals.answer_files.reading.read_answers`.
    """
    from evals.answer_files.differing import gold_is_cut

    table, grades = by_policy(rows, grader, ("boxed_strict", "answer_tag", "qwen"), any_form=True)
    for column, policy in (("strict", "boxed_strict"), ("ours", "ours")):
        cut = pd.Series([gold_is_cut(row, grade.answer) for row, grade in zip(rows, grades[policy], strict=True)])
        before, table[column] = table[policy], table[policy].mask(cut, table["label"])
    table = table.assign(gold_cut=cut & (before != table["ours"]))
    return table.drop(columns=["boxed_strict", "answer_tag", "qwen"])


def programs(file: AnswerFile) -> bool:
    """Whether the responses of a file are programs."""
    from evals.code_execution.program_grader import is_gold

    return all(is_gold(row.gold) for row in file.rows)


def graded_programs(file: AnswerFile) -> pd.DataFrame:
    """As `graded`, of programs: `ours` by the policy of the file's format, `strict` by the last block in a closed fence
    where it is chat, else the same."""
    from evals.code_execution.program_grader import ProgramGrader
    from evals.grading.reasoning import graded_row

    used = file.policy or "program"
    parts = [graded_row(row.exchange) for row in file.rows]
    with ProgramGrader() as grader:
        grades = {
            column: grader.grade_responses(parts, policy)
            for column, policy in (("ours", used), ("strict", "program_fenced" if used == "program" else used))
        }
    table = _labels(file.rows).join(
        pd.DataFrame({name: _as_numbers(grades_of_policy) for name, grades_of_policy in grades.items()})
    )
    table["truncated"] = [float(finish == "length") for _, _, finish in parts]
    return table.astype(dict.fromkeys(("label", "ours", "strict"), float))


def by_policy(
    rows: Sequence[Sample], grader: Grader, policies: Sequence[str], any_form: bool = False
) -> tuple[pd.DataFrame, dict[str, list[Grade]]]:
    """Their labels, and our verdicts under each policy of extraction (`answer_tag` and `qwen` among them) and on the
    answer wherever it stands (`ours`), as 1, 0 or missing; and the grades.

    A thought that is never closed is truncated, and the box in it is the answer for `ours`, as it is for graders that
    read the whole response.

    Args:
        any_form: `ours` also reads the letters of a multiple choice and bare answers, as `rlvr grade` would.
    """
    from evals.answer_files.differing import anywhere
    from evals.answer_files.policies import are_letters
    from evals.grading.reasoning import graded_row

    responses = [row.exchange for row in rows]
    parts = [graded_row(row, grader.reasoning) for row in responses]
    grades = {policy: grader.grade_responses(responses, policy) for policy in policies}
    letters = any_form and are_letters(row.gold for row in rows)
    read = grader.grade_responses(responses, "letter") if letters else anywhere(grades["answer_tag"], grades["qwen"])
    our_grades = [_elsewhere(grade, row, grader, any_form) for grade, row in zip(read, responses, strict=True)]
    our_grades = _by_option(rows, our_grades, grader) if any_form else our_grades
    grades["ours"] = our_grades
    columns: dict[str, Any] = {
        "truncated": [float(finish == "length") for _, _, finish in parts],
        "answer": [row.their_answer or grade.answer for row, grade in zip(rows, our_grades, strict=True)],
        "exchange": [text_sha256(f"{gold}\0{response}") for gold, response, *_ in responses],
        "long": [len(response) >= LONG for _, response, *_ in responses],
        **{policy: _as_numbers(of_policy) for policy, of_policy in grades.items()},
    }
    table = _labels(rows).join(pd.DataFrame(columns)).astype(dict.fromkeys(("label", *grades), float))
    stated = pd.Series([_ANSWERED.search(response) is not None for _, response, *_ in responses])
    unknown = pd.Series([finish is None for _, _, finish in parts])
    correct = table["label"] == 1
    formless = ~stated & ~correct if stated[correct].mean() >= CONVENTION else stated & False
    in_words = [WORDS.fullmatch(row.gold) is not None for row in rows]
    return table.assign(silent=unknown & (table["answer"].isna() | formless), in_words=in_words), grades


def _elsewhere(grade: Grade, row: Response, grader: Grader, any_form: bool) -> Grade:
    """The grade, or that of the whole of a bare response (`any_form`), if this is right or the grade has no answer.
    Without an answer in both, the grade of the box in a thought that is never closed."""
    from evals.answer_files.policies import is_bare
    from evals.grading.reasoning import graded_row
    from evals.grading.verdicts import Verdict

    gold, part, _ = graded_row(row, grader.reasoning)
    if any_form and is_bare(part, len(str(gold).split())):
        [whole] = grader.grade_responses([row], "whole")
        if grade.answer is None or whole.verdict == Verdict.CORRECT:
            return whole
    if grade.answer is not None or part == row[1]:
        return grade
    [boxed] = replace(grader, reasoning="whole").grade_responses([row], "boxed_last")
    return grade if boxed.answer is None else boxed


def _by_option(rows: Sequence[Sample], grades: Sequence[Grade], grader: Grader) -> list[Grade]:
    """The grades, or where the response names the letter of the option that is the gold, the grade of this letter."""
    from evals.grading.verdicts import Verdict

    letters = {place: letter for place, row in enumerate(rows) if (letter := _letter_of_gold(row))}
    chosen = grader.grade_responses([(letter, *rows[n].exchange[1:]) for n, letter in letters.items()], "letter")
    right = {n: grade for n, grade in zip(letters, chosen, strict=True) if grade.verdict == Verdict.CORRECT}
    return [right.get(place, grade) for place, grade in enumerate(grades)]


def _letter_of_gold(row: Sample) -> str | None:
    """The letter of the option whose text is the gold."""
    lists = [row.extras.get(name) for name in ("choices", "options")]
    texts = next(([str(text) for text in options] for options in lists if isinstance(options, list)), [])
    return LETTERS[texts.index(row.gold)] if texts.count(row.gold) == 1 and len(texts) <= len(LETTERS) else None


def _labels(rows: Sequence[Sample]) -> pd.DataFrame:
    """`problem_id`, the authors' `label`, and `benchmark` where a row names one."""
    columns: dict[str, Any] = {
        "problem_id": [row.problem_id for row in rows],
        "label": [None if row.expected is None else float(row.expected) for row in rows],
    }
    if any(row.benchmark for row in rows):
        columns["benchmark"] = [str(row.benchmark) for row in rows]
    if all(row.problem for row in rows):
        columns["problem"] = [f"{row.problem}\0{row.gold}" for row in rows]  # a picture may differ with the gold
    for name in rows[0].extras if rows else ():  # what else a plain table says of its samples
        values = [row.extras.get(name) for row in rows]
        if name in (*NOT_COLUMNS, *_OF_A_RESPONSE, *columns) or not all(
            isinstance(value, str | int | float) for value in values
        ):
            continue
        columns[name] = [str(value) for value in values] if any(isinstance(value, str) for value in values) else values
    return pd.DataFrame(columns)


_OF_A_RESPONSE = (
    *("response", "expected", "finish_reason", "tokens", "their_answer", "sampling_error", "gold", "question", "id"),
    *("step", "train_seed", "benchmark"),
)


def _as_numbers(grades: Sequence[Grade]) -> list[bool | None]:
    from evals.grading.verdicts import Verdict

    return [None if g.verdict == Verdict.UNSCORED else g.verdict == Verdict.CORRECT for g in grades]
