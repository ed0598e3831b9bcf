"""Read files of answers: their samples, and how they were generated. Errors name missing facts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import ValidationError

from evals.answer_files import columns as our_columns
from evals.answer_files.containers import contents, is_scores, without_samples
from evals.answer_files.formats import format_of, nearest
from evals.answer_files.formats.ours import Columns, Rows
from evals.answer_files.formats.schema import About, Format, faults
from evals.answer_files.golds import Golds, as_asked, split_golds
from evals.answer_files.items import select
from evals.answer_files.labels import as_label
from evals.answer_files.names import VERDICTS, named
from evals.answer_files.prose import read_prose
from evals.answer_files.sample import Sample, settled
from evals.answer_files.their_scores import TheirScore, recomputed
from evals.answer_files.told import file_notes
from evals.answer_files.values import Unread, short
from evals.answer_files.what_to_type import (
    argument,
    columns_to_name,
    missing_gold,
    missing_response,
    no_verdict,
    unread,
)
from evals.code_execution.program_grader import is_gold
from evals.errors import UsageError
from evals.paths import ABSENT, ROW, counting_kept, reach, refuse_mixed
from evals.suggest import expected

LOST = "gold: the file's is empty; the tool that wrote it left nothing of it"


class UnknownFormatError(UsageError):
    """The rows of a file have the fields of no known format."""


class NoGoldError(UsageError):
    """A row has no gold."""


@dataclass(frozen=True)
class Reading:
    """A user's facts about a file that it does not state.

    Args:
        columns: our name -> the file's (dots reach into objects: problem_id -> doc.id); `gold` is also called `answer`.
        gold: a table with the golds: `answer`, and `problem_id` or `problem` as the key, or what `columns` calls them;
            a row that it lacks keeps its own gold.
        benchmark: the benchmark's name, if the file has none or another.
        label: the one of several verdicts of the authors to compare with ours.
        label_threshold: their verdict is correct from this number on; None: 1 is correct, 0 and -1 are not, and another
            number is an error.
        golds: of several golds of a problem, "any" is right, or "all" are one answer, a list; None: as the tool that
            wrote the file counts them (`About.golds`), and an error where that is not known. "any:/" splits a gold at
            each /.
        rows: conditions on the rows that are read (`evals.paths.kept`).
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    gold: Path | None = None
    benchmark: str | None = None
    label: str | None = None
    label_threshold: float | None = None
    golds: str | None = None
    rows: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping):
            raise UsageError(f"columns is {self.columns!r}. Expected our column -> theirs, as {{'answer': 'gt'}}")
        if "answer" in self.columns and "gold" in self.columns:
            raise UsageError("columns: expected answer or gold, which are one, got both")
        ours_of = {"gold": "answer"}
        if "correct" not in self.columns:  # no table of verdicts, which has ids of its own
            ours_of["id"] = "problem_id"
        columns = {ours_of.get(column, column): source for column, source in self.columns.items()}
        for column in columns:
            if column not in our_columns.READ:
                known = expected(column, our_columns.READ)
                raise UsageError(f"columns={column}:{columns[column]}: {known}, then the file's column")
        object.__setattr__(self, "columns", columns)
        if self.golds not in (None, "any", "all") and not re.fullmatch("any:.+", self.golds or ""):
            raise UsageError(f"golds is {self.golds!r}. Expected any, all, or any:/ where / stands between the golds")

    @property
    def rule(self) -> str | None:
        """How several golds count: "any", "all", or as the tool counts them."""
        return None if self.golds is None else self.golds.partition(":")[0]

    @property
    def between(self) -> str:
        """The text between the golds that stand in one text; empty where each is one."""
        sign = (self.golds or "").partition(":")[2]
        return {"\\n": "\n", "\\t": "\t"}.get(sign, sign)

    @property
    def names_all(self) -> bool:
        """Whether the columns name all that a file must have."""
        return {"answer", "response"} <= self.columns.keys()


NOTHING_SAID = Reading()


