"""Keep the memory that a training frees, on a CPU: the next step needs it again.

glibc returns large freed blocks to the system; each page of the next tensor then costs a page fault and is filled with
zeros again. In a training of the tiny model that takes a tenth of the time. No number changes.
"""

from __future__ import annotations

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h
KEPT_BYTES = 2**31 - 1  # the most that mallopt takes
LARGEST_BLOCK = 2**30  # larger ones are still given back at once


def keep_freed_memory() -> bool:
    """Set this in the C library; False if it is not glibc."""
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    if mallopt is None:
        return False
    return bool(mallopt(M_MMAP_THRESHOLD, LARGEST_BLOCK)) and bool(mallopt(M_TRIM_THRESHOLD, KEPT_BYTES))
