"""Read a file of answers: its rows, and how they were generated. Errors name missing facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from evals.answer_files.containers import contents
from evals.answer_files.formats import (
    ABSENT,
    FORMATS,
    OURS,
    READ,
    Row,
    as_label,
    format_of,
    is_program,
    problem_of,
    reach,
    read_object,
    test_of,
)
from evals.data.program_rows import humaneval_plus, mbpp_plus
from evals.files import UsageError
from evals.grading.verdicts import WITHHELD
from evals.suggest import expected


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
            wrote the file counts them (`Format.golds`), and an error where that is not known.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    gold: Path | None = None
    benchmark: str | None = None
    label: str | None = None
    label_threshold: float | None = None
    golds: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping):
            raise UsageError(f"columns is {self.columns!r}; expected our column -> theirs, as {{'answer': 'gt'}}")
        if "answer" in self.columns and "gold" in self.columns:
            raise UsageError("columns: expected answer or gold, which are one, got both")
        ours_of = {"gold": "answer"}
        if "correct" not in self.columns:  # no table of verdicts, which has ids of its own
            ours_of["id"] = "problem_id"
        columns = {ours_of.get(ours, ours): theirs for ours, theirs in self.columns.items()}
        for ours in columns:
            if ours not in READ:
                raise UsageError(f"columns={ours}:{columns[ours]}: {expected(ours, READ)}, then the file's column")
        object.__setattr__(self, "columns", columns)
        if self.golds not in (None, "any", "all"):
            raise UsageError(f"golds is {self.golds!r}; expected any or all")


NOTHING_SAID = Reading()


@dataclass(frozen=True)
class TheirScore:
    """A mean over problems of the authors' verdicts, and over how many of the file's rows it is.

    Attributes:
        value: of the `labelled` of `rows`. low, high: with every other row incorrect, and correct.
    """

    value: float
    low: float
    high: float
    labelled: int
    rows: int

    def __str__(self) -> str:
        if self.labelled == self.rows:
            return f"{self.value:.4f}"
        of = f"{self.labelled} of {self.rows} rows are labelled"
        return f"{self.low:.4f} to {self.high:.4f} ({of}; {self.value:.4f} of these)"


@dataclass(frozen=True)
class AnswerFile:
    """Attributes:
    label: the verdict taken as the authors', if there is one; `labels`: all of them.
    recomputed: of each label whose values are all verdicts or missing, the score.
    several: rows whose file gives several golds; `golds` says whether any of them is right, or all together.
    labelled: rows whose label is a verdict; the others have `expected` None.
    empty: rows whose response is an empty text or none, as a CSV's empty cell: it has no answer.
    errored: rows without a response, because the authors' engine failed (`sampling_error` in the row).
    unread: columns of a plain file that may be verdicts; columns=expected:NAME reads one.
    """

    format: str
    rows: list[Row] = field(repr=False)
    label: str | None = None
    labels: tuple[str, ...] = ()
    recomputed: Mapping[str, TheirScore] = field(default_factory=dict)
    labelled: int = 0
    errored: int = 0
    empty: int = 0
    several: int = 0
    golds: str | None = None
    unread: tuple[str, ...] = ()

    @property
    def note(self) -> str | None:
        """How to compare with the authors' verdicts, where there are some and none is compared."""
        if self.unread and not self.labels:
            return f"columns=expected:{self.unread[0]} compares with their verdict; columns: {', '.join(self.unread)}"
        if len(self.labels) < 2 or self.label is not None:
            return None
        return f"the file has several verdicts on a sample; label=NAME compares one: {', '.join(self.labels)}"


