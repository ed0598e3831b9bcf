"""The metrics of a training by step, from a text of any known form."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from evals.answer_files.names import PROBLEM_IDS, ROW_IDS, named
from evals.audit.console import NUMBERED, STEPS
from evals.audit.curve_forms import Row, rows_of
from evals.audit.json_tables import column_name
from evals.audit.sets import is_repeat
from evals.errors import UsageError
from evals.paths import ROW, kept, row_filter

NEARLY_ALL = 0.9  # this share of rows has a name of its own: they may be runs
SHOWN = 20  # metrics that an error lists
RUN = "run"  # the number of a run in a file of several
_TIME = re.compile(r"time|date(?!d)|clock", re.IGNORECASE)  # a column that differs in each row
_PLANNED = "total_steps"  # a step where it grows, else how many are planned


def _numbers(row: Mapping[Any, Any]) -> dict[str, float]:
    return {str(key): float(value) for key, value in row.items() if isinstance(value, int | float)}


def read_curve(
    text: str,
    *,
    name: str = "text",
    step: str | None = None,
    wanted: Iterable[str] = (),
    conditions: Sequence[str] = (),
) -> pd.DataFrame:
    """The metrics of a training by step, one column each. Values of one step that stand on several lines are joined; of
    several values of one metric the last counts, as of a step that a resumed training logs again.

    Args:
        name: of the file, for errors. step: the column of steps; None: one of `STEPS`.
        wanted: the metrics that the user named, which say which table of several is read.
        conditions: on the rows that are read (`evals.paths.kept`). `attrs["chosen"]` says which rows these are.
    Raises:
        UsageError: the text is of no known form, damaged, or has no step.
    """
    whole = rows_of(name, text, {*wanted, step} - {None, ROW})
    rows = [_numbers(row) for row in whole]
    table = pd.DataFrame(rows)
    if table.empty:
        raise UsageError(f"{name}: no curve. It needs two steps or more that have a metric of the same name")
    if step == ROW:
        table[ROW] = range(1, len(table) + 1)
    step_column = _step_column(name, whole, table, step)
    whole, runs = _by_run(whole, table[step_column])
    try:
        places, chosen = kept(whole, conditions)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from error
    whole, rows, table = [whole[at] for at in places], [rows[at] for at in places], table.iloc[places]
    table = table.reset_index(drop=True)
    _refuse_labels(name, whole, table, step_column)
    if step_column != "step":
        table = table.drop(columns="step", errors="ignore")
    table = table.rename(columns={step_column: "step"}).dropna(subset=["step"])
    _refuse_tables(name, table)
    curve_rows = _replaced(table)
    if runs > 1 and curve_rows[0] and not any(condition.startswith(f"{RUN}?") for condition in conditions):
        raise UsageError(
            f"{name}: its steps begin again after the last one, and have other values then. So it holds {runs} runs. "
            f"To read the first, type {row_filter(RUN, 1)}"
        )
    curve = table.groupby("step").last().reset_index()
    # the lines of a step that a resumed run logged again; plain values, because pandas compares `attrs` when it joins
    curve.attrs["nan"] = _nans(rows, step_column)
    curve.attrs["words"] = sorted(
        {name for row in whole for name, content in row.items() if content and isinstance(content, str)}
    )
    numbered = f"the file names no steps, so its {len(curve)} lines with metrics are numbered"
    curve.attrs["chosen"] = ". ".join(filter(None, [chosen, numbered if step_column == NUMBERED else ""]))
    curve.attrs["replaced"] = curve_rows
    curve.attrs["repeated"] = table[table["step"].duplicated(keep=False)].to_dict("list")
    return curve


def _step_column(name: str, rows: Sequence[Row], table: pd.DataFrame, step: str | None) -> str:
    """The column of steps: the one that the user named, or else the first of `STEPS`.

    Raises:
        UsageError: there is none, or it says how many steps are planned.
    """
    known = (*STEPS, NUMBERED) if step is None else (step,)
    columns = {column_name(column): column for column in reversed([*map(str, table)])} | {str(c): str(c) for c in table}
    column = next((columns[column] for column in known if column in columns), None)
    planned = step is None and column == _PLANNED and len(table) > 1 and table[column].nunique() == 1
    if column is not None and not planned:
        return column
    lacking, column_names = f"{name}: no column of steps", ", ".join(map(str, table))
    if len(table) == 1:
        raise UsageError(f"{lacking}. Its only row holds final scores and no curve ({column_names})")
    wanted = ", ".join(known if step else STEPS)
    raise UsageError(f"{lacking}. Expected one of {wanted}, got {column_names}. {_which_step(rows, table)}")


def _by_run(rows: Sequence[Row], steps: pd.Series) -> tuple[list[Row], int]:
    """The rows, each with the number of its run, and how many runs there are: as often as the steps begin again at the
    first one after the last one. A training that was resumed begins again before it has reached the last one."""
    first, last = steps.min(), steps.max()
    runs, begun, ended, numbers = 1, False, False, []
    for step in steps:
        if ended and step == first:
            runs, ended = runs + 1, False
        begun = begun or step == first
        ended = ended or (begun and step == last)
        numbers.append(runs)
    if first == last or runs == 1 or not ended or any(RUN in row for row in rows):
        return list(rows), 1
    return [{**row, RUN: number} for row, number in zip(rows, numbers, strict=True)], runs


def _replaced(table: pd.DataFrame) -> tuple[int, float, int]:
    """How many rows a later row of the same step replaces, the step with the most rows, and how many it has.

    A row is replaced if a later row of its step has another value of a metric. A time is none.
    """
    metrics = [column for column in table if column != "step" and not _TIME.search(str(column))]
    if not metrics:
        return 0, 0, 0
    last = table.groupby("step")[metrics].transform("last")
    replaced = ((table[metrics] != last) & table[metrics].notna()).any(axis=1)
    rows_of_step = table["step"][replaced].value_counts()
    return int(replaced.sum()), *(
        (rows_of_step.index[0], int(rows_of_step.iloc[0]) + 1) if len(rows_of_step) else (0, 0)
    )


def _refuse_labels(name: str, rows: Sequence[Row], table: pd.DataFrame, step: str) -> None:
    """Raise UsageError if one step has several values of a metric and a column of words tells them apart: they are
    several curves, and no step that a resumed run logged again.
    """
    for number, at in table[table[step].duplicated(keep=False)].groupby(step).groups.items():
        if not (table.loc[at].drop(columns=step).count() > 1).any():
            continue  # lines of one step that have different metrics
        apart = _telling_apart([rows[row] for row in at])
        if apart:
            fullest = max(at, key=lambda row: len(_numbers(rows[row])))
            first = row_filter(apart[0], rows[fullest][apart[0]])
            raise UsageError(
                f"{name}: step {number:g} has {len(at)} rows, which differ in {', '.join(apart)}. A curve has one row "
                f"for each step. To read the rows of one curve, type {first}"
            )


def _refuse_tables(name: str, table: pd.DataFrame) -> None:
    """Raise UsageError if the text has several tables (`evals.audit.console.stepped`), and lists them."""
    if "table" not in table or table["table"].nunique() == 1:
        return
    lines = [
        f"  {number:.0f}: {len(rows)} rows of {', '.join(rows.dropna(axis=1, how='all').columns.drop('table'))}"
        for number, rows in table.groupby("table")
    ]
    raise UsageError(
        f"{name}: it has {len(lines)} tables. To read the first, type {row_filter('table', 1)}. The tables are:\n"
        + "\n".join(lines)
    )


def _telling_apart(rows: Sequence[Row]) -> list[str]:
    """The columns of words that do not have one value in all rows."""
    words = {column: [row.get(column) for row in rows] for column in rows[0]}
    return [column for column, values in words.items() if all(map(_is_word, values)) and len({*map(str, values)}) > 1]


def _is_word(value: object) -> bool:
    """No number and no date."""
    return isinstance(value, str) and _WORD.match(value) is not None


def _which_step(rows: Sequence[Row], table: pd.DataFrame) -> str:
    """The advice where no column has the name of a step: the first whose whole numbers grow from row to row, or without
    one, the row's number. Nothing where the rows may be no steps."""
    if repeats := [str(column) for column in table if is_repeat(str(column))]:
        return f"{repeats[0]} may number repeats or seeds, and those are no steps of one training"
    growing = [str(n) for n in table if (table[n].dropna() % 1 == 0).all() and (table[n].diff()[1:] > 0).all()]
    step = growing[0] if growing else ROW
    if named([step], PROBLEM_IDS, ROW_IDS):
        return f"{step} may number problems, and those are no steps of one training"
    names = [column for column in _telling_apart(rows) if len({row[column] for row in rows}) >= NEARLY_ALL * len(rows)]
    if names:
        return f"Nearly each row has another {names[0]}, so the rows may be runs, and no steps of one training"
    return f"If {'each row' if step == ROW else step} is a step, type {shlex.quote(f'columns=step:{step}')}"


