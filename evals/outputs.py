"""The files that a command writes where its user says (`out=`, `page=`): no file that it reads, none of a run, none
read-only."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from evals.errors import DamagedFileError, UsageError
from evals.files import read_object

OUTPUTS = ("out", "page")  # the options that name what a command writes
LONGEST = 4096  # bytes of a path
VERDICTS, RECORD = "verdicts.parquet", "run.json"  # files of an evaluation, of a run


@dataclass(frozen=True)
class Inputs:
    """The texts that a call was given, of which some name files that it reads."""

    texts: tuple[str, ...]

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, object]) -> Inputs:
        """Those of a call's arguments by their names. `out` and `page` are its outputs."""
        return cls(tuple(text for name, value in arguments.items() if name not in OUTPUTS for text in _texts(value)))

    def refuse(self, key: str, output: Path) -> None:
        """Check an output before anything starts.

        Args:
            key: the option that names it. output: a file, which may be there already.
        Raises:
            UsageError: it is an input, a file of a run, or read-only. Links are followed, and hard links are found.
        """
        try:
            status = output.stat()
        except OSError:
            return
        if stat.S_ISCHR(status.st_mode) or stat.S_ISDIR(status.st_mode):  # a terminal is read and written
            return
        if any(os.path.samestat(status, file.stat()) for file in self._files()):
            raise UsageError(f"{key}={output}: this file is an input of the command. Type another name after {key}=")
        if folder := _run_of(output):
            raise UsageError(f"{key}={output}: this file belongs to the run {folder}. Type another name after {key}=")
        if not status.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
            raise UsageError(f"{key}={output}: this file is read-only. Type another name, or chmod u+w {output}")

    def _files(self) -> Iterator[Path]:
        """The files that the texts name: as they are, as globs, as parts of a list, or before a ?query."""
        for text in self.texts:
            for part in dict.fromkeys((text, text.partition("?")[0], *text.split(","))):
                if part and "\0" not in part:
                    places = [part] if os.path.exists(part) else glob.glob(part)
                    yield from (Path(place) for place in places if os.path.isfile(place) or _is_pipe(place))


def check(arguments: Mapping[str, object]) -> Inputs:
    """The inputs of a call, of which its outputs are none.

    Raises:
        UsageError: as `Inputs.refuse`, or two outputs are one file.
    """
    inputs = Inputs.from_arguments(arguments)
    given = {key: Path(out) for key in OUTPUTS if isinstance(out := arguments.get(key), (str, os.PathLike))}
    for key, output in given.items():
        inputs.refuse(key, output)
    places = [os.path.realpath(output) for output in given.values() if not _is_device(output)]
    if len({*places}) < len(places):
        raise UsageError(f"{' and '.join(given)}: expected two files, got {' and '.join(map(str, given.values()))}")
    return inputs


def _texts(value: object, depth: int = 2) -> Iterator[str]:
    """The texts and paths in a value that may name a file: those in rows of data are none."""
    if isinstance(value, (str, os.PathLike)):
        text = os.fspath(value)
        if isinstance(text, str) and len(text) <= LONGEST:
            yield text
    elif depth and isinstance(value, (Mapping, list, tuple)):
        parts = value.values() if isinstance(value, Mapping) else value
        yield from (text for part in parts for text in _texts(part, depth - 1))


def _is_device(output: Path) -> bool:
    return output.exists() and stat.S_ISCHR(output.stat().st_mode)


def _is_pipe(place: str) -> bool:
    return stat.S_ISFIFO(os.stat(place).st_mode)


def _run_of(file: Path) -> Path | None:
    """The folder of a run or an evaluation that a file is in."""
    place = Path(os.path.realpath(file))
    for folder in place.parents:
        if (folder / VERDICTS).is_file() or _is_record(folder / RECORD):
            return folder
    return None


def _is_record(path: Path) -> bool:
    try:
        return {"sha256", "state"} <= (read_object(path) or {}).keys()
    except (DamagedFileError, OSError):
        return False
