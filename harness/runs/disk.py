"""Report a full disk as one clear error: each library fails on one in its own words, so the disk itself is asked."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FULL_MB = 16.0  # less than this is left: no checkpoint fits, and what failed most likely failed for it


@contextmanager
def full_disk_named(folder: Path) -> Iterator[None]:
    """Report an error inside, on a disk that is full, as a full disk.

    Raises:
        RuntimeError: from the error inside, if the disk of `folder` is full. Any other error passes as it is.
    """
    try:
        yield
    except Exception as error:  # raised again, as itself or as a full disk
        free = shutil.disk_usage(folder).free / 2**20
        if free < FULL_MB:
            raise RuntimeError(
                f"the disk of {folder} is full ({free:.0f} MB are free). What was finished is kept: make room, and the "
                "same command resumes there"
            ) from error
        raise
