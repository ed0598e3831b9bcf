"""Rows that stand in lists inside a row: columns that reach into the items of lists say so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from evals.errors import UsageError
from evals.paths import ABSENT, kept, reach

TOGETHER = (("answer", "response"), ("id", "correct"))  # both of items of lists, each item has its own
SHOWN = 5  # values that a note lists
KEYS = ("problem", "problem_id", "id")


def select(
    path: Path, rows: Sequence[dict[str, object]], columns: Mapping[str, str], conditions: Sequence[str]
) -> tuple[list[dict[str, object]], str]:
    """The rows of a file that are read: those that fulfil all conditions of `rows=`, and a row for each item of lists
    (`items_as_rows`); and a sentence about the conditions.

    Raises:
        UsageError: no row fulfils them, or the lists have different lengths.
    """
    try:
        places, note = kept(rows, conditions)
        items = items_as_rows([rows[place] for place in places], columns)
        return items, ". ".join(filter(None, [note, *_unfound(items, columns)]))
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def _unfound(rows: Sequence[Mapping[str, object]], columns: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each path with a word (`verdict?right`) that no row has."""
    for path in dict.fromkeys(columns.values()):
        source, mark, word = path.partition("?")
        if not mark or any(path in row or _holds(reach(row, path)) for row in rows):
            continue
        values = dict.fromkeys(str(value) for row in rows if (value := reach(row, source)) is not ABSENT)
        yield f"no row has {word!r} as {source}. It is {', '.join([*values][:SHOWN])}"


def _holds(value: object) -> bool:
    return any(map(_holds, value)) if isinstance(value, list) else value is True


class _Column(NamedTuple):
    """A value, and in how many lists inside each other its items stand."""

    value: object
    depth: int


def items_as_rows(rows: list[dict[str, object]], columns: Mapping[str, str]) -> list[dict[str, object]]:
    """A row for each item, where the paths to the gold and to the response (or to the id and the verdict) both reach
    into items (`*`). The n-th items of all lists are one row. A value outside of the lists is that of all items.

    The names of such a row are the paths of `columns`, so each path leads to its value as before. Rows with samples of
    one problem, which have one gold and no problem of their own, are unchanged.

    Raises:
        UsageError: the lists have different lengths.
    """
    depth = max(min(columns.get(name, "").count("*") for name in pair) for pair in TOGETHER)
    several = any("*" in columns.get(name, "") for name in KEYS)
    if not depth or not (several or any(_differ(reach(row, columns["answer"])) for row in rows)):
        return rows
    paths = {path for column in columns.values() for path in column.partition("?")[0].split("|")}
    return [
        item
        for row in rows
        for item in _items({path: _Column(reach(row, path), path.count("*")) for path in paths}, depth)
    ]


def _items(columns: Mapping[str, _Column], depth: int) -> Iterator[dict[str, object]]:
    if not depth:
        yield {path: column.value for path, column in columns.items()}
        return
    lists = {path: column.value for path, column in columns.items() if column.depth and isinstance(column.value, list)}
    lengths = {path: len(values) for path, values in lists.items()}
    if len({*lengths.values()}) > 1:
        raise UsageError(f"lists of other lengths: {', '.join(f'{path} {length}' for path, length in lengths.items())}")
    for at in range(next(iter(lengths.values()), 0)):
        of_item = {path: _Column(values[at], columns[path].depth - 1) for path, values in lists.items()}
        yield from _items({**columns, **of_item}, depth - 1)


def _differ(value: object) -> bool:
    """Whether a list, also of lists, holds several golds."""
    return len({*_texts(value)}) > 1


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)
    else:
        yield str(value)
