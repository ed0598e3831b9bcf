"""The golds of samples: from another file, and how several count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from evals.answer_files.containers import contents
from evals.answer_files.formats.programs import is_program, test_of
from evals.answer_files.names import GOLDS, UNSURE_GOLDS, named
from evals.answer_files.sample import Sample
from evals.answer_files.values import Unread, golds_of, short
from evals.data.program_rows import humaneval_plus, mbpp_plus
from evals.errors import UsageError
from evals.paths import ABSENT, reach

_TEXTS = ("problem", "prompt", "question")
_ByRow = dict[int, tuple[str, ...]]


@dataclass
class Golds:
    """The golds of another file, by the problem's id or else by its text.

    Attributes:
        by_id, by_text: the golds of each row with this key, by the row's number.
        used: a sample was found in it.
    """

    file: Path
    by_id: Mapping[str, _ByRow]
    by_text: Mapping[str, _ByRow]
    used: bool = field(default=False)

    @classmethod
    def read(cls, file: Path, columns: Mapping[str, str]) -> Golds:
        """The golds of a file.

        Args:
            columns: our name -> the file's.
        Raises:
            UsageError: a row has no gold, or no key.
        """
        objects = contents(file)
        rows = [_as_gold(row, columns) for row in objects]
        for names in (("answer",), ("problem_id", *_TEXTS)):
            shown = ("answer", "gold") if names == ("answer",) else names
            if lacking := [number for number, row in enumerate(rows, 1) if not {*names} & {*row}]:
                row = objects[lacking[0] - 1]
                path = next(iter(named(row, GOLDS, UNSURE_GOLDS)), "PATH")
                advice = f". Add answer:{path} to columns=" if names == ("answer",) else ""
                raise UsageError(
                    f"gold={file}: expected a column {' or '.join(shown)} in every row, found {', '.join(row)} in "
                    f"row {lacking[0]}{advice}"
                )
        golds = [(row, golds_of(row["answer"])) for row in rows]
        if empty := [number for number, (_, golds_of_row) in enumerate(golds, 1) if not golds_of_row]:
            row, golds_of_row = golds[empty[0] - 1]
            why = f"answer is {short(row['answer'])}. Expected a gold answer"
            raise UsageError(
                f"gold={file}, row {empty[0]}: {golds_of_row.why if isinstance(golds_of_row, Unread) else why}. "
                f"{len(empty)} of {len(golds)} rows have none. Delete them, and read with rows= the responses to others"
            )
        by_id: dict[str, _ByRow] = {}
        by_text: dict[str, _ByRow] = {}
        for number, (row, golds_of_row) in enumerate(golds, 1):
            if "problem_id" in row:
                by_id.setdefault(str(row["problem_id"]), {})[number] = golds_of_row
            for text in (row[key] for key in _TEXTS if key in row):
                by_text.setdefault(_plain(text), {})[number] = golds_of_row
        return cls(file, by_id, by_text)

    def fill(self, sample: Sample) -> Sample:
        """The sample with its gold of this file, or where there is none, with its own.

        Raises:
            UsageError: it has none of its own either, or rows of the file give it different ones.
        """
        rows = self.by_id.get(sample.problem_id, self.by_text.get(_plain(sample.problem), {}))
        self.used = self.used or bool(rows)
        if not rows and not sample.golds:
            ids = f". Its ids are {', '.join([*self.by_id][:3])}, ..." if self.by_id else ""
            raise UsageError(f"gold={self.file} has no answer for problem {short(sample.problem_id)}{ids}")
        first, golds = next(iter(rows.items()), (0, sample.golds))
        for number, golds_of_row in rows.items():
            if golds_of_row != golds:
                gold, other_gold = (short(", ".join(texts)) for texts in (golds, golds_of_row))
                raise UsageError(
                    f"gold={self.file}: problem {short(sample.problem_id)} has the answer {gold} in row {first} and "
                    f"{other_gold} in row {number}. Delete one of these rows. If they are two problems, give each its "
                    "own problem_id"
                )
        return replace(sample, golds=golds)


def _as_gold(row: Mapping[str, object], columns: Mapping[str, str]) -> dict[str, object]:
    """A row of golds, its columns by our names. A task of HumanEval, HumanEval+ or MBPP+ as published has its test for
    one."""
    named = dict(row)
    for column in {"problem_id", "problem", "answer"} & {*columns}:
        if column not in named and (value := reach(row, columns[column])) is not ABSENT:
            named[column] = value
    if "answer" not in named and "gold" in named:
        named["answer"] = named["gold"]
    if "problem_id" not in named and "id" in named:
        named["problem_id"] = named["id"]
    if "answer" in named or "test" not in named:
        return named
    if is_program(named):
        return {"problem_id": named["task_id"], "answer": test_of(dict(humaneval_plus(named)))}
    read = mbpp_plus(named)
    return {"problem_id": read["id"], "answer": read["answer"]}


def _plain(text: object) -> str:
    return " ".join(str(text).split())


def as_asked(sample: Sample, rule: str | None, of_tool: str | None) -> Sample:
    """The sample with its several golds as the user, or else the tool, counts them.

    A tool may list a gold's normalisations beside it, as 41 beside -41 and `frac12` beside `\\frac12`: where nobody has
    asked for `any`, a gold that is an earlier one with characters left out is none of its own.

    Args:
        rule: how several count, as the user says. of_tool: as the file's format has it.
    Raises:
        UsageError: several differ, and it is not said how they count.
    """
    different = list(dict.fromkeys(sample.golds))
    if rule is None:
        different = [
            gold
            for at, gold in enumerate(different)
            if not any(_normalised(gold, earlier) for earlier in different[:at])
        ]
    if len(different) == 1:
        return replace(sample, golds=sample.golds[:1])
    ways = rule or of_tool
    if ways is None:
        raise UsageError(
            f"answer is {short(list(sample.golds))}, {len(different)} golds. Expected golds=any (a response is right "
            "that has one of them) or golds=all (that lists them all)"
        )
    return replace(sample, golds=tuple(different) if ways == "any" else (", ".join(different),), several=True)


def split_golds(sample: Sample, between: str) -> Sample:
    """The sample with each gold split at a text; unchanged where that is empty."""
    parts = (part.strip() for gold in sample.golds for part in gold.split(between)) if between else sample.golds
    return replace(sample, golds=tuple(filter(None, parts))) if between else sample


def _normalised(gold: str, longer: str) -> bool:
    """Whether a gold is another one with signs, commands' backslashes, braces, commas or spaces left out."""
    letters = ("".join(filter(str.isalnum, text.lower())) for text in (gold, longer))
    return len(gold) < len(longer) and len({*letters}) == 1
