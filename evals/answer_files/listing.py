"""The paths of a row of unknown form, as `columns=` takes them, each with its type and the beginning of its value."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from evals.answer_files.values import is_conversation, is_number, is_parts, output_of, text_of
from evals.errors import UsageError
from evals.paths import ABSENT, opened, reach

SHOWN = 30  # paths
LARGE = 30  # names in an object of one kind of value, which are ids
_DEEPEST = 7  # objects and lists around a value
_SHORT_LIST = 4  # a list of so few values of several types is listed value by value: [text, number]
_BEGINNING = 40  # characters of a value
_WIDEST = 34  # characters of a column of the listing


def listing(row: Mapping[str, object], most: int = SHOWN) -> str:
    """One line for each path, of the first `most`."""
    paths = paths_of(row)
    cells = [(path, kind(value := reach(row, path)), beginning(value)) for path in paths[:most]]
    wide = [min(_WIDEST, max((len(cell[at]) for cell in cells), default=0)) for at in (0, 1)]
    lines = [f"  {path:<{wide[0]}}  {type_text:<{wide[1]}}  {begins}".rstrip() for path, type_text, begins in cells]
    more = [f"  and {len(paths) - most} more"] if len(paths) > most else []
    return "\n".join(lines + more)


def paths_of(row: Mapping[str, object]) -> list[str]:
    """The paths to the values in a row, in its order; of a list of objects, each name of all its items at once
    (`choices.*.text`). Each path leads to a value (`evals.paths.reach`)."""
    return [path for path in dict.fromkeys(_paths(row, "", _DEEPEST)) if path and reach(row, path) is not ABSENT]


def kind(value: object) -> str:
    """The type of a value, for people: `text`, `2 × text`."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "number"
        case str():
            return "text"
        case []:
            return "empty list"
        case list():
            several = " or ".join(dict.fromkeys(map(kind, value)))
            return "conversation" if is_spoken(value) else f"{len(value)} × {several}"
        case _:
            return "object"


def beginning(value: object) -> str:
    """The beginning of a value, in one line; of a list, of its first item that is something."""
    if is_spoken(value):
        try:
            value = text_of(value)
        except UsageError:  # its parts are no texts
            return ""
    if isinstance(value, list):
        return beginning(next((item for item in value if item is not None), None)) if value else ""
    if value is None or isinstance(value, Mapping):
        return ""
    text = json.dumps(value[: _BEGINNING + 1] if isinstance(value, str) else value, ensure_ascii=False, default=str)
    return text if len(text) <= _BEGINNING else text[: _BEGINNING - 1] + "…"


def is_spoken(value: object) -> bool:
    """Whether it is a conversation, a message in parts, or the output of an OpenAI response."""
    return isinstance(value, list) and (is_conversation(value) or is_parts(value) or output_of(value) is not None)


def _paths(value: object, at: str, depth: int) -> Iterator[str]:
    """The path to a text also where the text is JSON with paths inside."""
    inner = opened(value) if isinstance(value, str) else value
    below: list[str] = []
    if isinstance(inner, Mapping) and len(inner) >= LARGE and _one_kind(inner):
        below = [f"{at}.*" if at else "*"]
    elif isinstance(inner, Mapping) and depth:
        below = [
            path
            for name, inner_value in inner.items()
            for path in _paths(inner_value, f"{at}.{name}" if at else str(name), depth - 1)
        ]
    elif isinstance(inner, list) and inner and depth and not is_spoken(inner):
        below = list(_of_list(inner, at, depth))
        below = [f"{at}.*" if path == at else path for path in below] if isinstance(value, str) else below
    if isinstance(value, str) or not below:
        yield at
    yield from below


def _one_kind(values: Mapping[str, object]) -> bool:
    """Whether all values are texts, or all are numbers: the names are ids."""
    return all(isinstance(value, str) for value in values.values()) or all(map(is_number, values.values()))


def _of_list(values: list[object], at: str, depth: int) -> Iterator[str]:
    items = [item for item in values if item is not None]
    types = {float if isinstance(item, int | float) and not isinstance(item, bool) else type(item) for item in items}
    if types == {dict}:
        every: dict[str, object] = {}
        for item in items:
            assert isinstance(item, dict)
            every |= {name: value for name, value in item.items() if every.get(name) is None}
        yield from _paths(every, f"{at}.*", depth - 1)
    elif types == {list} and not is_spoken(items[0]) and _has_objects(items[0]):
        yield from _paths(items[0], f"{at}.*", depth - 1)
    elif len(types) > 1 and len(values) <= _SHORT_LIST:
        yield from (path for number, item in enumerate(values) for path in _paths(item, f"{at}.{number}", depth - 1))
    else:
        yield at


def _has_objects(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, Mapping) for item in value)
