"""Read a file of answers: its rows, and how they were generated. Errors name missing facts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from evals.answer_files.containers import contents
from evals.answer_files.formats import ABSENT, NEEDED, Row, as_label, format_of, reach, read_object
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
    `labels`: all of them."""

    path: Path
    format: str
    rows: list[Row]
    settings: Mapping[str, Any] = field(default_factory=dict)
    reported: Mapping[str, float] = field(default_factory=dict)
    label: str | None = None
    labels: tuple[str, ...] = ()
    recomputed: Mapping[str, float] = field(default_factory=dict)  # label -> mean over problems; those with no gaps

    @property
    def note(self) -> str | None:
        """A note if several verdicts exist and none was chosen."""
        if len(self.labels) < 2 or self.label is not None:
            return None
        return f"the file has several verdicts on a sample; label=NAME compares one: {', '.join(self.labels)}"


def read_answers(path: Path, reading: Reading = NOTHING_SAID, *, origin: str | None = None) -> AnswerFile:
    """Read a file of any format of `evals.answer_files.formats`, found by its content, or with `columns` any table.

    Args:
        origin: the file's path where it is from, if it has lost its name since.
    Raises:
        ValueError: no known format, or a row lacks something; the message says what is there and what to give.
        OSError: it cannot be read.
    """
    content = contents(path)
    name = format_of(content.objects[0])
    if name is None and not reading.columns:
        raise ValueError(
            f"{path}: no known format has the fields {', '.join(content.objects[0])}; expected gold and response, or "
            "give columns=answer:THEIRS,response:THEIRS; a file of pairs (gold, prediction) is graded with answers=true"
        )
    rows: list[Row] = []
    for number, value in enumerate(content.objects, 1):
        for row in _parsed(path, number, name, value):
            rows.append(_mapped(path, number, row, value, reading.columns) if reading.columns else dict(row))
    for number, row in enumerate(rows, 1):
        row.setdefault("problem_id", row.get("problem", number))
    if name == "lm_eval":
        rows = _without_filters(rows)
    if reading.gold is not None:
        _add_golds(path, rows, reading.gold)
    for number, row in enumerate(rows, 1):
        if row.get("answer") is None:
            raise ValueError(
                f"{path}, row {number}: no answer (the gold); give gold=FILE with problem_id or problem, and answer, "
                "or columns=answer:THEIRS"
            )
    if reading.benchmark is not None:
        for row in rows:
            row["benchmark"] = reading.benchmark
    recomputed = _recomputed(rows)
    labels, label = _choose_label(path, rows, reading.label)
    where = Path(origin) if origin else path
    return AnswerFile(
        path,
        name or "mapped",
        rows,
        settings(name, where, content.objects[0], content.header),
        reported(name, path, content.header),
        label,
        labels,
        recomputed,
    )


def read_rows(path: Path, columns: Mapping[str, str] | None = None) -> tuple[str, list[Row]]:
    """(name of the format, its rows), as `read_answers`."""
    answers = read_answers(path, Reading(columns or {}))
    return answers.format, answers.rows


def _parsed(path: Path, number: int, name: str | None, value: Row) -> list[Row]:
    if name is None:
        return [value]
    try:
        return read_object(name, number - 1, value)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{path}, row {number}: not a row of {name}: {type(error).__name__} {error}") from error


def _mapped(path: Path, number: int, row: Row, raw: Row, columns: Mapping[str, str]) -> Row:
    """The row with the columns that a user names, from the read row or from the original object."""
    mapped = dict(row)
    needed = [] if row is not raw else NEEDED[1:]  # columns that no format reader provides
    for ours in dict.fromkeys((*needed, *columns)):
        theirs = columns.get(ours, ours)
        value = reach(raw, theirs)
        if value is ABSENT:
            value = row.get(theirs, ABSENT)
        if value is ABSENT:
            if ours == "answer" and ours not in columns:
                continue  # gold=FILE may have it
            raise ValueError(f"{path}, row {number}: no column {theirs!r} for {ours}; there are {', '.join(raw)}")
        mapped[ours] = value
    if "expected" in columns:
        said = mapped["expected"]
        mapped["expected"] = as_label(said)
        if mapped["expected"] is None and isinstance(said, str) and said.strip().lower() not in ("", "p"):
            raise ValueError(
                f"{path}, row {number}: expected:{columns['expected']} is {said!r}; expected true or false"
            )
        mapped.pop("labels", None)
    return mapped


