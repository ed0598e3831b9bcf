"""The tables of numbers in one JSON object, as a training script saves its history."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

from evals.audit.console import STEPS
from evals.errors import UsageError
from evals.paths import opened

Row = dict[str, object]
FEWEST = 2  # rows of a table
DEEPEST = 5  # objects around a table
LISTED = 12  # names of a table in an error


def table_in(whole: Mapping[str, object], wanted: Collection[str | None]) -> list[Row] | None:
    """The rows of the table in an object. None of an object without a table.

    A table is a list of objects, the lists of numbers of one length that stand in one object, an object of step -> row,
    or an object of metric -> points, each with a step and a value. Where there are several, its columns have their
    whole paths as names (`losses.*.step`).

    Args:
        wanted: the paths that the user named, all of which the table has. They are needed where there are several.
    Raises:
        UsageError: there are several tables, and `wanted` does not say which.
    """
    tables = list(_tables(whole, ""))
    if len(tables) <= 1:
        return tables[0][1] if tables else None
    named = [[{f"{at}{name}": value for name, value in row.items()} for row in rows] for at, rows in tables]
    columns = [dict.fromkeys(name for row in table for name in row) for table in named]
    fitting = [table for table, names in zip(named, columns, strict=True) if wanted and names.keys() >= {*wanted}]
    if len(fitting) == 1:
        return fitting[0]
    lines = (f"  {len(table):,} rows: {_listed([*names])}" for table, names in zip(named, columns, strict=True))
    raise UsageError(
        f"it has {len(tables)} tables. Name the columns of one of them. To draw it, type rlvr curves FILE "
        "columns=step:PATH,train/reward:PATH. To audit it, type metric=PATH columns=step:PATH. step:row counts the "
        "rows. The tables are:\n" + "\n".join(lines)
    )


def flat(row: Mapping[str, object]) -> Row:
    """A row without objects inside, also in texts: {"loss": {"kl": 1}} is {"loss.kl": 1}."""
    values: Row = {}
    for name, value in row.items():
        value = opened(value) if isinstance(value, str) and value.startswith("{") else value
        inside = flat(value) if isinstance(value, Mapping) else {}
        values |= {f"{name}.{inner}": number for inner, number in inside.items()} or {name: value}
    return values


def _tables(whole: Mapping[str, object], at: str, depth: int = DEEPEST) -> Iterator[tuple[str, list[Row]]]:
    """The path before the names of a table's columns, and its rows."""
    if rows := _by_step(whole) or _by_metric(whole):
        yield at, rows
        return
    columns: dict[int, dict[str, Sequence[object]]] = {}
    for name, value in whole.items():
        if isinstance(value, list) and len(value) >= FEWEST:
            if all(isinstance(row, dict) for row in value):
                rows = [flat(row) for row in value]
                if any(map(_is_number, chain.from_iterable(row.values() for row in rows))):
                    yield f"{at}{name}.*.", rows
            elif all(item is None or isinstance(item, int | float) for item in value):
                columns.setdefault(len(value), {})[name] = value
        elif isinstance(value, Mapping) and depth:
            yield from _tables(value, f"{at}{name}.", depth - 1)
    for table in columns.values():
        yield at, [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _by_step(whole: Mapping[str, object]) -> list[Row]:
    """The rows of an object whose keys are all numbers of steps. [] of another."""
    if len(whole) < FEWEST or not all(name.isdecimal() and isinstance(row, dict) for name, row in whole.items()):
        return []
    return [{"step": int(name), **flat(row)} for name, row in whole.items() if isinstance(row, dict)]


def _by_metric(whole: Mapping[str, object]) -> list[Row]:
    """The rows of an object of metric -> points with a step and a value, as a tracker exports them. [] of another."""
    rows: list[Row] = []
    for name, points in whole.items():
        for point in points if isinstance(points, list) and points else [None]:
            step = next((step for step in STEPS if isinstance(point, dict) and step in point), None)
            if not isinstance(point, dict) or step is None or "value" not in point:
                return []
            rows.append({"step": point[step], name: point["value"]})
    return rows


def column_name(path: str) -> str:
    """The name of a column without the way to its table."""
    return path.rpartition("*.")[2] if "*." in path else path.rpartition(".")[2]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:LISTED]) + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")
