"""The logger `rlvr`: progress and notes at the level INFO, warnings at WARNING. Results are none of its records.

It has a handler that writes each text to stderr as it is, unless the user gave it one before.
docs/tutorials/notebook.md shows how to silence it, and how to send the records elsewhere.
"""

from __future__ import annotations

import logging
import sys

logger = logging.getLogger("rlvr")


class _Stderr(logging.Handler):
    """Writes to what `sys.stderr` is at that time, so that a redirection holds. It raises what the stream raises."""

    def handle(self, record: logging.LogRecord) -> bool:
        """Write the record, without the lock of other handlers: a signal's handler writes too, and may raise."""
        text, tqdm = self.format(record), sys.modules.get("tqdm")
        if tqdm is not None and sys.stderr.isatty():
            tqdm.tqdm.write(text, file=sys.stderr)  # above a bar
        else:
            sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
        return True


def draws() -> bool:
    """Whether to draw a line that rewrites itself, or a chart. Neither is a record: another handler cannot show it."""
    return logger.isEnabledFor(logging.INFO) and _HANDLER in logger.handlers


def on_terminal() -> bool:
    """Whether it `draws`, and stderr is a terminal."""
    return draws() and sys.stderr.isatty()


_HANDLER = _Stderr()
if not logger.handlers:
    logger.addHandler(_HANDLER)
    logger.propagate = False  # else a handler of the root logger, which some libraries add, writes each line once more
if logger.level == logging.NOTSET:
    logger.setLevel(logging.INFO)