def read_answers(path: Path, reading: Reading = NOTHING_SAID) -> AnswerFile:
    """Read a file of any format of `evals.answer_files.formats`, found by its content, or with `columns` any table.

    Raises:
        UsageError: no known format, or a row lacks something; the message says what is there and what to give.
        OSError: it cannot be read.
    """
    objects = contents(path)
    name = format_of(objects[0])
    golds_apart = reading.gold is not None and "response" in objects[0]
    if name is None and not reading.columns and not golds_apart:
        raise UsageError(
            f"{path}: no known format has the fields {', '.join(objects[0])}; expected gold and response, or "
            f"give {_suggested(objects)}; pairs of bare answers: rlvr.grade_answers in Python"
        )
    gold_of = None if reading.gold is None else _golds(reading.gold, reading.columns)
    from_there = 0
    rows: list[Row] = []
    golds: dict[tuple[str, str], tuple[str | tuple[str, ...], int]] = {}
    several, of_tool = 0, FORMATS[name].golds if name else None
    for number, value in enumerate(objects, 1):
        try:
            for row in _rows(name, number, value, reading.columns):
                if gold_of is not None:
                    there = gold_of(row)
                    from_there += there is not None
                    row["answer"] = row.get("answer") if there is None else there
                    if row["answer"] in (None, ""):
                        raise UsageError(f"gold={reading.gold} has no answer for problem {_short(row['problem_id'])}")
                several += _take_golds(row, reading.golds, of_tool)
                if reading.benchmark is not None:
                    row["benchmark"] = reading.benchmark
                if row.get("finish_reason") in WITHHELD and row.get("sampling_error") is None:
                    row["sampling_error"] = f"server: no whole response ({row['finish_reason']})"
                    row["response"] = row.get("response") or ""
                if row.get("response", "") is None and row.get("sampling_error") is None:
                    row["response"] = ""
                _check(row, value)
                gold, at = golds.setdefault(problem_of(row), (gold_of_row(row), number))
                if gold != gold_of_row(row):
                    raise UsageError(
                        f"problem_id {row['problem_id']!r} has the answer {_short(row['answer'])}, but row {at} says "
                        f"{_short(gold)}"
                    )
                rows.append(row)
        except ValueError as error:
            give = f"; give {_suggested(objects)}" if name is None and "no field 'response'" in str(error) else ""
            raise UsageError(f"{path}, row {number}: {error}{give}") from error
    if gold_of is not None and not from_there:
        first = _short(rows[0]["problem_id"])
        raise UsageError(f"gold={reading.gold} has no answer for any problem of {path}, such as {first}")
    if name == "lm_eval":
        rows = _without_filters(rows)
    wanted = FORMATS[name].columns.get("labels", "").split("|") if name else []
    labels, label = _choose_label(path, rows, reading.label, wanted)
    recomputed = _recomputed(rows, reading.label_threshold)
    for number, row in enumerate(rows, 1):
        verdicts = row.pop("labels", None) or {}
        if theirs := row.pop("answers_of_labels", None):
            row["their_answer"] = theirs.get(label)
        if label is not None:
            try:
                row["expected"] = as_label(verdicts.get(label), reading.label_threshold)
            except ValueError as error:
                raise UsageError(f"{path}, row {number}: {label}: {error}") from error
    return AnswerFile(
        name or ("columns that were named" if reading.columns else f"responses; golds from {reading.gold}"),
        rows,
        label,
        labels,
        recomputed,
        labelled=sum(row.get("expected") is not None for row in rows),
        errored=sum(row.get("sampling_error") is not None for row in rows),
        empty=sum(not row["response"] and row.get("sampling_error") is None for row in rows),
        several=several,
        golds=reading.golds or of_tool if several else None,
        unread=_unread(objects) if name in (None, *OURS) and label is None else (),
    )


_VERDICTS = ("correct", "is_correct", "correctness", "label", "acc", "accuracy", "score", "passed", "reward", "rewards")


def _unread(objects: Sequence[Row]) -> tuple[str, ...]:
    """The columns that may be verdicts: of truth values, or of these names with nothing but verdicts."""
    return tuple(
        name
        for name in objects[0]
        if all(_is_truth(of.get(name)) for of in objects)
        or (name in _VERDICTS and all(_is_label(of.get(name)) for of in objects))
    )


def _is_truth(value: Any) -> bool:
    """true or false, also as a CSV has it."""
    return isinstance(value, bool) or str(value).lower() in ("true", "false")


def _is_label(value: Any) -> bool:
    try:
        as_label(value)
    except ValueError:
        return False
    return True


_IDS = ("problem_id", "id", "uid", "qid", "question_id", "task_id", "doc_id", "example_id", "unique_id", "idx")

_BENCHMARKS = ("benchmark", "benchmark_name", "dataset", "dataset_name", "data_source", "task", "task_name")


def _suggested(objects: Sequence[Row]) -> str:
    """The columns of an unknown table as they may be meant, by names that people give them; THEIRS where none is. An id
    that tells rows with the same question apart is none of the problem."""
    row = objects[0]
    nested = [f"{name}.{key}" for name, of in row.items() if isinstance(of, dict) for key in of]
    paths = {path.rpartition(".")[2]: path for path in reversed([*row, *nested])}

    def of(names: Sequence[str]) -> str | None:
        return next((paths[name] for name in names if name in paths), None)

    problem, gold = of(("problem", "question", "prompt", "input")), of(_GOLDS)
    verdict = of(_VERDICTS) or next(iter(_unread(objects)), None)
    key = of(_IDS)
    if key and problem and len({str(reach(o, key)) for o in objects}) != len({str(reach(o, problem)) for o in objects}):
        key = None
    benchmark = of(_BENCHMARKS)
    if benchmark == "benchmark" or len({str(reach(o, benchmark)) for o in objects if benchmark}) < 2:
        benchmark = None
    given = {
        "problem_id": None if key == "problem_id" else key,
        "problem": problem,
        "answer": gold or "THEIRS",
        "response": of(_RESPONSES) or "THEIRS",
        "expected": verdict,
        "benchmark": benchmark,
    }
    named = ",".join(f"{ours}:{theirs}" for ours, theirs in given.items() if theirs)
    return f"columns={named}" + ("" if gold else " (or, instead of answer, gold=FILE)")


