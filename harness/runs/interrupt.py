"""SIGINT, SIGTERM, SIGHUP and SIGUSR1: the first finishes the step and saves, a second stops at once.

Slurm sends SIGTERM (or SIGUSR1, when asked) before the time limit, Kubernetes SIGTERM. After a first signal the command
ends with exit code 75 (EX_TEMPFAIL), on which schedulers can requeue: the same command resumes. Where the terminal, or
the reader of stderr, goes with the signal (`| tee log`), what is printed afterwards is dropped. Everything is saved.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any

from evals.log import logger, on_terminal

MINUTES = "minutes="  # stands for a signal where the time of `budget` is over
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
RESUMABLE = 75
SAMPLING = "stopping; the samples stored so far are kept"  # what an evaluation does after a first signal
HEARD_S = 2.0  # seconds that Python may take to handle a signal before it is said to be heard
PATIENCE_S = 30.0  # that an evaluation has after a first signal, if its engine is silent
END = b"\0"  # is no signal's number


@dataclass(frozen=True, eq=False)
class _Finishing:
    """A block of `finishing`."""

    what: str
    patience: float | None


_received: list[str] = []  # names of the signals so far, in this process
_finishing: list[_Finishing] = []  # the open `finishing` blocks
_insisted: list[int] = []  # a signal that is sent again, because its block did not end
_ends: list[float] = []  # when the open `budget` blocks end, by the monotonic clock


class Interrupted(KeyboardInterrupt):
    """Stopped by a first signal: everything up to `where` is saved, and the same command resumes there."""

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.signal = _received[0] if _received else MINUTES if out_of_time() else "SIGINT"
        self.where = where
        self.code = RESUMABLE

    def __str__(self) -> str:
        return f"stopped by {self.signal} {self.where}; the same command resumes there"


class StoppedAtOnce(KeyboardInterrupt):
    """Stopped by a second signal: unsaved work is lost."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.code = 128 + int(signal.Signals[name])

    def __str__(self) -> str:
        return "stopped at once; the same command goes on from what was saved, or begins again if nothing was"


@contextmanager
def handled(*more: signal.Signals) -> Iterator[None]:
    """Handle the signals, and `more`, inside the block, in the main thread (other threads cannot set handlers)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _received.clear()
    # what was ignored at the start stays so: SIGHUP under nohup, SIGINT in the background of a script
    numbers = [number for number in (*SIGNALS, *more) if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, _receive) for number in numbers}
    stderr, sys.stderr = sys.stderr, _Lasting(sys.stderr)
    try:
        with _heard(numbers):
            yield
    finally:
        sys.stderr = stderr
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _heard(numbers: Sequence[signal.Signals]) -> Iterator[None]:
    """Say of a signal that Python's handler has not seen after `HEARD_S` that it is heard: a long operation of a
    library, such as a backward pass on a CPU, ends first."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    ended = threading.Event()  # the next block clears `_received`, so nothing is said after this one

    def tell() -> None:
        came = 0
        while (byte := os.read(reader, 1)) not in (b"", END):
            if byte[0] in numbers:
                came += 1
                if not ended.wait(HEARD_S) and came > len(_received):
                    name = signal.Signals(byte[0]).name
                    logger.info(f"{name}: heard; the operation under way ends first")
        os.close(reader)

    threading.Thread(target=tell, name="signals", daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        signal.set_wakeup_fd(before)
        os.write(writer, END)
        os.close(writer)


def _deaf() -> None:
    """In a forked child, whose signals would else be told as its parent's."""
    with suppress(ValueError):  # not the main thread, which alone hears signals
        signal.set_wakeup_fd(-1)


os.register_at_fork(after_in_child=_deaf)


class _Lasting:
    """A text stream whose writes do not fail when its reader has gone."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with suppress(OSError):  # EPIPE of a pipe, EIO of a terminal
            self._stream.write(text)
            self._stream.flush()
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()


@contextmanager
def finishing(what: str = "finishing the step and saving", patience: float | None = None) -> Iterator[None]:
    """Inside the block, a first signal only makes `requested()` true, and the code ends its step and saves (or does
    `what`, which is said). Outside, where nothing can be lost, it raises `Interrupted` at once.

    Args:
        patience: seconds after the signal, past which it raises `Interrupted` in the block too. None: never.
    """
    _finishing.append(_Finishing(what, patience))
    try:
        yield
    finally:
        _finishing.pop()


@contextmanager
def budget(minutes: float | None) -> Iterator[None]:
    """When so many minutes of the block are over, the code inside ends its step and saves, as at a first signal."""
    _ends.append(math.inf if minutes is None else time.monotonic() + 60 * minutes)
    try:
        yield
    finally:
        _ends.pop()


def out_of_time() -> bool:
    """Whether the time of a `budget` around this code is over."""
    return any(time.monotonic() >= end for end in _ends)


def requested() -> bool:
    """Whether a signal has asked to stop, or the time is over."""
    return bool(_received) or out_of_time()


def check(where: str) -> None:
    """Raise `Interrupted` if it is `requested`. `where` says what is done ("after 3 of 8 samples")."""
    if requested():
        raise Interrupted(where)


def _receive(number: int, _: FrameType | None) -> None:
    name = signal.Signals(number).name
    if _insisted:
        _insisted.clear()
        raise Interrupted("within a batch, which is sampled again")
    _received.append(name)
    if len(_received) > 1:
        raise StoppedAtOnce(name)
    if not _finishing:
        raise Interrupted("between two steps")
    below = "\n" * on_terminal()  # below a progress bar and the terminal's ^C
    block = _finishing[-1]
    logger.info(f"{below}{name}: {block.what}; a second signal stops at once")
    if block.patience is not None:
        timer = threading.Timer(block.patience, _insist, (block, number))
        timer.daemon = True
        timer.start()


def _insist(block: _Finishing, number: int) -> None:
    """Send the signal again if the block has not ended: an engine may not answer for many minutes."""
    if block in _finishing:
        _insisted.append(number)
        signal.pthread_kill(threading.main_thread().ident or 0, number)
