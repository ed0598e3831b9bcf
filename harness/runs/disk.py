"""Report a full disk as one clear error: libraries fail with different messages, so check the disk itself."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FULL_MB = 16.0  # with less space no checkpoint fits, and the full disk is the most likely cause of the failure


@contextmanager
def full_disk_named(folder: Path) -> Iterator[None]:
    """Report an error inside the block as a full disk, if the disk is full.

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
