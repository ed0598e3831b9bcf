"""Helper processes ignore the signals that stop a command, so that the command itself ends them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

STOPPING = {signal.SIGINT, signal.SIGTERM, *({signal.SIGUSR1} if hasattr(signal, "SIGUSR1") else ())}


@contextmanager
def shielded() -> Iterator[None]:
    """A process that is started inside never receives these signals.

    Ctrl-C reaches every process at a terminal, and Slurm signals every process of a job. The command then finishes its
    step, for which it needs its helpers: a grading process that died of the signal would leave a response unscored.
    """
    if not hasattr(signal, "pthread_sigmask"):  # not on this system
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)  # inherited by what is started, and kept over exec
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
