"""Verdicts without responses: a table of ids and verdicts."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from evals.data.rows import is_nothing
from evals.errors import UsageError
from evals.paths import ABSENT, ROW, counting_kept, reach, refuse_mixed

_IDS = ("id", "problem_id")
_RENAMED = {"id": "problem_id", "correct": "label", "step": "checkpoint"}  # a table of verdicts -> `Evidence`


def verdict_table(
    path: Path, columns: Mapping[str, str], threshold: float | None = None, conditions: Sequence[str] = ()
) -> pd.DataFrame | None:
    """Verdicts without responses, as `Evidence` takes them: a table of `id`, `correct` (one, or a list of those of all
    samples), and where it has them `seed`, `step`, `truncated`, `answer` and `benchmark`. None if the file is none.

    Args:
        columns: our column -> theirs. `id` may be "row": each verdict is of a problem of its own.
        threshold: a verdict is correct from this number on; None: of numbers, only 1, 0 and -1 (incorrect) are.
        conditions: on the rows that are read (`evals.paths.kept`). `attrs["note"]` has a sentence about them.
    Raises:
        UsageError: a value is no verdict; with its row.
    """
    from evals.answer_files.containers import contents
    from evals.answer_files.items import select

    objects, note = select(path, contents(path, columns, conditions), columns, conditions)
    with counting_kept(conditions):
        return _of_rows(path, objects, note, columns, threshold)


def _of_rows(
    path: Path, objects: Sequence[Mapping[str, object]], note: str, columns: Mapping[str, str], threshold: float | None
) -> pd.DataFrame | None:
    """The table of these rows of a file, which `note` is about."""
    numbered = columns.get("id") == ROW and ROW not in objects[0]
    if numbered:
        columns = {column: source for column, source in columns.items() if column != "id"}
    refuse_mixed(path, objects, columns)
    table = pd.DataFrame([_by_our_names(row, columns) for row in objects])
    if numbered and "correct" in table:
        table = table.explode("correct")
        table["id"] = range(1, len(table) + 1)
    if "correct" in columns and "correct" not in table:
        raise UsageError(f"{path}: no column {columns['correct']!r} for correct. There are {', '.join(objects[0])}")
    if "correct" in columns and "id" not in table:
        raise UsageError(
            f"{path}: no column id. Type {shlex.quote('columns=id:THEIRS,correct:' + columns['correct'])}, "
            "or id:row if each verdict is of a problem of its own"
        )
    if not {"id", "correct"} <= set(table) or ("response" in table and "correct" not in columns):
        return None
    table = _with_one_id(path, table, columns)
    if table["correct"].map(lambda value: isinstance(value, list)).all():
        table = table.explode("correct")
    for name, limit in (("correct", threshold), ("truncated", None)):
        if name in table:
            table[name] = _as_labels(path, table[name], limit, columns, objects[0])
    table = table.reset_index(drop=True)
    for name in {*table} - {"id", "correct", "truncated", "seed", "answer", "problem"}:  # a CSV has texts
        with contextlib.suppress(ValueError, TypeError):
            table[name] = pd.to_numeric(table[name])
    table = table.rename(columns=_RENAMED)
    table.attrs["note"] = note
    return table.astype({"checkpoint": int}) if "checkpoint" in table else table


def _with_one_id(path: Path, table: pd.DataFrame, columns: Mapping[str, str]) -> pd.DataFrame:
    """The table without other lists than those of verdicts, and without columns that have the names of `Evidence`.

    Raises:
        UsageError: the id is one of two columns, a list, or nothing.
    """
    if {*_IDS} <= {*table} and "id" not in columns:
        typed = [shlex.quote(f"columns=id:{name},correct:{columns.get('correct', 'correct')}") for name in _IDS]
        raise UsageError(f"{path}: both id and problem_id. Type {' or '.join(typed)}, the one that names the problem")
    table = table.drop(columns=[new_name for name, new_name in _RENAMED.items() if {name, new_name} <= {*table}])
    lists = [name for name in {*table} - {"correct"} if table[name].map(lambda limit: isinstance(limit, list)).any()]
    if "id" in lists:
        raise UsageError(
            f"{path}: id is a list. Type columns=id:THEIRS, a column whose value names the problem. If the file is one "
            "object whose keys are ids, write its entries as rows first"
        )
    if lacking := [number for number, value in enumerate(table["id"], 1) if is_nothing(value)]:
        raise UsageError(
            f"{path}, row {lacking[0]}: id is empty. Type columns=id:THEIRS, a column that names the problem"
        )
    return table.drop(columns=lists)


def _as_labels(
    path: Path, values: pd.Series, threshold: float | None, columns: Mapping[str, str], row: Mapping[str, object]
) -> list[float]:
    """The verdicts as 1, 0 or NaN.

    Args:
        values: by row, counted from 0. A row with several verdicts comes several times.
        row: the first one, for the advice.
    Raises:
        UsageError: a value is no verdict; with its row.
    """
    from evals.answer_files.labels import as_label

    reached = bool((pd.to_numeric(values, errors="coerce") >= 1).any())
    labels: list[float] = []
    for number, value in zip(values.index + 1, values, strict=True):
        try:
            label = as_label(value, threshold, reached)
        except ValueError as error:
            inside = _inside(value, columns, row) or _one_word(values, value, columns)
            raise UsageError(f"{path}, row {number}: {values.name}: {error}{inside}") from error
        labels.append(float("nan") if label is None else float(label))
    return labels


def _inside(value: object, columns: Mapping[str, str], row: Mapping[str, object]) -> str:
    """The advice where a verdict is an object: the path to the only verdict in it, else nothing."""
    from evals.answer_files.labels import is_label
    from evals.answer_files.what_to_type import argument

    keys = [key for key, verdict in value.items() if is_label(verdict)] if isinstance(value, dict) else []
    if len(keys) != 1:
        return f". Type columns=correct:COLUMN.KEY with one of {', '.join(keys)}" if keys else ""
    path = columns.get("correct", "correct")
    every = ".*" if isinstance(reach(row, path), list) else ""
    return f". Type {argument({'id': 'id', **columns, 'correct': f'{path}{every}.{keys[0]}'})}"


def _one_word(values: pd.Series, value: object, columns: Mapping[str, str]) -> str:
    """The advice where a word is no verdict beside words that are: the one that says correct."""
    from evals.answer_files.labels import as_label, is_label
    from evals.answer_files.what_to_type import argument

    words = {word for word in values if isinstance(word, str) and is_label(word) and as_label(word)}
    if not isinstance(value, str) or len(words) != 1:
        return ""
    path = columns.get("correct", "correct")
    typed = argument({"id": "id", **columns, "correct": f"{path}?{words.pop()}"})
    return f". If all other words say incorrect, type {typed}"


def _by_our_names(row: Mapping[str, object], columns: Mapping[str, str]) -> dict[str, object]:
    """A row of verdicts by our names. An object inside is no column; a path of `columns` reaches what is in it."""
    away = {*columns, *columns.values()}
    values = {name: value for name, value in row.items() if name not in away and not isinstance(value, dict)}
    named = ((column, reach(row, source)) for column, source in columns.items())
    return values | {column: value for column, value in named if value is not ABSENT}