def _nans(rows: Sequence[Mapping[str, float]], step: str) -> dict[str, float]:
    """Metric -> the last step at which the file says that it is NaN."""
    return {name: row[step] for row in rows if step in row for name, value in row.items() if value != value}


def refuse_curve(path: Path) -> None:
    """Refuse a file that is a training curve, by the metrics that it has: those of evaluations, if there are some.

    Raises:
        UsageError: it is one.
    """
    try:
        curve = read_curve(path.read_text(), name=str(path))
    except (UsageError, UnicodeDecodeError):
        return
    raise UsageError(f"metric: missing. {path} is a log of a training, which needs metric=NAME: {metrics_of(curve)}")


def metrics_of(curve: Iterable[object]) -> str:
    """The names of a curve's metrics, those of evaluations if there are some, cut to a few."""
    names = [str(name) for name in curve if name != "step"]
    shown = [name for name in names if EVALUATION.search(name.lower())] or names
    more = f" and {len(names) - len(shown[:SHOWN])} more" if len(names) > len(shown[:SHOWN]) else ""
    return ", ".join(shown[:SHOWN]) + more


_WORD = re.compile(r"(?!\d{4}-\d\d|nan$|inf$)(?=.*[A-Za-z])", re.IGNORECASE)  # and no date
EVALUATION = re.compile(r"(?:\b|_)(?:val|valid|validation|eval|evaluation|test)(?:\b|_)|bench")
