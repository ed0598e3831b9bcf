"""A path into an object of a file: `doc.id`, `output.-1`."""

from __future__ import annotations

import json
import re
from typing import Any


class Absent:
    """The value of a path that leads nowhere."""


ABSENT = Absent()


def reach(value: object, name: str) -> Any:
    """value["a"]["b"] for "a.b" (or value["a.b"]), value["a"][-1] for "a.-1"; of "a|b" the first that has a value;
    `ABSENT` where there is none."""
    found = [there for path in name.split("|") if (there := _reach(value, path)) is not ABSENT]
    return next((there for there in found if there is not None), None if found else ABSENT)


_INDEX = re.compile(r"-?\d+")
_NAME = re.compile(r"[A-Za-z_]\w*")


def in_jq(path: str) -> str:
    """A path as jq writes it: `data.correct` as `.data.correct`, `output.-1` as `.output[-1]`."""
    first, *others = path.split("|")[0].split(".")
    begun = f".{first}" if _NAME.fullmatch(first) else f".[{json.dumps(first)}]"
    return begun + "".join(
        f"[{part}]" if _INDEX.fullmatch(part) else f".{part}" if _NAME.fullmatch(part) else f"[{json.dumps(part)}]"
        for part in others
    )


def _reach(value: object, path: str) -> Any:
    if isinstance(value, dict) and path in value:
        return value[path]
    first, dot, rest = path.partition(".")
    if isinstance(value, list) and _INDEX.fullmatch(first) and -len(value) <= int(first) < len(value):
        inside = value[int(first)]
    elif isinstance(value, dict) and first in value:
        inside = value[first]
    else:
        return ABSENT
    return _reach(inside, rest) if dot else inside
