"""The base class of declarations: sourced values, checked against their annotations, with overrides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, ClassVar, Self, get_args, get_type_hints

from evals.notebook import Block, Table, Tabular
from evals.provenance import Origin, Sourced
from harness.errors import Faults, UsageError
from harness.spec.ranges import check_value


@dataclass(frozen=True)
class Declared(Tabular):
    """A dataclass whose fields are `Sourced` values. A subclass lists its other fields in `PARTS`."""

    PARTS: ClassVar[tuple[str, ...]] = ()  # names of the fields that are not Sourced values
    PREFIX: ClassVar[str] = ""  # before its keys in error messages

    def __post_init__(self) -> None:
        kinds, faults = self.kinds(), Faults()
        for key, sourced in self._sourced_fields():
            if not isinstance(sourced, Sourced):
                raise UsageError(f"{self.PREFIX}{key}: {sourced!r} has no source. Wrap it in paper, code or assumed")
            with faults.gathered():
                check_value(self.PREFIX + key, sourced.value, kinds[key])
        faults.refuse()

    @classmethod
    def kinds(cls) -> dict[str, object]:
        """Key -> the annotation inside `Sourced[...]` of each field."""
        declared: Any = cls  # hashable, which mypy cannot see
        return dict(_kinds(declared))

    def _sourced_fields(self) -> Iterator[tuple[str, Sourced[object]]]:
        return ((f.name, getattr(self, f.name)) for f in fields(self) if f.name not in self.PARTS)

    def settings(self) -> dict[str, Sourced[object]]:
        """Every value of the declaration by its key."""
        return dict(self._sourced_fields())

    def rows(self) -> list[dict[str, object]]:
        values = self.settings().items()
        return [{"setting": key, "value": s.value, "source": str(s.origin), "note": s.note} for key, s in values]

    def blocks(self) -> list[Block]:
        return [Table(("setting", "value", "source", "where or why"), [*self._rows()])]

    def __str__(self) -> str:
        return "\n".join(f"{key} = {value}  ({origin}: {note})" for key, value, origin, note in self._rows())

    __repr__ = __str__

    def _rows(self) -> Iterator[tuple[str, str, str, str]]:
        return ((key, repr(s.value), str(s.origin), s.note) for key, s in self.settings().items())

    def override(self, values: Mapping[str, object], origin: Origin, note: str | Mapping[str, str]) -> Self:
        """The same declaration with other values. Each new value keeps the old one (`was`). `note` may differ by key.

        Raises:
            UsageError: a value does not fit. KeyError: this declaration has no such key.
        """
        unknown = set(values) - set(self.settings())
        if unknown:
            raise KeyError(sorted(unknown)[0])

        def swap(key: str, sourced: Sourced[object]) -> Sourced[object]:
            if key not in values:
                return sourced
            value = values[key]
            why = note if isinstance(note, str) else note[key]
            return sourced.replace(tuple(value) if isinstance(value, list) else value, origin, why)

        return replace(self, **self._swapped_parts(swap), **{key: swap(key, s) for key, s in self._sourced_fields()})

    def _swapped_parts(self, swap: Callable[[str, Sourced[object]], Sourced[Any]]) -> dict[str, object]:
        """The `PARTS` with their values replaced by `swap(key, value)`."""
        return {}


@cache
def _kinds(cls: Any) -> Mapping[str, object]:
    hints = get_type_hints(cls, include_extras=True)
    return {f.name: get_args(hints[f.name])[0] for f in fields(cls) if f.name not in cls.PARTS}