@dataclass(frozen=True)
class AnswerFile:
    """Attributes:
    format: the name of the first file's format; "columns" where the user named them.
    rows: the samples of all files, in their order.
    sizes: the name and the number of samples of each file, with its format, who writes such files, and what is to be
        said of how it was read (`evals.answer_files.told`).
    label: the verdict taken as the authors', if there is one; `labels`: all of them.
    recomputed: of each label whose values are all verdicts or missing, the score.
    several: rows whose file gives several golds; `golds` says whether any of them is right, or all together.
    labelled: rows whose label is a verdict; the others have `expected` None.
    empty: rows whose response is an empty text, as a CSV's empty cell: it has no answer.
    errored: rows without a whole response (`sampling_error` says why). lost: rows whose gold the tool lost.
    unread: columns of a plain file that may be verdicts; expected:NAME in columns= reads one.
    columns: what the user named.
    policy: of extraction, where the responses of the format are programs.
    """

    format: str
    rows: list[Sample] = field(repr=False)
    sizes: tuple[tuple[str, int, str, str, Sequence[str]], ...] = ()
    label: str | None = None
    labels: tuple[str, ...] = ()
    recomputed: Mapping[str, TheirScore] = field(default_factory=dict)
    labelled: int = 0
    errored: int = 0
    lost: int = 0
    empty: int = 0
    several: int = 0
    golds: str | None = None
    unread: tuple[str, ...] = ()
    policy: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def note(self) -> str | None:
        """How to compare with the authors' verdicts, where there are some and none is compared."""
        if self.unread and not self.labels:
            names = ", ".join(self.unread)
            verdict = next(iter(named(self.unread, VERDICTS)), None)
            if verdict is None:
                return f"columns of true and false: {names}. If one is their verdict, add expected:NAME to columns="
            typed = argument({**self.columns, "expected": verdict})
            return f"{typed} compares with their verdict; columns: {names}"
        if len(self.labels) < 2 or self.label is not None:
            return None
        return f"the file has several verdicts on a sample; label=NAME compares one: {', '.join(self.labels)}"


@dataclass(frozen=True)
class _Part:
    """One file: its format, and its samples with the number of the row that each is from."""

    path: Path
    form: type[Format]
    objects: Sequence[Mapping[str, object]]
    samples: Sequence[tuple[int, Sample]]
    chosen: str  # which rows were read, of those that the file has

    @property
    def tool(self) -> str:
        """Who writes such files; empty where anyone does."""
        return "" if self.plain else self.form.about.tool

    @property
    def plain(self) -> bool:
        """Whether it is of no tool's format."""
        return issubclass(self.form, Rows)

    def notes(self, reading: Reading) -> list[str]:
        """The notes on how its rows were read."""
        chosen = [self.chosen] if self.chosen else []
        if not self.plain:
            return chosen
        gold = "gold" if "gold" in self.objects[0] else "answer"
        gold, response = (
            reading.columns.get(column, usual) for column, usual in (("answer", gold), ("response", "response"))
        )
        return chosen + file_notes(self.objects, self.samples, gold, response)


def read_answers(path: Path | Sequence[Path], reading: Reading = NOTHING_SAID) -> AnswerFile:
    """Read files of any format of `evals.answer_files.formats`, found by the types of their rows, or with `columns` any
    table. The rows of several files are samples of the same problems.

    Raises:
        UsageError: no known format, or a row lacks something; the message says what is there and what to give.
        OSError: it cannot be read.
    """
    paths = [path] if isinstance(path, Path) else list(path)
    golds = None if reading.gold is None else Golds.read(reading.gold, reading.columns)
    parts = [_part(part_path, reading, golds, paths) for part_path in paths]
    if golds is not None and not golds.used:
        first = short(parts[0].samples[0][1].problem_id)
        raise UsageError(f"gold={reading.gold} has no answer for any problem of {paths[0]}, such as {first}")
    with counting_kept(reading.rows):
        _check_golds(parts)
    about = parts[0].form.about
    samples = [sample for part in parts for _, sample in part.samples]
    labels, label = _choose_label(paths[0], samples, reading.label, about.wanted)
    with counting_kept(reading.rows):
        labelled = [_labelled(part, number, each, label, reading) for part in parts for number, each in part.samples]
    several = sum(sample.several for sample in labelled)
    errors = Counter(sample.sampling_error for sample in labelled)
    return AnswerFile(
        about.name,
        labelled,
        tuple(
            (str(part.path), len(part.samples), part.form.about.name, part.tool, part.notes(reading)) for part in parts
        ),
        label,
        labels,
        recomputed(labelled, reading.label_threshold),
        labelled=sum(sample.expected is not None for sample in labelled),
        errored=len(labelled) - errors[None] - errors[LOST],
        lost=errors[LOST],
        empty=sum(not sample.response and sample.sampling_error is None for sample in labelled),
        several=several,
        golds=(reading.rule or about.golds) if several else None,
        unread=unread(parts[0].objects, reading.columns) if parts[0].plain and label is None else (),
        policy=about.policy,
        columns=reading.columns,
    )


