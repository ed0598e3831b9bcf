"""The metrics of a training by step, from a text of any known form."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from evals.answer_files.names import PROBLEM_IDS, ROW_IDS, named
from evals.audit.console import NUMBERED, STEPS
from evals.audit.curve_forms import Row, rows_of
from evals.audit.evidence import digits_of
from evals.audit.json_tables import column_name
from evals.audit.sets import is_repeat
from evals.errors import UsageError
from evals.paths import ROW, kept, row_filter

NEARLY_ALL = 0.9  # this share of rows has a name of its own: they may be runs
SHOWN = 20  # metrics that an error lists
MANY_LINES = 10  # so many lines of 0 and 1 may be verdicts
TABLE = "table"  # the number of a table in a text of several
RUN = "run"  # the number of a run in a file of several
_TIME = re.compile(r"time|date(?!d)|clock", re.IGNORECASE)  # a column that differs in each row
_PLANNED = "total_steps"  # a step where it grows, else how many are planned


def _numbers(row: Mapping[Any, Any]) -> dict[str, float]:
    return {str(key): float(value) for key, value in row.items() if isinstance(value, int | float)}


class SeveralCurvesError(UsageError):
    """A text has several curves.

    Attributes:
        column: of numbers that tells repeats or seeds apart, or "" without one. values: its numbers, as texts.
    """

    def __init__(self, message: str, column: str, values: Sequence[str]) -> None:
        super().__init__(message)
        self.column, self.values = column, values


def read_curves(
    text: str,
    *,
    name: str = "text",
    step: str | None = None,
    wanted: Sequence[str] = (),
    conditions: Sequence[str] = (),
    seeds: bool = True,
) -> dict[str, pd.DataFrame]:
    """The curves of a text by their seed, or its only one by "".

    Args:
        name, step, wanted, conditions: as of `read_curve`. seeds: a text may have several curves.
    Raises:
        UsageError: as `read_curve`.
    """
    try:
        return {"": read_curve(text, name=name, step=step, wanted=wanted, conditions=conditions)}
    except SeveralCurvesError as error:
        if not (error.column and seeds):
            raise
        column, values = error.column, error.values
    curves = {}
    for value in values:
        rows = [*conditions, f"{column}?{value}"]
        curves[value] = read_curve(text, name=name, step=step, wanted=wanted, conditions=rows)
        del curves[value][column]
    return curves


def read_curve(
    text: str,
    *,
    name: str = "text",
    step: str | None = None,
    wanted: Iterable[str] = (),
    conditions: Sequence[str] = (),
) -> pd.DataFrame:
    """The metrics of a training by step, one column each. Values of one step that stand on several lines are joined; of
    several values of one metric the last counts, NaN included, as of a step that a resumed training logs again.

    Args:
        name: of the file, for errors. step: the column of steps; None: one of `STEPS`.
        wanted: the metrics that the user named, which say which table of several is read.
        conditions: on the rows that are read (`evals.paths.kept`). `attrs["chosen"]` says which rows these are.
    Raises:
        UsageError: the text is of no known form, damaged, or has no step. `SeveralCurvesError`: it has several curves.
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
    _refuse_labels(name, whole, table, step_column, [*wanted])
    if step_column != "step":
        table = table.drop(columns="step", errors="ignore")
    table = table.rename(columns={step_column: "step"}).dropna(subset=["step"])
    _refuse_tables(name, table)
    curve = _joined(table, rows)
    if step_column == NUMBERED:
        _refuse_single_responses(name, curve, wanted)
    curve_rows = _replaced(table, curve)
    if runs > 1 and curve_rows[0] and not any(condition.startswith(f"{RUN}?") for condition in conditions):
        raise UsageError(
            f"{name}: its steps begin again after the last one, and have other values then. So it holds {runs} runs. "
            f"To read the first, type {row_filter(RUN, 1)}"
        )
    # the lines of a step that a resumed run logged again; plain values, because pandas compares `attrs` when it joins
    curve.attrs["nan"] = _nans(table, rows)
    curve.attrs["digits"] = _digits(whole)
    curve.attrs["words"] = sorted(
        {name for row in whole for name, content in row.items() if content and isinstance(content, str)}
    )
    numbered = f"the file names no steps, so its {len(curve)} lines with metrics are numbered"
    curve.attrs["chosen"] = ". ".join(filter(None, [chosen, numbered if step_column == NUMBERED else ""]))
    curve.attrs["replaced"] = curve_rows
    curve.attrs["resumed"] = bool((table["step"].diff() < 0).any())
    curve.attrs["repeated"] = table[table["step"].duplicated(keep=False)].to_dict("list")
    return curve