def _rows(name: str | None, number: int, value: Row, columns: Mapping[str, str]) -> list[Row]:
    try:
        return read_object(name, number, value, columns)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise UsageError(f"not a row of {name}: {type(error).__name__} {error}") from error


_ANSWER = (str, int, float)
_RESPONSE: Mapping[str, tuple[type, ...]] = {"answer": _ANSWER, "response": (str,), "problem_id": (str, int)}
_OPTIONAL: Mapping[str, tuple[type, ...]] = {"finish_reason": (str, type(None))}
_GOLDS = (
    *("gold", "answer", "expected_answer", "ground_truth", "target", "reference", "references", "gt", "gts"),
    *("gold_answer", "correct_answer", "final_answer", "label", "ground_truths", "solution"),
)
_RESPONSES = (
    *("response", "generation", "completion", "output", "model_output", "output_response", "prediction"),
    *("responses", "generations", "completions", "outputs", "predictions", "decoded_responses", "generated_text"),
    *("model_response", "llm_response", "model_prediction", "model_generation", "raw_generation", "raw_output"),
    *("content", "text"),
)
_WORDS = {str: "a string", int: "a whole number", float: "a number", bool: "true, false", type(None): "null"}


def _check(row: Row, value: Row) -> None:
    """Raise ValueError, which names a field that is missing or has another type, and the columns of the file."""
    for name, kinds in {**_RESPONSE, **{name: kinds for name, kinds in _OPTIONAL.items() if name in row}}.items():
        if name == "answer" and row.get(name) is None:
            theirs = next((column for column in _GOLDS if value.get(column)), "THEIRS")
            raise UsageError(
                f"no answer (the gold); the row has {', '.join(value)}; give gold=FILE with problem_id or problem, "
                f"and answer, or columns=answer:{theirs}"
            )
        if name not in row:
            raise UsageError(f"no field {name!r}; the row has {', '.join(value)}")
        if not isinstance(row[name], kinds) or (isinstance(row[name], bool) and bool not in kinds):
            inside = f"; columns={name}:COLUMN.KEY reaches inside" if isinstance(row[name], dict) else ""
            wanted = " or ".join(_WORDS[kind] for kind in kinds)
            raise UsageError(f"{name} is {_short(row[name])}; expected {wanted}{inside}")


def _take_golds(row: Row, asked: str | None, of_tool: str | None) -> bool:
    """Give a row whose file lists its golds the one `answer`, and where several differ also all, as `golds`; returns
    whether they do.

    A tool may list a gold's normalisations beside it, as 41 beside -41 and `frac12` beside `\\frac12`: where nobody has
    asked for `any`, a gold that is an earlier one with characters left out is none of its own.

    Args:
        asked: how several count, as the user says. of_tool: as the file's format has it.
    Raises:
        UsageError: several differ, and it is not said how they count.
    """
    found = row.get("answer")
    if not isinstance(found, list) or not found:
        return False
    if strange := [gold for gold in found if isinstance(gold, bool) or not isinstance(gold, _ANSWER)]:
        raise UsageError(
            f"answer is {_short(found)}, a list with {_short(strange[0])} in it; expected texts or numbers"
        )
    different = [*dict.fromkeys(map(str, found))]
    if asked is None:
        different = [
            gold for at, gold in enumerate(different) if not any(_normalised(gold, other) for other in different[:at])
        ]
    row["answer"], ways = found[0], asked or of_tool
    if len(different) == 1:
        return False
    if ways is None:
        raise UsageError(
            f"answer is {_short(found)}, {len(different)} golds; expected golds=any (a response is right that has one "
            "of them) or golds=all (that lists them all)"
        )
    if ways == "all":
        row["answer"] = ", ".join(different)
    else:
        row["golds"] = different
    return True


def _normalised(gold: str, of: str) -> bool:
    """Whether a gold is another one with signs, commands' backslashes, braces, commas or spaces left out."""
    letters = ("".join(filter(str.isalnum, text.lower())) for text in (gold, of))
    return len(gold) < len(of) and len({*letters}) == 1


