"""The options of a command that runs: one value, made at the door and handed down to the jobs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from harness.errors import UsageError

GROUPS = ("hardware", "launcher", "eval")
Names = str | Sequence[str]
T = TypeVar("T")
D = TypeVar("D")


@dataclass(frozen=True)
class RunOptions:
    """The options of `rlvr run` that choose jobs and their machine. None: not given.

    Args:
        values: all other keys, in the order of the call: values of the declaration, `hardware.KEY`, `launcher.KEY`,
            `eval.KEY` and `keep`.
    """

    arm: Names | None = None
    model: Names | None = None
    arms: Names | None = None
    scale: str | None = None
    backend: str | None = None
    seeds: int | Sequence[int] | None = None
    data_dir: str | None = None
    hardware: str | None = None
    launcher: str | None = None
    jobs: int | None = None
    minutes: float | None = None
    force: bool | None = None
    allow_overlap: bool | None = None
    values: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def from_keys(cls, given: Mapping[str, object]) -> RunOptions:
        """The options by their keys. None and False of an option mean that it was not given."""
        values = flat(given)
        named: dict[str, Any] = {name: values.pop(name) for name in OPTIONS if name in values}
        if isinstance(folder := named.get("data_dir"), os.PathLike):
            named["data_dir"] = os.fspath(folder)
        return cls(**{name: value for name, value in named.items() if value is not False}, values=values)

    def given(self) -> dict[str, object]:
        """By key, what was given."""
        named = {name: getattr(self, name) for name in OPTIONS}
        return {name: value for name, value in named.items() if value is not None} | dict(self.values)

    def group(self, name: str) -> dict[str, Any]:
        """The values of `name.KEY=VALUE`, by KEY."""
        return {key.removeprefix(f"{name}."): v for key, v in self.values.items() if key.startswith(f"{name}.")}

    def declared(self) -> dict[str, object]:
        """The values of the declaration."""
        apart = tuple(f"{group}." for group in GROUPS)
        return {key: value for key, value in self.values.items() if key != "keep" and not key.startswith(apart)}


OPTIONS = tuple(f.name for f in fields(RunOptions) if f.name != "values")


def flat(given: Mapping[str, object]) -> dict[str, object]:
    """The values by whole keys: {"hardware": {"device": "cpu"}} is {"hardware.device": "cpu"}."""
    values = dict(given)
    for group in GROUPS:
        if isinstance(nested := values.get(group), Mapping):
            values |= {f"{group}.{key}": value for key, value in nested.items()}
            del values[group]
    return values


def checked(key: str, value: T | None, kind: type[T], default: D) -> T | D:
    """The value of an option, to which a caller in Python may give any type (int accepts no bool).

    Raises:
        UsageError: it is not of this kind.
    """
    if value is None:
        return default
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise UsageError(f"{key}: expected {kind.__name__}, got {value!r}")
    return value


def names(value: Names | None) -> list[str] | None:
    """One name or several as a list of them."""
    return None if value is None else [str(v) for v in value] if isinstance(value, list | tuple) else [str(value)]
