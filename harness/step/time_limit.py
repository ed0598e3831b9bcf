"""Run a user's function for a limited time. Standard library only.

The main thread of a process has a timer: it also ends what Python's own C code does for long, as a regular expression
that backtracks. Another thread has none, and asks a process of its own, whose main thread has one.
"""

from __future__ import annotations

import atexit
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from multiprocessing import get_context
from typing import TypeVar

T = TypeVar("T")


class TimeIsUp(BaseException):
    """The time limit of the block is over. The user's `except Exception` does not catch it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeIsUp` in the block when its time is over. Only in a main thread. An earlier timer goes on after it."""
    armed = True

    def over(*_: object) -> None:
        if armed:
            raise TimeIsUp

    before, started = signal.signal(signal.SIGALRM, over), time.monotonic()
    left, every = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:  # the time that is left to whoever had the timer
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - started), 1e-3), every)


def within(seconds: float, function: Callable[..., T], *arguments: object) -> T:
    """The function's result.

    Args:
        function: of another thread than the main one: a function that a new process can import.
    Raises:
        TimeIsUp: it took longer.
    """
    if threading.current_thread() is not threading.main_thread():
        result: tuple[T] | None = _helper().submit(_in_main_thread, seconds, function, *arguments).result()
        if result is None:
            raise TimeIsUp
        return result[0]
    with time_limit(seconds):
        return function(*arguments)


def _in_main_thread(seconds: float, function: Callable[..., T], *arguments: object) -> tuple[T] | None:
    """(its result,), or None where it took longer, in the helper: a pool does not send a BaseException."""
    try:
        with time_limit(seconds):
            return (function(*arguments),)
    except TimeIsUp:
        return None


@lru_cache(maxsize=1)
def _helper() -> ProcessPoolExecutor:
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    atexit.register(pool.shutdown, wait=False, cancel_futures=True)
    return pool
