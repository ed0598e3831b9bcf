"""The lines of a long computation on stderr: nothing in its first seconds, so that a short one is silent."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from evals.log import logger, on_terminal

AFTER_S = 5.0  # before the first word
EVERY_S = 30.0  # between two lines without a terminal
REFRESH_S = 1.0  # seconds between two states of the line on a terminal

Count = Callable[[str, int, int], None]
"""Called with (what is counted, done, all)."""


@contextmanager
def slow(what: str) -> Iterator[Count]:
    """Say how far the block is: on a terminal in one line that goes away at the end, else in a line every 30 s.

    Args:
        what: is done, as "grading answers.jsonl".
    """
    started, over, counted = time.monotonic(), threading.Event(), [""]
    terminal = on_terminal()

    def tell() -> None:
        wait = AFTER_S
        while not over.wait(wait):
            minutes, seconds = divmod(int(time.monotonic() - started), 60)
            text = f"{what}: {counted[0]}after {minutes}:{seconds:02d}"
            if terminal:
                print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)
            else:
                logger.info(text)
            wait = REFRESH_S if terminal else EVERY_S
        if terminal and wait == REFRESH_S:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def count(unit: str, number: int, total: int) -> None:
        counted[0] = f"{number:,} of {total:,} {unit} "

    thread = threading.Thread(target=tell, name="slow", daemon=True)
    thread.start()
    try:
        yield count
    finally:
        over.set()
        thread.join()