def _refuse_single_responses(name: str, curve: pd.DataFrame, wanted: Iterable[str]) -> None:
    """Raise UsageError if a metric is 0 or 1 on many lines that name no step: verdicts of single responses."""
    for metric in wanted:
        values = curve[metric].dropna().tolist() if metric in curve else []
        if len(values) >= MANY_LINES and {*values} == {0.0, 1.0}:
            raise UsageError(
                f"{name}: {metric} is 0 or 1 on each of {len(values)} lines, and no line names a step. These may be "
                "verdicts of single responses, and no scores of a training. Give a file that has a score for each step"
            )


def _step_column(name: str, rows: Sequence[Row], table: pd.DataFrame, step: str | None) -> str:
    """The column of steps: the one that the user named, or else the first of `STEPS`. One that a single row has, such
    as a summary at the end, comes after the others.

    Raises:
        UsageError: there is none, or it says how many steps are planned.
    """
    known = (*STEPS, NUMBERED) if step is None else (step,)
    columns = {column_name(column): column for column in reversed([*map(str, table)])} | {str(c): str(c) for c in table}
    named_columns = [columns[column] for column in known if column in columns]
    column = min(named_columns, key=lambda column: table[column].count() == 1, default=None)
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


def _joined(table: pd.DataFrame, rows: Sequence[Mapping[str, float]]) -> pd.DataFrame:
    """A row for each step, with what its last line that has a metric says of it. This may be NaN.

    Args:
        table: a row for each line that has a step, labelled with the line's place in `rows`.
    """
    metrics = table.columns.drop("step")
    by_step: dict[float, dict[str, float]] = {}
    for at, step in zip(table.index.tolist(), table["step"].tolist(), strict=True):
        by_step.setdefault(step, {}).update(rows[at])
    curve = pd.DataFrame([*by_step.values()], index=[*by_step], columns=metrics, dtype=float)
    return curve.sort_index().rename_axis("step").reset_index()


def _replaced(table: pd.DataFrame, curve: pd.DataFrame) -> tuple[int, float, int]:
    """How many rows a later row of the same step replaces, the step with the most rows, and how many it has.

    A row is replaced if a later row of its step has another value of a metric. A time is none.
    """
    metrics = [column for column in table if column != "step" and not _TIME.search(str(column))]
    if not metrics:
        return 0, 0, 0
    last = curve.set_index("step").loc[table["step"], metrics].set_axis(table.index)
    replaced = ((table[metrics] != last) & table[metrics].notna()).any(axis=1)
    rows_of_step = table["step"][replaced].value_counts()
    return int(replaced.sum()), *(
        (rows_of_step.index[0], int(rows_of_step.iloc[0]) + 1) if len(rows_of_step) else (0, 0)
    )


def _refuse_labels(name: str, rows: Sequence[Row], table: pd.DataFrame, step: str, wanted: Collection[str]) -> None:
    """Raise SeveralCurvesError if one step has several values of a metric and another column tells them apart: they are
    several curves, and no step that a resumed run logged again.
    """
    steps, number_labels = table[step].tolist(), _number_labels(table, step, wanted)
    recurring: dict[str, bool] = {}

    def fullness(row: int) -> int:
        return len(_numbers(rows[row]))

    by_step = table[table[step].duplicated(keep=False)].groupby(step)
    metrics = [column for column in table if column != step and not _TIME.search(str(column))]
    if not metrics:
        return
    several = by_step[metrics].nunique() > 1
    differing = {at: {*several.columns[row]} for at, row in zip(several.index, several.to_numpy(), strict=True)}
    for number, group in by_step:
        if not differing[number]:
            continue  # lines of one step that have different metrics
        words = _telling_apart([rows[row] for row in group.index])
        for column in words:
            if column not in recurring:
                recurring[column] = _recurs(column, rows, steps)
        words = [column for column in words if recurring[column]]
        labels = [*words, *(column for column in number_labels if column in differing[number])]
        if not labels or (not words and differing[number] <= {*labels}):
            continue
        repeat = next((n for n in number_labels if is_repeat(n) and group[n].dropna().is_unique), None)
        label = labels[0]
        fullest = max(group.index[group[label].notna()] if label in number_labels else group.index, key=fullness)
        raise SeveralCurvesError(
            f"{name}: step {number:g} has {len(group)} rows, which differ in {', '.join(labels)}. A curve has one row "
            f"for each step. To read the rows of one curve, type {row_filter(label, rows[fullest][label])}",
            repeat or "",
            [*dict.fromkeys(str(rows[row][repeat]) for row in table[repeat].dropna().index)] if repeat else [],
        )


def _number_labels(table: pd.DataFrame, step: str, wanted: Collection[str]) -> list[str]:
    """The columns with the same numbers, several, at every step, such as a seed. The last step may lack some.

    Args:
        wanted: metrics.
    """
    again = table[table[step].duplicated(keep=False)]
    labels = []
    for column in map(str, table):
        if column in (step, TABLE, *wanted) or _TIME.search(column) or again[column].isna().all():
            continue
        values = set(again.loc[again[step] == again.loc[again[column].notna(), step].iloc[0], column].dropna())
        if len(values) > 1 and table[column].nunique() == len(values):
            sets = table[column].dropna().groupby(table[step]).agg(set)
            if len(sets) > 1 and all(at_step == values for at_step in sets.iloc[:-1]):
                labels.append(column)
    return labels