def _without_filters(rows: Sequence[Row]) -> list[Row]:
    """One row a sample: lm-eval writes a sample again for each filter, with another verdict."""
    kept: dict[tuple[str, str, int], Row] = {}
    turn: dict[tuple[str, str, str], int] = {}
    for row in rows:
        which = ",".join(row.get("labels", {}))
        key = (row["problem_id"], row["response"], which)
        turn[key] = turn.get(key, -1) + 1  # equal responses of one filter are different samples
        first = kept.setdefault((*key[:2], turn[key]), row)
        if first is not row:
            first["labels"] = {**first["labels"], **row["labels"]}
            first.pop("their_answer", None)
    return list(kept.values())


def _add_golds(path: Path, rows: Sequence[Row], table: Path) -> None:
    """Fill in the answers from another file, by problem_id or else by the problem's text."""
    golds = contents(table).objects
    if any("answer" not in gold for gold in golds):
        raise ValueError(f"gold={table}: expected a column answer in every row, found {', '.join(golds[0])}")
    by_id = {str(g["problem_id"]): g["answer"] for g in golds if "problem_id" in g}
    by_text = {_plain(g[key]): g["answer"] for g in golds for key in ("problem", "prompt", "question") if key in g}
    for number, row in enumerate(rows, 1):
        answer = by_id.get(str(row.get("problem_id")), by_text.get(_plain(row.get("problem"))))
        if answer is None:
            raise ValueError(f"{path}, row {number}: gold={table} has no answer for problem {_short(row)}")
        row["answer"] = answer


def _plain(text: object) -> str:
    return " ".join(str(text).split())


def _short(row: Row) -> str:
    return repr(str(row.get("problem_id") or row.get("problem")))[:70]


def _choose_label(path: Path, rows: Iterable[Row], wanted: str | None) -> tuple[tuple[str, ...], str | None]:
    """(names of the authors' verdicts, the one that becomes `expected`): the one that is wanted, or the only one."""
    rows = list(rows)
    names = tuple(dict.fromkeys(name for row in rows for name in row.get("labels") or {}))
    if (
        wanted is not None
        and wanted not in names
        and len(matching := [n for n in names if wanted in n.split(",")]) == 1
    ):
        wanted = matching[0]  # lm-eval's metric,filter by its filter
    if wanted is not None and wanted not in names:
        there = expected(wanted, names) if names else "the file has none"
        raise ValueError(f"{path}: label={wanted}: no such verdict on a sample; {there}")
    chosen = wanted or (names[0] if len(names) == 1 else None)
    for row in rows:
        labels = row.pop("labels", None) or {}
        if chosen is not None:
            row["expected"] = labels.get(chosen)
    return names, chosen


def _recomputed(rows: Sequence[Row]) -> dict[str, float]:
    """For each of the authors' verdicts, the share of true ones in a problem, averaged over problems; none for a name
    that some sample lacks."""
    problems: dict[str, dict[str, list[bool]]] = {}
    gaps = set()
    names = {name for row in rows for name in row.get("labels") or {}}
    for row in rows:
        for name in names:
            label = (row.get("labels") or {}).get(name)
            if label is None:
                gaps.add(name)
            else:
                problems.setdefault(name, {}).setdefault(str(row["problem_id"]), []).append(label)
    return {
        name: fmean(sum(own) / len(own) for own in by_problem.values())
        for name, by_problem in sorted(problems.items())
        if name not in gaps
    }


def clean_name(text: str) -> str:
    """A benchmark's name in a form that a folder may have."""
    return re.sub(r"[^\w.+-]+", "-", text).strip("-") or "answers"
