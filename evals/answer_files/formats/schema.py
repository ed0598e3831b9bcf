"""The definition of a format: the types of a row, and the samples in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from evals.answer_files.sample import Sample
from evals.answer_files.values import short
from evals.errors import UsageError
from evals.paths import row_filter

Id = str | int
Number = int | float
Gold = str | int | float | list[str | int | float | None] | None
Texts = str | list[str | None]


class Part(BaseModel):
    """An object inside a row. Types are strict: a text is no number, and an object no text."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True, protected_namespaces=())

    @property
    def more(self) -> Mapping[str, object]:
        """The fields that the schema does not name."""
        return self.model_extra or {}


@dataclass(frozen=True)
class About:
    """The facts of a format beside the types of its rows.

    Attributes:
        name: of the format. tool, files, verdict: for people, in the table of the documentation.
        golds: how the tool counts several golds of a problem: "any" of them is right. None: it does not say.
        wanted: the names of its verdicts, the one to compare first.
        policy: of extraction, where its responses are programs.
        columnar: each column is a list, a value for each sample.
        loses_golds: the tool writes an empty gold where its normalisation left nothing.
        without: names that a row of the format does not have.
    """

    name: str
    tool: str
    files: str
    verdict: str = "none"
    golds: str | None = None
    wanted: tuple[str, ...] = ()
    policy: str | None = None
    columnar: bool = False
    loses_golds: bool = False
    without: frozenset[str] = frozenset()


class Format(Part):
    """A row of a tool's file."""

    about: ClassVar[About]

    def samples(self) -> list[Sample]:
        """The samples in the row.

        Raises:
            UsageError: the row has a value that the format does not allow there.
        """
        raise NotImplementedError

    @classmethod
    def required(cls) -> frozenset[str]:
        """The names that every row has."""
        return frozenset(f.alias or name for name, f in cls.model_fields.items() if f.is_required())

    @classmethod
    def named_like(cls, row: Mapping[str, object]) -> bool:
        """Whether a row has the names of the format, whatever their types."""
        return cls.required() <= row.keys() and not cls.about.without & row.keys()


def spread(**columns: Sequence[object] | None) -> list[dict[str, Any]]:
    """The values of each sample, from a list for each column. A column that is None is left out.

    Raises:
        UsageError: the lists have other lengths.
    """
    lists = {name: per_row for name, per_row in columns.items() if per_row is not None}
    if len(set(map(len, lists.values()))) > 1:
        raise UsageError(
            f"lists of other lengths: {', '.join(f'{name} {len(per_row)}' for name, per_row in lists.items())}"
        )
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]


def faults(error: ValidationError, row: Mapping[str, object]) -> str:
    """The faults of a row: its first field of another type, the value there, and what was expected."""
    first: tuple[int | str, ...] | None = None
    wanted: list[str] = []
    for fault in error.errors(include_url=False):
        where = _inside(fault["loc"], row, fault["type"] == "missing")
        first = where if first is None else first
        if where != first:
            continue
        if fault["type"] == "missing":
            kept = row_filter(_path(where))
            return (
                f"no field {_path(where)!r}; the row has {', '.join(row)}. To read the rows that have it, type {kept}"
            )
        if fault["type"] == "value_error":
            return ": ".join(filter(None, (_path(where), str(fault["ctx"]["error"]))))
        wanted += [_WORDS.get(fault["type"], fault["msg"])]
    assert first is not None  # an error has a fault
    value: Any = row
    for key in first:
        value = value[key]
    return f"{_path(first)} is {short(value)}. Expected {' or '.join(dict.fromkeys(wanted))}"


_WORDS = {
    "string_type": "a string",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "none_required": "null",
}


def _inside(where: tuple[int | str, ...], row: Mapping[str, object], lacks: bool) -> tuple[int | str, ...]:
    """The part of an error's place that is in the row: the rest names the branches of a union, or a field that it
    lacks."""
    value: Any = row
    inner_keys: list[int | str] = []
    for key in where:
        names = range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
        if key in names:
            value = value[key]
            inner_keys.append(key)
    return (*inner_keys, where[-1]) if lacks else tuple(inner_keys)


def _path(where: tuple[int | str, ...]) -> str:
    return ".".join(map(str, where))