def _part(path: Path, reading: Reading, golds: Golds | None, paths: Sequence[Path]) -> _Part:
    """A file with the samples of its rows.

    Args:
        paths: all files that are read.
    """
    named = reading.columns
    if golds is not None:  # the answer may be a column of their file alone
        named = {column: source for column, source in named.items() if column != "answer"}
    objects, note = select(path, contents(path, named, reading.rows), named, reading.rows)
    with counting_kept(reading.rows):
        return _of_rows(path, objects, note, named, reading, golds, paths)


def _of_rows(
    path: Path,
    objects: Sequence[Mapping[str, object]],
    note: str,
    named: Mapping[str, str],
    reading: Reading,
    golds: Golds | None,
    paths: Sequence[Path],
) -> _Part:
    """The part of these rows of a file.

    Args:
        named: the columns that the rows have, of `reading.columns`. note: a sentence about which rows they are.
    """
    form = _form(path, objects, reading, paths)
    plain = issubclass(form, Rows)
    if plain:
        refuse_mixed(path, objects, {column: source for column, source in named.items() if source != ROW})
        our_columns.refuse_reworded(path, objects, named)
    if all(reach(row, reading.columns.get("answer", "")) is ABSENT for row in objects):
        reading = replace(reading, columns=named)
    samples: list[tuple[int, Sample]] = []
    for number, row in enumerate(objects, 1):
        try:
            of_row = _samples(form, row, number, reading)
            if plain and reading.golds is None and golds is None:
                our_columns.refuse_columnar(row, reading.columns, of_row)
            for sample in of_row:
                sample = _with_golds(sample if golds is None else golds.fill(sample), row, form.about, reading)
                if reading.benchmark is not None:
                    sample = replace(sample, benchmark=reading.benchmark)
                samples.append((number, settled(sample if is_gold(sample.gold) else read_prose(sample))))
        except ValueError as error:
            kind = NoGoldError if isinstance(error, NoGoldError) else UsageError
            raise kind(f"{path}, row {number}: {error}") from error
    if form.about.name == "lm_eval":
        samples = _without_filters(objects, samples)
    return _Part(path, form, objects, samples, note)


def _with_golds(sample: Sample, row: Mapping[str, object], about: About, reading: Reading) -> Sample:
    """The sample with its golds as they count. Raises UsageError if its row has none."""
    if not sample.golds and about.loses_golds:
        sample = replace(sample, golds=("",), sampling_error=sample.sampling_error or LOST)
    if isinstance(sample.golds, Unread):
        raise UsageError(sample.golds.why)
    if not sample.golds:
        raise NoGoldError(missing_gold(row))
    return as_asked(split_golds(sample, reading.between), reading.rule, about.golds)


def _form(path: Path, objects: Sequence[Mapping[str, object]], reading: Reading, paths: Sequence[Path]) -> type[Format]:
    """The format of a file: `Columns` where those of the user decide.

    Raises:
        UsageError: it has none, and no columns are named.
    """
    first = objects[0]
    if reading.names_all:
        return Columns
    form = format_of(first)
    if form is not None or reading.columns or (reading.gold is not None and "response" in first):
        return form or Columns
    if len(objects) == 1 and is_scores(first, words=True):
        raise UsageError(f"{path}: {without_samples(first)}")
    near = nearest(first)
    raise UnknownFormatError(
        f"{path}: no known format has these fields"
        + (f" ({near})" if near else "")
        + f". {columns_to_name(objects, lambda columns: _reads(paths, reading, columns), reading.gold is not None)}"
    )


def _reads(paths: Sequence[Path], reading: Reading, columns: Mapping[str, str]) -> list[Sample] | None:
    """The samples of all files with columns; None where one cannot be read whole."""
    try:
        return read_answers(paths, replace(reading, columns=columns)).rows
    except UsageError:
        return None


