"""Which folders this program may delete: those that it made, as their record says, and with nothing else in them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from evals.files import DamagedFileError
from harness.errors import UsageError
from harness.record.record import RECORD, read_record


def refuse_foreign(folder: Path, kind: str, advice: str, also: Iterable[str] = ()) -> None:
    """Check a folder before it is deleted or replaced.

    Args:
        kind: of the run that its record must say. advice: what the user types instead.
        also: names of files that the program adds to a run of this kind, beside those that the record lists.
    Raises:
        UsageError: it is a link or no folder, its record is missing, damaged or of another kind, or it contains a file
            that the record does not list.
    """
    if folder.is_symlink() or not folder.is_dir():
        raise UsageError(f"{folder} is in the way: it is not a folder that this program made. {advice}")
    try:
        record = read_record(folder / RECORD) or {}
    except DamagedFileError as error:
        raise UsageError(f"{folder} is in the way: its record is damaged ({error.why}). {advice}") from error
    if record.get("kind") != kind:
        raise UsageError(f"{folder} is in the way: no record in it says that this program made it. {advice}")
    known = {RECORD, *record.get("files", {}), *also}
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink() or path.is_file())
    if foreign := [name for name in files if name not in known]:
        raise UsageError(f"{folder} is in the way: {foreign[0]} in it is not of this program. {advice}")
