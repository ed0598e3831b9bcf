"""Read a file of answers: its rows, and how they were generated. Errors name missing facts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from evals.answer_files.containers import contents
from evals.answer_files.formats import ABSENT, NEEDED, OURS, Row, as_label, format_of, reach, read_object
from evals.answer_files.stated import reported, settings
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
    """`settings`: model and sampling as far as the file states them (model, temperature, top_p, max_tokens, seed);
    `reported`: the scores that its tool computed, by name; `label`: the verdict taken as the authors', if there is one;
    `labels`: all of them; `recomputed`: of each label without gaps, the mean over problems."""

    format: str
    rows: list[Row] = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)
    reported: Mapping[str, float] = field(default_factory=dict)
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
    content = contents(path)
    first = content.objects[0]
    name = format_of(first)
    if name is None and not reading.columns:
        raise ValueError(
            f"{path}: no known format has the fields {', '.join(first)}; expected gold and response, or "
            "give columns=answer:THEIRS,response:THEIRS; a file of pairs (gold, prediction) is graded with answers=true"
        )
    gold_of = None if reading.gold is None else _golds(reading.gold)
    rows: list[Row] = []
    golds: dict[str, tuple[str, int]] = {}
    for number, value in enumerate(content.objects, 1):
        try:
            for row in _rows(name, number, value, reading.columns):
                row.setdefault("problem_id", row.get("problem", number))
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
    labelled = rows if name is not None and name not in OURS else []
    recomputed = _recomputed(labelled)
    labels, label = _choose_label(path, labelled, reading.label)
    stated, scores = settings(name, path, first, content.header), reported(name, path, content.header)
    return AnswerFile(name or "mapped", rows, stated, scores, label, labels, recomputed)


def read_pairs(path: Path) -> list[Row]:
    """The rows of a file of bare answers: gold, prediction.

    Raises:
        ValueError, OSError: as `read_answers`.
    """
    rows = contents(path).objects
    for number, row in enumerate(rows, 1):
        try:
            _check(row, {"gold": _ANSWER, "prediction": _ANSWER})
        except ValueError as error:
            raise ValueError(f"{path}, row {number}: {error}") from error
    return rows


def _rows(name: str | None, number: int, value: Row, columns: Mapping[str, str]) -> list[Row]:
    """The rows of an object, with the columns that a user names."""
    try:
        rows = [value] if name is None else read_object(name, number - 1, value)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"not a row of {name}: {type(error).__name__} {error}") from error
    return [_mapped(row, value, columns, name is None) for row in rows] if columns else rows


def _mapped(row: Row, raw: Row, columns: Mapping[str, str], unknown: bool) -> Row:
    """The row with the columns that a user names, from the read row or from the original object."""
    mapped = dict(row)
    needed = NEEDED[1:] if unknown else ()  # columns that no format reader provides
    for ours in dict.fromkeys((*needed, *columns)):
        theirs = columns.get(ours, ours)
        value = reach(raw, theirs)
        if value is ABSENT:
            value = row.get(theirs, ABSENT)
        if value is ABSENT:
            if ours == "answer" and ours not in columns:
                continue  # gold=FILE may have it
            raise ValueError(f"no column {theirs!r} for {ours}; there are {', '.join(raw)}")
        mapped[ours] = value
    if "expected" in columns:
        verdict = mapped["expected"]
        mapped["expected"] = as_label(verdict)
        if mapped["expected"] is None and isinstance(verdict, str) and verdict.strip().lower() not in ("", "p"):
            raise ValueError(f"expected:{columns['expected']} is {verdict!r}; expected true or false")
        mapped.pop("labels", None)
    return mapped


_ANSWER = (str, int, float)
_RESPONSE: Mapping[str, tuple[type, ...]] = {"answer": _ANSWER, "response": (str,), "problem_id": (str, int)}
_OPTIONAL: Mapping[str, tuple[type, ...]] = {"finish_reason": (str, type(None)), "expected": (bool, type(None))}
_WORDS = {str: "a string", int: "a whole number", float: "a number", bool: "true, false", type(None): "null"}


def _check(row: Row, fields: Mapping[str, tuple[type, ...]] = _RESPONSE) -> None:
    """Raise ValueError, which names a field that is missing or has another type."""
    for name, kinds in {**fields, **{name: kinds for name, kinds in _OPTIONAL.items() if name in row}}.items():
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
    golds = contents(table).objects
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
        matching = [label for label in names if name in label.split(",")]  # lm-eval's metric,filter by its filter
        if len(matching) != 1:
            there = expected(name, names) if names else "the file has none"
            raise ValueError(f"{path}: label={name}: no such verdict on a sample; {there}")
        name = matching[0]
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


def clean_name(text: str) -> str:
    """A benchmark's name in a form that a folder may have."""
    return re.sub(r"[^\w.+-]+", "-", text).strip("-") or "answers"