def _recurs(column: str, rows: Sequence[Row], steps: Sequence[float]) -> bool:
    """Whether a word of a column stands at two steps, or the column has words at one step alone."""
    pairs = zip(rows, steps, strict=True)
    words = {(str(row[column]), step) for row, step in pairs if _is_word(row.get(column))}
    times = Counter(word for word, _ in words)
    return max(times.values(), default=0) > 1 or len({step for _, step in words}) == 1


def _refuse_tables(name: str, table: pd.DataFrame) -> None:
    """Raise UsageError if the text has several tables (`evals.audit.console.stepped`), and lists them."""
    if TABLE not in table or table[TABLE].nunique() == 1:
        return
    lines = [
        f"  {number:.0f}: {len(rows)} rows of {', '.join(rows.dropna(axis=1, how='all').columns.drop(TABLE))}"
        for number, rows in table.groupby(TABLE)
    ]
    raise UsageError(
        f"{name}: it has {len(lines)} tables. To read the first, type {row_filter(TABLE, 1)}. The tables are:\n"
        + "\n".join(lines)
    )


def _telling_apart(rows: Sequence[Row]) -> list[str]:
    """The columns of words that do not have one value in all rows, but for times."""
    words = {column: [row.get(column) for row in rows] for column in rows[0] if not _TIME.search(str(column))}
    return [column for column, values in words.items() if all(map(_is_word, values)) and len({*map(str, values)}) > 1]


def _is_word(value: object) -> bool:
    """No number, no date and no duration."""
    return isinstance(value, str) and _WORD.match(value) is not None and not _DURATION.fullmatch(value)


def _which_step(rows: Sequence[Row], table: pd.DataFrame) -> str:
    """The advice where no column has the name of a step: the first with a similar name, or the first whose whole
    numbers grow from row to row, or without one, the row's number. Nothing where the rows may be no steps."""
    if alike := [str(n) for n in table if _may_be_step(str(n)) and (table[n].nunique() > 1 or len(table) == 1)]:
        return _step_advice(alike[0])
    for column, value in rows[0].items():
        if _may_be_step(column) and _is_word(value):
            return f"{column} may be the step, but it holds words such as {value}. Write the number of the step there"
    if "k" in table:
        return "k may be the k of pass@k, and those are no steps of one training"
    if repeats := [str(column) for column in table if is_repeat(str(column))]:
        return f"{repeats[0]} may number repeats or seeds, and those are no steps of one training"
    growing = [str(n) for n in table if (table[n].dropna() % 1 == 0).all() and (table[n].diff()[1:] > 0).all()]
    step = growing[0] if growing else ROW
    if named([step], PROBLEM_IDS, ROW_IDS):
        return f"{step} may number problems, and those are no steps of one training"
    names = [column for column in _telling_apart(rows) if len({row[column] for row in rows}) >= NEARLY_ALL * len(rows)]
    if names:
        return f"Nearly each row has another {names[0]}, so the rows may be runs, and no steps of one training"
    return _step_advice(step)


def _may_be_step(column: str) -> bool:
    """Whether a name is like that of a step, such as ckpt_step, and none of a time or a rate, such as step_time."""
    return _STEP_NAME.search(column) is not None and not _TIME.search(column) and not _RATE.search(column)


def _step_advice(column: str) -> str:
    return f"If {'each row' if column == ROW else column} is a step, type {shlex.quote(f'columns=step:{column}')}"


def _nans(table: pd.DataFrame, rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Metric -> the last step at which the file says that it is NaN."""
    places = zip(table.index.tolist(), table["step"].tolist(), strict=True)
    return {name: step for at, step in places for name, value in rows[at].items() if value != value}


def _digits(rows: Sequence[Row]) -> dict[str, int]:
    """Metric -> the most digits after the point that one of its numbers has in the file."""
    digits: dict[str, int] = {}
    for row in rows:
        for name, value in row.items():
            if isinstance(value, float):
                digits[str(name)] = max(digits.get(str(name), 0), digits_of(value))
    return digits


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
_STEP_NAME = re.compile(r"step|(?<![a-z])iter|ckpt|checkpoint", re.IGNORECASE)
_RATE = re.compile(r"(?<![a-z])per(?![a-z])|/s", re.IGNORECASE)
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?\s*(?:d|h|m|s|ms|days?|hours?|min|minutes?|sec|seconds?)\b[\s,]*)+[\d:.]*")
EVALUATION = re.compile(r"(?:\b|_)(?:val|valid|validation|eval|evaluation|test)(?:\b|_)|bench")
