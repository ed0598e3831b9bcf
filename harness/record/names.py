"""The names of a run: its folder, its base model, the command that made it."""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.spec.scales import base_name

JOB_FOLDER = re.compile(r"-(?P<digest>[0-9a-f]{8})-(?P<base>[0-9a-f]{6})-seed(?P<seed>\d+)$")  # how a job's folder ends


def folder_name(record: Mapping[str, object]) -> str:
    """The name of a run's folder: the model that was trained, the arm, what decides its result, and its seed."""
    base = re.sub(r"[^\w.-]+", "-", base_of(record)).lstrip(".-")[:60] or record["model"]
    return f"{base}-{record['arm']}{_ending(record)}"


def folder_of(place: Path, record: Mapping[str, Any]) -> Path:
    """The folder of a run under `place`: the one that is there, or a new one. A folder is found by the end of its name,
    which tells all runs apart: its beginning may be the paper's name of its model."""
    folders = sorted(place.glob(f"*-{glob.escape(record['arm'])}{_ending(record)}"))
    return folders[0] if folders else place / folder_name(record)


def _ending(record: Mapping[str, Any]) -> str:
    return f"-{record['digest']}-{record['base_model']['sha256'][:6]}-seed{record['seed']}"


def base_of(record: Mapping[str, Any]) -> str:
    """As `Run.base`, of a record."""
    stated = record["settings"].get("base_model") or {}
    return base_name(record["model"], str(stated.get("value", "")), stated.get("origin", ""))


def as_typed(command: str) -> str:
    """The command without the folder that its program was in."""
    program, _, rest = command.partition(" ")
    name = Path(program).name
    return f"{'rlvr' if name in ('cli.py', '__main__.py') else name} {rest}".strip()  # nox starts the module


def short_names(text: str) -> str:
    """Rows and functions given in Python by short names: data-0f3e12ab, short-54c0ffee."""
    form = r"[^\s'\"=]*/objects/(data-\w{8})\w{8}\.jsonl|python:([^\s'\"]+-\w{8})\w{8}"
    return re.sub(form, lambda match: match[1] or match[2], text)


READABLE = 120  # characters of a name
_FOLDERS = re.compile(r"(?<![\w.~/-])(?:/[^\s/'\",?&\]]+)+/(?=[^\s/'\",?&\]])")  # the folders of an absolute path


_FOLDER = "FOLDER/"  # stands for a folder of the machine that measured


def without_folders(text: str) -> str:
    """A command or its values for a page: `base_model=/data/models/m` is `base_model=FOLDER/m`."""
    return _FOLDERS.sub(_FOLDER, text)


def readable(text: str) -> str:
    """A name of values, where it only has to be recognised: of paths their last part, and no more than `READABLE`."""
    short = _FOLDERS.sub("", text).replace(_FOLDER, "")
    return short if len(short) <= READABLE else f"{short[: READABLE - 1]}…"
