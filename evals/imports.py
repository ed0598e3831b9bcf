"""Import large packages without the garbage collector."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause the garbage collector while packages are imported in the block.

    They make hundreds of thousands of objects that stay, and the collector would look through all of them again and
    again: a fifth of the time that TRL's imports take. They are also excluded from later collections.
    """
    modules_before, enabled = len(sys.modules), gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if len(sys.modules) > modules_before:  # else nothing was imported, and a caller's own objects would be excluded
            gc.freeze()
        if enabled:
            gc.enable()
