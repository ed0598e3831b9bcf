"""Errors for unknown names, with the nearest known one."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable


def expected(name: str, valid: Iterable[str]) -> str:
    """ "did you mean 'x'? expected one of x, y": the nearest valid name if one is close, then all of them."""
    valid = list(valid)
    near = nearest(name, valid)
    hint = f"did you mean {near!r}? " if near else ""
    return f"{hint}expected one of {', '.join(valid)}"


def nearest(name: str, valid: Collection[str]) -> str | None:
    """The valid name closest to `name`; None if none is close. Of a dotted name only the last part counts, a name
    without its group is that of the group, and the beginning of names is the shortest of them."""
    if whole := next((full for full in sorted(valid) if full.endswith(f".{name}")), None):
        return whole
    group, last = group_of(str(name), valid)
    parts = {full[len(group) :]: full for full in valid if full.startswith(group)}
    if len(last) > 2 and (begun := [part for part in sorted(parts) if part.startswith(last)]):
        return parts[min(begun, key=len)]
    close = difflib.get_close_matches(last, list(parts), n=1, cutoff=0.5)
    return parts[close[0]] if close else None


def group_of(name: str, valid: Collection[str]) -> tuple[str, str]:
    """ "hardware.foo" -> ("hardware.", "foo") where valid names begin so; else ("", name)."""
    head, dot, last = name.rpartition(".")
    return (head + dot, last) if dot and any(full.startswith(head + dot) for full in valid) else ("", name)
