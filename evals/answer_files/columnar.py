"""Tables that are one JSON object: columns and data, as Weights & Biases writes them, and a data frame's columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FEWEST = 2  # columns, and rows


def table_of(whole: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The rows of a table that is one object; None of another object.

    Three forms are read: `{"columns": [names], "data": [[values]]}`, `{name: [values]}` with lists of one length, and
    `{name: {"0": value, "1": value}}` with the same numbers in each, as pandas writes a data frame.
    """
    names, data = whole.get("columns"), whole.get("data")
    if isinstance(names, list) and isinstance(data, list) and all(isinstance(name, str) for name in names):
        fits = bool(data) and all(isinstance(row, list) and len(row) == len(names) for row in data)
        return [dict(zip(names, row, strict=True)) for row in data] if fits else None
    columns = list(whole.values())
    if len(columns) < FEWEST:
        return None
    if all(isinstance(column, list) for column in columns):
        lengths = {len(column) for column in columns}
        plain = not any(isinstance(value, list | dict) for column in columns[:1] for value in column)
        whole_table = len(lengths) == 1 and min(lengths) >= FEWEST and plain
        return [dict(zip(whole, row, strict=True)) for row in zip(*columns, strict=True)] if whole_table else None
    if all(isinstance(column, dict) for column in columns) and not any(name.isdigit() for name in whole):
        keys = [*columns[0]]
        numbered = len(keys) >= FEWEST and keys == [str(number) for number in range(len(keys))]
        if numbered and all([*column] == keys for column in columns):
            return [{name: column[key] for name, column in whole.items()} for key in keys]
    return None
