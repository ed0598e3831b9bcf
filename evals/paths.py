"""A path into a row: `doc.id`, `output.-1`, `responses.*.content`, `status?OK`."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from evals.errors import UsageError


class Absent:
    """The value of a path that leads nowhere."""


ABSENT = Absent()
ROW = "row"  # the path to a row's own number, where no column has the name


def reach(value: object, name: str) -> Any:
    """The value at a path. `ABSENT` where there is none.

    `a.b` is value["a"]["b"] (or value["a.b"]), `a.-1` the last item of a list, `a.*.b` the list of the b of all items,
    `a|b` the first of two that has a value, and `a?OK` whether a is OK. A path also leads into a text that is JSON, or
    an object or list as Python prints it.
    """
    path, equals, wanted = name.partition("?")
    if equals and not (isinstance(value, dict) and name in value):
        return _equals(reach(value, path), wanted)
    values = [value_at_path for path in name.split("|") if (value_at_path := _reach(value, path)) is not ABSENT]
    return next((value_at_path for value_at_path in values if value_at_path is not None), None if values else ABSENT)


def opened(text: str) -> object:
    """The object or list that a text is. None of any other text."""
    if text.strip()[:1] not in ("{", "["):
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(text.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(value, dict | list):
            return value
    return None


_INDEX = re.compile(r"-?\d+")


def jq(of_each_row: str, file: object = "FILE") -> str:
    """The command that does something with each row of JSON Lines, or of a list in JSON."""
    return shlex.join(["jq", "-c", f"(arrays[], objects) | {of_each_row}", str(file)])


def _step(value: object, path: str) -> tuple[str, str]:
    """The first name on a path and the rest of it. In an object the longest name that it has: a name may have dots."""
    parts = path.split(".")
    lengths = (n for n in range(len(parts), 1, -1) if isinstance(value, dict) and ".".join(parts[:n]) in value)
    first = next(lengths, 1)
    return ".".join(parts[:first]), ".".join(parts[first:])


def _equals(value: object, wanted: str) -> object:
    """Whether a value is the wanted one, as text or number; of a list, of each item. Nothing stays nothing."""
    if value is ABSENT or value is None or value == "":
        return value
    if isinstance(value, list):
        return [_equals(item, wanted) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return value == float(wanted)
        except ValueError:
            return False
    return str(value).strip().lower() == wanted.strip().lower()


def _reach(value: object, path: str) -> object:
    if isinstance(value, str):
        value = opened(value)
    first, rest = _step(value, path)
    if first == "*" and isinstance(value, list | dict):
        return _of_each(list(value.values()) if isinstance(value, dict) else value, rest)
    if isinstance(value, list) and _INDEX.fullmatch(first) and -len(value) <= int(first) < len(value):
        inside = value[int(first)]
    elif isinstance(value, dict) and first in value:
        inside = value[first]
    else:
        return ABSENT
    return _reach(inside, rest) if rest else inside


def _of_each(items: list[object], path: str) -> object:
    """The value that the path leads to in each item, or None in an item where it leads nowhere, ABSENT where it does in
    all."""
    values = [_reach(item, path) if path else item for item in items]
    if items and all(value is ABSENT for value in values):
        return ABSENT
    return [None if value is ABSENT else value for value in values]


def kept(rows: Sequence[Mapping[str, object]], conditions: Sequence[str]) -> tuple[list[int], str]:
    """The places of the rows that fulfil all conditions, and a sentence without a full stop about it.

    Args:
        conditions: of `rows=`: `model?gpt` keeps the rows whose model is gpt, `answer` those that have an answer, and
            `runs.*` all rows, because it says which list they are in.
    Raises:
        UsageError: no row does.
    """
    of_rows = [condition for condition in conditions if not condition.endswith(".*")]  # the others are lists of rows
    places = [place for place, row in enumerate(rows) if all(map(partial(_fulfils, row), of_rows))]
    if places or not rows:
        return places, f"rows={', '.join(conditions)} keeps {len(places)} of {len(rows)} rows" if conditions else ""
    path = of_rows[0].partition("?")[0]
    values = dict.fromkeys(str(value) for row in rows if (value := reach(row, path)) is not ABSENT)
    has = f"{path} is {', '.join([*values][:_SHOWN])}" if values else f"No row has {path}"
    raise UsageError(f"rows={', '.join(conditions)} keeps none of {len(rows)} rows. {has}")


@contextmanager
def counting_kept(conditions: Sequence[str]) -> Iterator[None]:
    """A UsageError of the block about a row says that its number counts only the rows that `kept` keeps."""
    try:
        yield
    except UsageError as error:
        if not conditions or ", row " not in str(error):
            raise
        raise type(error)(f"{error}\n(The row's number counts only the rows that rows= keeps.)") from error


_SHOWN = 10  # values


def conditions_of(rows: Sequence[str] | str | None) -> tuple[str, ...]:
    """The conditions in `rows=`, which a user gives as one text or several."""
    return (rows,) if isinstance(rows, str) else tuple(rows or ())


def _fulfils(row: Mapping[str, object], condition: str) -> bool:
    value = reach(row, condition)
    return value is True if "?" in condition else value not in (ABSENT, None, "")


def row_filter(path: str, value: object = None) -> str:
    """`rows=PATH?VALUE`, as a shell reads it; without a value `rows=PATH`."""
    return shlex.quote(f"rows={path}" if value is None else f"rows={path}?{value}")


def refuse_mixed(
    path: Path, rows: Sequence[Mapping[str, object]], columns: Mapping[str, str], in_part: bool = True
) -> None:
    """Refuse rows of several kinds, as a log of events has: a column that some have and others lack.

    Args:
        in_part: the command takes `rows=`, which reads those that have it.
    Raises:
        UsageError: it names the first such row, and how to keep those that have it.
    """
    lacking = {
        column: [number for number, row in enumerate(rows, 1) if reach(row, source) is ABSENT]
        for column, source in columns.items()
    }
    partly = {column: numbers for column, numbers in lacking.items() if 0 < len(numbers) < len(rows)}
    if partly:
        column, numbers = max(partly.items(), key=lambda item: len(item[1]))
        source, has = columns[column], len(rows) - len(numbers)
        raise UsageError(
            f"{path}, row {numbers[0]}: no column {source!r} for {column}, which {has} of {len(rows)} "
            f"rows have. {f'To keep those, type {row_filter(source)}' if in_part else 'Write those to their own file'}"
        )