def gold_of_row(row: Mapping[str, Any]) -> str | tuple[str, ...]:
    """The gold of a row as the grader takes it: a tuple where any of several is right."""
    return tuple(row["golds"]) if row.get("golds") else as_text(row["answer"])


def as_text(value: str | float) -> str:
    """An answer as text for grading; a number as written in the file."""
    return value if isinstance(value, str) else str(value)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _without_filters(rows: Sequence[Row]) -> list[Row]:
    """One row a sample: lm-eval writes a sample again for each filter, with another verdict."""
    samples: dict[tuple[str, str, int], Row] = {}
    turn: dict[tuple[str, str, str], int] = {}
    for row in rows:
        filters = ",".join(row.get("labels", {}))
        key = (row["problem_id"], row["response"], filters)
        turn[key] = turn.get(key, -1) + 1  # equal responses of one filter are different samples
        first = samples.setdefault((*key[:2], turn[key]), row)
        if first is not row:
            for of_labels in ("labels", "answers_of_labels"):
                first[of_labels] = {**first[of_labels], **row[of_labels]}
    return list(samples.values())


_TEXTS = ("problem", "prompt", "question")


def _golds(table: Path, columns: Mapping[str, str]) -> Callable[[Row], Any]:
    """The answer in another file for a row, by problem_id or else by the problem's text; None where it has none."""
    golds = [_as_gold(row, columns) for row in contents(table)]
    for names in (("answer", "gold"), ("problem_id", *_TEXTS)):
        if lacking := [number for number, gold in enumerate(golds, 1) if not {*names} & {*gold}]:
            raise UsageError(
                f"gold={table}: expected a column {' or '.join(names)} in every row, found "
                f"{', '.join(golds[lacking[0] - 1])} in row {lacking[0]}"
            )
    by_id = {str(g["problem_id"]): g["answer"] for g in golds if "problem_id" in g}
    by_text = {_plain(g[key]): g["answer"] for g in golds for key in _TEXTS if key in g}
    return lambda row: by_id.get(str(row.get("problem_id")), by_text.get(_plain(row.get("problem"))))


def _as_gold(row: Row, columns: Mapping[str, str]) -> Row:
    """A row of golds, its columns by our names; a task of HumanEval, HumanEval+ or MBPP+ as published has its test for
    one."""
    for ours in {"problem_id", "problem", "answer"} & {*columns}:
        if ours not in row and (found := reach(row, columns[ours])) is not ABSENT:
            row = {**row, ours: found}
    if "answer" not in row and "gold" in row:
        row = {**row, "answer": row["gold"]}
    if "answer" in row or "test" not in row:
        return row
    if is_program(row):
        return {"problem_id": row["task_id"], "answer": test_of(dict(humaneval_plus(row)))}
    read = mbpp_plus(row)
    return {"problem_id": read["id"], "answer": read["answer"]}


def _plain(text: object) -> str:
    return " ".join(str(text).split())


def _choose_label(
    path: Path, rows: Sequence[Row], name: str | None, wanted: Sequence[str]
) -> tuple[tuple[str, ...], str | None]:
    """(names of the authors' verdicts, the one that becomes `expected`): the named one, the only one, or of those that
    the format wants the first that every row has, else the first."""
    every = [row.get("labels") or {} for row in rows]
    names = tuple(dict.fromkeys(label for labels in every for label in labels))
    if name is not None and name not in names:
        there = expected(name, names) if names else f"the file has none; columns=expected:{name} reads a column"
        raise UsageError(f"{path}: label={name}: no such verdict on a sample; {there}")
    if name is not None or len(names) < 2:
        return names, name or next(iter(names), None)
    wanted = [label for label in wanted if label in names]
    whole = (label for label in wanted if all(labels.get(label) is not None for labels in every))
    return names, next(whole, next(iter(wanted), None))


def _recomputed(rows: Sequence[Row], threshold: float | None) -> dict[str, TheirScore]:
    """The score of each of the authors' verdicts; none for a name with values that are no verdicts."""
    scores = {}
    for name in sorted({name for row in rows for name in row.get("labels") or {}}):
        by_problem: dict[tuple[str, str], list[bool | None]] = {}
        try:
            for row in rows:
                label = as_label((row.get("labels") or {}).get(name), threshold)
                by_problem.setdefault(problem_of(row), []).append(label)
        except ValueError:
            continue
        known = [[label for label in labels if label is not None] for labels in by_problem.values()]
        if any(known):
            low, high = (
                fmean(fmean(missing if label is None else label for label in labels) for labels in by_problem.values())
                for missing in (False, True)
            )
            value = fmean(map(fmean, filter(None, known)))
            scores[name] = TheirScore(value, low, high, sum(map(len, known)), len(rows))
    return scores
