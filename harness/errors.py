"""Errors in what a user gave, found before anything costly starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from evals import suggest as naming
from evals.errors import Faults, UsageError

__all__ = ["Faults", "UsageError", "choose", "nearest", "refuse_unused"]

NOUNS = {"what": "list", "only": "family"}  # what an error calls one, where not by its key


def nearest(name: str, valid: Iterable[str]) -> str:
    """A hint: the closest valid name, or all of them when none is close (of `hardware.foo`: its keys)."""
    valid = sorted(valid)
    close = naming.nearest(name, valid)
    if close:
        return f"Did you mean {close!r}?"
    group, _ = naming.group_of(name, valid)
    valid = [full for full in valid if full.startswith(group)]
    return f"Expected one of: {', '.join(valid)}"


def choose(key: str, names: Sequence[str] | None, valid: Iterable[str], default: list[str] | None = None) -> list[str]:
    """The requested names, each checked to be valid. All valid ones (or `default`) when none was requested."""
    valid = list(valid)
    if names is None:
        return default if default is not None else valid
    for name in names:
        if name not in valid:
            raise UsageError(f"{key}={name}: no such {NOUNS.get(key, key)}. {nearest(name, valid)}")
    return list(names)


def refuse_unused(why: str, **given: object) -> None:
    """Raise UsageError if an option was given that this call does not use: nothing that is typed is ignored.

    Args:
        why: completes "KEY=VALUE: not used ", as "with two runs, which are named".
        given: option -> its value. None, False, an empty tuple and an empty mapping: it was not given.
    """
    for key, value in given.items():
        if value is None or value is False or (isinstance(value, (tuple, Mapping)) and not value):
            continue
        if isinstance(value, Mapping):
            value = [f"{column}:{source_column}" for column, source_column in value.items()]
        shown = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value
        raise UsageError(f"{key}={shown}: not used {why}")
