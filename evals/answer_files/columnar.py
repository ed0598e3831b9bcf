"""Tables that are one JSON object: columns and data, as Weights & Biases writes them, and a data frame's columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FEWEST = 2  # columns, and rows


def table_of(whole: Mapping[str, Any]) -> list[dict[str, object]] | None:
    """The rows of a table that is one object; None of another object.

    Three forms are read: `{"columns": [names], "data": [[values]]}`, `{name: [values]}` with lists of one length, and
    `{name: {"0": value, "1": value}}` with the same numbers in each, as pandas writes a data frame.
    """
    names, data = whole.get("columns"), whole.get("data")
    if isinstance(names, list) and isinstance(data, list) and all(isinstance(name, str) for name in names):
        fits = bool(data) and all(isinstance(row, list) and len(row) == len(names) for row in data)
        return [dict(zip(names, row, strict=True)) for row in data] if fits else None
    if len(whole) < FEWEST:
        return None
    if all(isinstance(column, list) for column in whole.values()):
        return _of_lists(whole)
    if all(isinstance(column, dict) for column in whole.values()) and not any(name.isdigit() for name in whole):
        return _of_numbered(whole)
    return None


def _of_lists(columns: Mapping[str, list[Any]]) -> list[dict[str, Any]] | None:
    """The rows of columns of one length, whose first one holds no lists or objects."""
    first, *more_columns = columns.values()
    plain = not any(isinstance(value, list | dict) for value in first)
    if not plain or len(first) < FEWEST or any(len(column) != len(first) for column in more_columns):
        return None
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _of_numbered(columns: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]] | None:
    """The rows of columns whose keys are the same numbers from "0"."""
    keys = [*next(iter(columns.values()))]
    if len(keys) < FEWEST or keys != [str(number) for number in range(len(keys))]:
        return None
    if any([*column] != keys for column in columns.values()):
        return None
    return [{name: column[key] for name, column in columns.items()} for key in keys]
