"""The output of other packages: their warnings and log records, kept in a file instead of among the user's lines."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from evals import library_output

LOG = "libraries.log"  # under RLVR_HOME
PACKAGES = ("rlvr", "harness", "evals", "baselines", "reproductions")
_ROOT = Path(__file__).parents[2]
_FORM = logging.Formatter("%(asctime)s %(process)d %(name)s %(levelname)s: %(message)s")


@contextmanager
def apart(log: Path) -> Iterator[None]:
    """Inside the block, warnings and log records of other packages go to the end of this file instead of the terminal.
    Those of ours stay. Where the file cannot be written, or its folder is not there yet, they stay too."""
    show, emit = warnings.showwarning, logging.StreamHandler.emit

    def showwarning(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        text = warnings.formatwarning(message, category, filename, lineno, line).strip()
        record = logging.LogRecord("warnings", logging.WARNING, filename, lineno, text, (), None)
        if file is not None or _is_ours(filename) or not _written(log, record):
            show(message, category, filename, lineno, file, line)

    def emit_apart(handler: logging.StreamHandler[TextIO], record: logging.LogRecord) -> None:
        on_terminal = handler.stream in (sys.stderr, sys.stdout, sys.__stderr__, sys.__stdout__)
        if not on_terminal or record.name.partition(".")[0] in PACKAGES or not _written(log, record):
            emit(handler, record)

    warnings.showwarning = showwarning
    logging.StreamHandler.emit = emit_apart  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        warnings.showwarning = show
        logging.StreamHandler.emit = emit  # type: ignore[method-assign]


def kept(log: Path) -> None:
    """The output of C++ code and of libraries' processes goes to this file too, from when such a library starts
    (`evals.library_output`) or Python ends, as nanobind's list of leaks. For a process that ends with its command."""
    os.environ[library_output.LOG] = str(log)
    library_output.keep_ours()
    # the first function that is registered is the last to run
    atexit.register(library_output.lead_away)


def _opened(log: Path) -> int:
    return os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o664)


def _written(log: Path, record: logging.LogRecord) -> bool:
    """Whether the record could be added to the file. One write, which lines of other processes do not cut."""
    try:
        file = _opened(log)
        try:
            os.write(file, f"{_FORM.format(record)}\n".encode())
        finally:
            os.close(file)
    except OSError:
        return False
    return True


def _is_ours(filename: str) -> bool:
    path = Path(filename)
    return _ROOT in path.parents and path.relative_to(_ROOT).parts[0] in PACKAGES
