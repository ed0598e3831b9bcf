"""Whether a file was given twice: by another path, by a link, or as a copy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from evals.errors import UsageError
from evals.files import file_sha256


def refuse_same(paths: Sequence[Path], counted_as: str, *, copies: bool = True) -> None:
    """Refuse two files of which one is the other.

    Args:
        counted_as: what each file would be, such as "a seed".
        copies: refuse two files with one content too. Curves of several recipes can be equal by chance.
    Raises:
        UsageError: two are one file, or have one content.
    """
    files = [path for path in paths if path.is_file()]
    sizes = [path.stat().st_size for path in files]
    once = f"which is not {counted_as} twice. Leave one out"
    for at, path in enumerate(files):
        for before in range(at):
            earlier = files[before]
            if os.path.samefile(path, earlier):
                raise UsageError(f"{earlier} and {path} are the same file, {once}")
            if copies and sizes[at] == sizes[before] and file_sha256(path) == file_sha256(earlier):
                raise UsageError(f"{earlier} and {path} have the same content, {once}")
