"""The output of C++ code and of libraries' processes on descriptors 1 and 2 goes into a file, while our lines stay on
the terminal. Python's warnings and log records have a way of their own (`harness.runs.libraries.apart`)."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, nullcontext, redirect_stderr
from pathlib import Path
from typing import Any

LOG = "RLVR_LIBRARIES_LOG"  # environment variable: the file. unset: all stays on the terminal
_descriptors: list[int] = []  # our own descriptor of the terminal, once there is one


def keep_ours() -> None:
    """Give `sys.stderr` a descriptor of its own, so that 2 may be led away from it."""
    if _descriptors or not os.environ.get(LOG) or sys.stderr is None:
        return
    sys.stderr.flush()
    try:
        _descriptors.append(os.dup(2))
    except OSError:  # it is closed
        return
    how: Any = {"encoding": sys.stderr.encoding, "errors": "backslashreplace", "buffering": 1, "closefd": False}
    sys.stderr = open(_descriptors[0], "w", **how)  # noqa: SIM115  # until Python ends
    setattr(sys, "__stderr__", sys.stderr)  # noqa: B010  # which is final, says mypy


def lead_away() -> None:
    """From now on what libraries write to stderr, and what processes started from here print, goes to the file. Does
    nothing in a process without `keep_ours`, or where the file cannot be written."""
    if _descriptors:
        all_to_file(stdout=False)


def bars_too() -> AbstractContextManager[object]:
    """Inside the block what Python code writes to `sys.stderr` goes the same way, as libraries' bars do. For a block in
    which nothing of ours is said. Nothing in a process without `keep_ours`."""
    return redirect_stderr(open(2, "w", errors="backslashreplace", closefd=False)) if _descriptors else nullcontext()


def all_to_file(*, stdout: bool = True) -> None:
    """Everything that this process prints goes to the file: for a process that has nothing to say to the user."""
    if not (path := os.environ.get(LOG)):
        return
    try:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o664)
    except OSError:  # its folder is not there: better on the terminal than nowhere
        return
    for descriptor in (1, 2) if stdout else (2,):
        os.dup2(file, descriptor)
    os.close(file)


def terminal() -> int | None:
    """The descriptor of the terminal for a process that has something to say to the user. None: its own stderr."""
    return next(iter(_descriptors), None)


def place() -> str:
    """Where the messages of a process of a library are, for an error."""
    path = os.environ.get(LOG)
    return f"in {path}" if path and Path(path).is_file() else "above"