def _samples(form: type[Format], row: Mapping[str, object], number: int, reading: Reading) -> list[Sample]:
    """The samples of a row, with what the user's columns say of it.

    Raises:
        UsageError: the row is not of the format, or lacks a column.
    """
    columns = reading.columns
    numbered = columns.get("problem_id") == ROW and ROW not in row
    if numbered:
        columns = {column: path for column, path in columns.items() if column != "problem_id"}
    label = columns.get("expected", "expected")
    if issubclass(form, Rows):
        values = our_columns.by_name(row, columns)
        values |= our_columns.given(row, columns, values)
        if "response" not in values:
            raise UsageError(missing_response(row))
        samples = our_columns.with_values([our_columns.sample_of(row, columns)], values, label)
    else:
        try:
            made = form.model_validate(row)
        except ValidationError as error:
            raise UsageError(f"{faults(error, row)} (the file was read as {form.about.name})") from error
        samples = made.samples()
        read = {name: value for name, value in vars(samples[0]).items() if value is not None} if samples else {}
        values = our_columns.given(row, columns, read)
        samples = our_columns.with_values(samples, values, label, form.about.columnar) if samples else []
    if reading.gold is not None and any(not (sample.problem_id or sample.problem) for sample in samples):
        raise UsageError(
            f"the row has no problem_id and no problem, so no gold of {reading.gold} is found. Type "
            "columns=problem_id:PATH or columns=problem:PATH. If the rows are in the order of the golds, write their "
            "numbers into both files first"
        )
    return [
        replace(sample, problem_id=str(number) if numbered else sample.problem_id or sample.problem or str(number))
        for sample in samples
    ]


def _check_golds(parts: Iterable[_Part]) -> None:
    """Raise UsageError if two rows of one problem have different golds."""
    golds: dict[tuple[str, str], tuple[tuple[str, ...], str]] = {}
    for part in parts:
        for number, sample in part.samples:
            gold, at = golds.setdefault(sample.problem_of, (sample.golds, f"row {number}"))
            if gold != sample.golds:
                raise UsageError(
                    f"{part.path}, row {number}: problem {short(sample.problem_id)} has the answer "
                    f"{short(sample.to_grade)}, but {at} says {short(gold if len(gold) > 1 else gold[0])}. If each row "
                    "is a problem of its own, add problem_id:row to columns="
                )


def _without_filters(
    objects: Sequence[Mapping[str, object]], samples: Sequence[tuple[int, Sample]]
) -> list[tuple[int, Sample]]:
    """One row a sample: lm-eval writes a sample again for each filter, with another verdict."""
    samples_by_place: dict[tuple[str, str, int], tuple[int, Sample]] = {}
    turn: dict[tuple[str, str, str], int] = {}
    for number, sample in samples:
        key = (sample.problem_id, sample.response, str(objects[number - 1].get("filter")))
        turn[key] = turn.get(key, -1) + 1  # equal responses of one filter are different samples
        at = (*key[:2], turn[key])
        row, first = samples_by_place.get(at, (number, sample))
        labels, answers = {**first.labels, **sample.labels}, {**first.answers, **sample.answers}
        samples_by_place[at] = row, replace(first, labels=labels, answers=answers)
    return list(samples_by_place.values())


def _choose_label(
    path: Path, samples: Sequence[Sample], name: str | None, wanted: Sequence[str]
) -> tuple[tuple[str, ...], str | None]:
    """(names of the authors' verdicts, the one that becomes `expected`): the named one, the only one, or of those that
    the format wants the first that every row has, else the first."""
    names = tuple(dict.fromkeys(label for sample in samples for label in sample.labels))
    if name is not None and name not in names:
        remedy = expected(name, names) if names else f"the file has none; columns=expected:{name} reads a column"
        raise UsageError(f"{path}: label={name}: no such verdict on a sample. {remedy}")
    if name is not None or len(names) < 2:
        return names, name or next(iter(names), None)
    wanted = [label for label in wanted if label in names]
    whole = (label for label in wanted if all(sample.labels.get(label) is not None for sample in samples))
    return names, next(whole, next(iter(wanted), None))


def _labelled(part: _Part, number: int, sample: Sample, label: str | None, reading: Reading) -> Sample:
    """The sample with the verdict that is compared, and what was extracted for it."""
    if label is None:
        return sample
    try:
        verdict = as_label(sample.labels.get(label), reading.label_threshold)
    except ValueError as error:
        advice = f". {no_verdict(part.objects[number - 1])}" if part.plain else ""
        raise UsageError(f"{part.path}, row {number}: {label}: {error}{advice}") from error
    their_answer = sample.answers.get(label) if sample.answers else sample.their_answer
    return replace(sample, expected=verdict, their_answer=their_answer)
