"""This process's environment variables, and its end where memory is too small for a thread."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def threads_sleep() -> None:
    """Let waiting threads sleep soon instead of spin, unless the user chose otherwise: beside other work a step then
    takes a third of the time. Call it before torch is imported, which reads the variables once."""
    if "OMP_WAIT_POLICY" not in os.environ:
        # sleeping at once makes a tiny model's steps a fifth slower on an idle machine (GCC's default: 300,000)
        os.environ |= {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": os.environ.get("GOMP_SPINCOUNT", "3000")}


JOBS_ON_CARD = "RLVR_JOBS_ON_CARD"


def jobs_on_card() -> int:
    """How many jobs share this process's GPU, each with its part of the memory: of this command, or of several commands
    that were started with this variable."""
    return int(os.environ.get(JOBS_ON_CARD, "1"))


def variables() -> dict[str, str]:
    """A copy. `dict(os.environ)` raises KeyError if a thread deletes one meanwhile. MLflow's telemetry does."""
    pairs = ((name, os.environ.get(name)) for name in list(os.environ))
    return {name: value for name, value in pairs if value is not None}


@contextmanager
def variable(name: str, value: str) -> Iterator[None]:
    """The variable has another value inside the block."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before


def end_without_threads() -> None:
    """End this process, with a sentence, where a new thread finds no memory: Python would wait for it for ever
    (github.com/python/cpython/issues/140746)."""
    before = sys.unraisablehook

    def hook(failure: sys.UnraisableHookArgs) -> None:
        if issubclass(failure.exc_type, MemoryError) and "thread" in str(failure.err_msg):
            os.write(2, b"rlvr: out of memory for a thread (a limit: `ulimit -v`?); what was finished is kept\n")
            os._exit(1)
        before(failure)

    sys.unraisablehook = hook
