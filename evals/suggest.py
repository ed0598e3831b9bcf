"""Errors for unknown names, with the nearest known one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable


def expected(name: str, valid: Iterable[str]) -> str:
    """ "Did you mean 'x'? Expected one of x, y": the nearest valid name if one is close, then all of them."""
    valid = list(valid)
    near = nearest(name, valid)
    hint = f"Did you mean {near!r}? " if near else ""
    return f"{hint}Expected one of {', '.join(valid)}"


def nearest(name: str, valid: Collection[str]) -> str | None:
    """The valid name closest to `name`, or None if none is close. One in other letters or signs comes first (MATH-500,
    and lighteval|gsm8k|5|0 for gsm8k). Only the last part of a dotted name counts, a name without its group belongs to
    the group, and the beginning of names is the shortest of them."""
    name, plain = str(name), {_plain(full): full for full in valid}
    words = (name, *re.split(r"[|:@/]", name))
    if same := next((plain[word] for word in map(_plain, words) if word in plain), None):
        return same
    if whole := next((full for full in sorted(valid) if full.endswith(f".{name}")), None):
        return whole
    group, last = group_of(name, valid)
    ends = {full[len(group) :]: full for full in valid if full.startswith(group)}
    if len(last) > 2 and (begun := [end for end in sorted(ends) if end.startswith(last)]):
        return ends[min(begun, key=len)]
    close = difflib.get_close_matches(last, list(ends), n=1, cutoff=0.5)
    return ends[close[0]] if close else None


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def group_of(name: str, valid: Collection[str]) -> tuple[str, str]:
    """ "hardware.foo" -> ("hardware.", "foo") where valid names begin so, else ("", name)."""
    head, dot, last = name.rpartition(".")
    return (head + dot, last) if dot and any(full.startswith(head + dot) for full in valid) else ("", name)
