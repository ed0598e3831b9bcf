"""Read a file of answers: its rows, and how they were generated. Errors name missing facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from evals.answer_files.containers import contents
from evals.answer_files.formats import OURS, Row, format_of, read_object
from evals.suggest import expected


@dataclass(frozen=True)
class Reading:
    """A user's facts about a file that it does not state.

    Args:
        columns: our name -> the file's (dots reach into objects: problem_id -> doc.id).
        gold: a table with the golds: `answer`, and `problem_id` or `problem` as the key.
        benchmark: the benchmark's name, if the file has none or another.
        label: the one of several verdicts of the authors to compare with ours.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    gold: Path | None = None
    benchmark: str | None = None
    label: str | None = None


NOTHING_SAID = Reading()


@dataclass(frozen=True)
class AnswerFile:
    """Attributes:
    label: the verdict taken as the authors', if there is one; `labels`: all of them.
    recomputed: of each label without gaps, the mean over problems.
    """

    format: str
    rows: list[Row] = field(repr=False)
    label: str | None = None
    labels: tuple[str, ...] = ()
    recomputed: Mapping[str, float] = field(default_factory=dict)

    @property
    def note(self) -> str | None:
        """A note if several verdicts exist and none was chosen."""
        if len(self.labels) < 2 or self.label is not None:
            return None
        return f"the file has several verdicts on a sample; label=NAME compares one: {', '.join(self.labels)}"


def read_answers(path: Path, reading: Reading = NOTHING_SAID) -> AnswerFile:
    """Read a file of any format of `evals.answer_files.formats`, found by its content, or with `columns` any table.

    Raises:
        ValueError: no known format, or a row lacks something; the message says what is there and what to give.
        OSError: it cannot be read.
    """
    objects = contents(path)
    name = format_of(objects[0])
    if name is None and not reading.columns:
        raise ValueError(
            f"{path}: no known format has the fields {', '.join(objects[0])}; expected gold and response, or "
            "give columns=answer:THEIRS,response:THEIRS; pairs of bare answers: rlvr.grade_answers in Python"
        )
    gold_of = None if reading.gold is None else _golds(reading.gold)
    rows: list[Row] = []
    golds: dict[str, tuple[str, int]] = {}
    for number, value in enumerate(objects, 1):
        try:
            for row in _rows(name, number, value, reading.columns):
                if gold_of is not None:
                    row["answer"] = gold_of(row)
                if reading.benchmark is not None:
                    row["benchmark"] = reading.benchmark
                _check(row)
                gold, at = golds.setdefault(str(row["problem_id"]), (as_text(row["answer"]), number))
                if gold != as_text(row["answer"]):
                    raise ValueError(
                        f"problem_id {row['problem_id']!r} has the answer {_short(row['answer'])}, but row {at} says "
                        f"{_short(gold)}"
                    )
                rows.append(row)
        except ValueError as error:
            raise ValueError(f"{path}, row {number}: {error}") from error
    if name == "lm_eval":
        rows = _without_filters(rows)
    labelled = rows if name not in (None, *OURS) or "expected" in reading.columns else []
    recomputed = _recomputed(labelled)
    labels, label = _choose_label(path, labelled, reading.label)
    return AnswerFile(name or "columns that were named", rows, label, labels, recomputed)


def _rows(name: str | None, number: int, value: Row, columns: Mapping[str, str]) -> list[Row]:
    try:
        return read_object(name, number, value, columns)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"not a row of {name}: {type(error).__name__} {error}") from error


_ANSWER = (str, int, float)
_RESPONSE: Mapping[str, tuple[type, ...]] = {"answer": _ANSWER, "response": (str,), "problem_id": (str, int)}
_OPTIONAL: Mapping[str, tuple[type, ...]] = {"finish_reason": (str, type(None)), "expected": (bool, type(None))}
_WORDS = {str: "a string", int: "a whole number", float: "a number", bool: "true, false", type(None): "null"}


def _check(row: Row) -> None:
    """Raise ValueError, which names a field that is missing or has another type."""
    for name, kinds in {**_RESPONSE, **{name: kinds for name, kinds in _OPTIONAL.items() if name in row}}.items():
        if name == "answer" and row.get(name) is None:
            raise ValueError(
                f"no answer (the gold); the row has {', '.join(row)}; give gold=FILE with problem_id or problem, and "
                "answer, or columns=answer:THEIRS"
            )
        if name not in row:
            raise ValueError(f"no field {name!r}; the row has {', '.join(row)}")
        if not isinstance(row[name], kinds) or (isinstance(row[name], bool) and bool not in kinds):
            raise ValueError(f"{name} is {_short(row[name])}; expected {' or '.join(_WORDS[kind] for kind in kinds)}")


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
            first["labels"] = {**first["labels"], **row["labels"]}
            first.pop("their_answer", None)
    return list(samples.values())


def _golds(table: Path) -> Callable[[Row], Any]:
    """The answer in another file for a row, by problem_id or else by the problem's text."""
    golds = contents(table)
    if any("answer" not in gold for gold in golds):
        raise ValueError(f"gold={table}: expected a column answer in every row, found {', '.join(golds[0])}")
    by_id = {str(g["problem_id"]): g["answer"] for g in golds if "problem_id" in g}
    by_text = {_plain(g[key]): g["answer"] for g in golds for key in ("problem", "prompt", "question") if key in g}

    def gold_of(row: Row) -> Any:
        answer = by_id.get(str(row.get("problem_id")), by_text.get(_plain(row.get("problem"))))
        if answer is None:
            raise ValueError(f"gold={table} has no answer for problem {_short(row['problem_id'])}")
        return answer

    return gold_of


def _plain(text: object) -> str:
    return " ".join(str(text).split())


def _choose_label(path: Path, rows: Sequence[Row], name: str | None) -> tuple[tuple[str, ...], str | None]:
    """(names of the authors' verdicts, the one that becomes `expected`): the named one, or the only one."""
    names = tuple(dict.fromkeys(label for row in rows for label in row.get("labels") or {}))
    if name is not None and name not in names:
        there = expected(name, names) if names else "the file has none"
        raise ValueError(f"{path}: label={name}: no such verdict on a sample; {there}")
    chosen = name or (names[0] if len(names) == 1 else None)
    for row in rows:
        labels = row.pop("labels", None) or {}
        if chosen is not None:
            row["expected"] = labels.get(chosen)
    return names, chosen


def _recomputed(rows: Iterable[Row]) -> dict[str, float]:
    """For each of the authors' verdicts, the share of true ones in a problem, averaged over problems; none for a name
    that some sample lacks."""
    labelled = [(str(row["problem_id"]), row.get("labels") or {}) for row in rows]
    shares = {}
    for name in sorted({name for _, labels in labelled for name in labels}):
        by_problem: dict[str, list[bool | None]] = {}
        for problem, labels in labelled:
            by_problem.setdefault(problem, []).append(labels.get(name))
        if not any(None in verdicts for verdicts in by_problem.values()):
            shares[name] = fmean(fmean(map(bool, verdicts)) for verdicts in by_problem.values())
    return shares
