"""A value and where it comes from.

Every number that decides a result is a `Sourced` value. A reader can then tell what the paper states from what was
assumed, and a record shows what was overridden.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from evals.errors import UsageError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
U = TypeVar("U")


class Origin(StrEnum):
    """Who vouches for a value."""

    PAPER = "paper"  # stated in the paper's text
    CODE = "code"  # in the authors' code, page, or the recipe they name
    ASSUMED = "assumed"  # stated nowhere that we could find. The note gives the reason for this value
    SCALE = "scale"  # replaced by a scale (for example the tiny one)
    USER = "user"  # replaced on the command line


@dataclass(frozen=True)
class Sourced(Generic[T_co]):
    """A value, who vouches for it, and where (or why). `was` is the value that this one replaced."""

    value: T_co
    origin: Origin
    note: str
    was: Sourced[object] | None = None

    def __post_init__(self) -> None:
        if not self.note.strip():
            raise UsageError(f"the value {self.value!r} has no source: say where it is stated, or why it is assumed")

    def replace(self, value: U, origin: Origin, note: str) -> Sourced[U]:
        """The same setting with another value. This one stays on record as `was`."""
        return Sourced(value, origin, note, was=self)

    def as_dict(self) -> dict[str, object]:
        """A JSON form: value, origin, note, and what was replaced (or null)."""
        was = self.was.as_dict() if self.was else None
        return {"value": self.value, "origin": str(self.origin), "note": self.note, "was": was}


def paper(value: T, where: str) -> Sourced[T]:
    """Stated in the paper. `where` names the section, table or equation."""
    return Sourced(value, Origin.PAPER, where)


def code(value: T, where: str) -> Sourced[T]:
    """In the authors' code or page, or a recipe that they name. `where` says which."""
    return Sourced(value, Origin.CODE, where)


def assumed(value: T, why: str) -> Sourced[T]:
    """Stated nowhere that we could find. `why` gives the reason for this value."""
    return Sourced(value, Origin.ASSUMED, why)


def described(record: Mapping[str, object]) -> str:
    """ "egsw (you set: prompt, n)", of a protocol as a record has it: its name and values."""
    changed = [
        key for key, value in record.items() if isinstance(value, Mapping) and value.get("origin") == Origin.USER
    ]
    return f"{record.get('name')}" + (f" (you set: {', '.join(changed)})" if changed else "")


def differing_fields(old: object, new: object, at: str = "") -> Iterator[tuple[str, object, object]]:
    """(field, old value, new value) wherever two JSON values differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from differing_fields(old.get(key), new.get(key), f"{at}.{key}" if at else key)
    elif old != new:
        yield at, old, new
