"""Killable worker processes for comparisons that may hang, exhaust memory or crash.

A comparison that exceeds its limit only costs its own worker, which is replaced. The limit is on processor time, so a
verdict does not depend on the load of the machine. Workers are plain subprocesses, so that a pool works from threads,
in daemonic processes and without a `__main__` guard; the parent uses no signals.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from evals.environment import variables
from evals.grading import Conventions
from evals.processes import shielded

_START_LIMIT_S = 300.0  # importing sympy on a loaded machine
_POLL_S = 0.05
_WAIT = 10  # limit by the clock as a multiple of the limit on processor time: other processes may be busy
_MIB = 2**20

Outcome = bool | str  # equal or not, or the reason why it is unknown


class Pool:
    """At most `workers` processes, started on first use; `limit_s` and `memory_mb` apply to each comparison."""

    def __init__(self, workers: int, limit_s: float, memory_mb: int, conventions: Conventions) -> None:
        self._limit_s, self._memory_mb, self._conventions = limit_s, memory_mb, conventions
        self._idle: SimpleQueue[_Worker | None] = SimpleQueue()  # None: not started yet
        for _ in range(workers):
            self._idle.put(None)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="grading")
        self._workers = workers
        self.started = 0

    def idle_pids(self) -> list[int]:
        """The process ids of the workers that are alive and idle."""
        taken = [self._idle.get() for _ in range(self._idle.qsize())]
        for worker in taken:
            self._idle.put(worker)
        return [worker.pid for worker in taken if worker is not None]

    def map(self, pairs: Sequence[tuple[str, str]], done: Callable[[int], None] | None = None) -> list[Outcome]:
        """The outcome of each (gold, answer), in order. `done` receives the number finished.

        Raises:
            RuntimeError: a worker cannot be started.
        """
        outcomes: list[Outcome] = []
        for outcome in self._threads.map(self._compare, pairs):
            outcomes.append(outcome)
            if done:
                done(len(outcomes))
        return outcomes

    def close(self) -> None:
        """Wait for running comparisons and end every worker."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        for _ in range(self._workers):
            worker = self._idle.get()
            if worker is not None:
                worker.kill()

    def _compare(self, pair: tuple[str, str]) -> Outcome:
        worker = self._idle.get()
        try:
            if worker is None or worker.ended():  # killed while idle: that costs no verdict
                worker = _Worker(self._memory_mb, self._conventions)
                self.started += 1
            return worker.compare(*pair, self._limit_s)
        except BaseException:
            if worker is not None:
                worker.kill()
            raise
        finally:
            self._idle.put(worker if worker is not None and worker.alive else None)


class _Worker:
    """The parent's side of one `evals.grading.worker`."""

    def __init__(self, memory_mb: int, conventions: Conventions) -> None:
        self._memory = memory_mb * _MIB
        root = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
        with shielded():
            self._process = subprocess.Popen(
                [sys.executable, "-m", "evals.grading.worker", json.dumps(asdict(conventions))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                # sympy's ordering must not vary between workers
                env={**variables(), "PYTHONPATH": path, "PYTHONHASHSEED": "0"},
            )
        self.pid = self._process.pid
        self.alive = True
        self._buffer = b""
        ready = self._read(_START_LIMIT_S)
        if not isinstance(ready, dict):
            self.kill()
            raise RuntimeError(
                f"a grading worker did not start ({ready}); try: {sys.executable} -c 'import math_verify'"
            )

    def compare(self, gold: str, answer: str, limit_s: float) -> Outcome:
        """The outcome of one comparison; the worker may be dead afterwards, if it had to be killed."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write((json.dumps([gold, answer, limit_s]) + "\n").encode())
            reply = self._read(limit_s, self._memory)
        except BrokenPipeError:
            reply = "crash: the worker had died"
        if not isinstance(reply, dict):
            self.kill()
            return reply
        if "equal" in reply:
            return bool(reply["equal"])
        if str(reply["reason"]).startswith("memory:"):
            self.kill()  # the state after a failed allocation is unknown
        return str(reply["reason"])

    def ended(self) -> bool:
        """Whether the process has died by itself, or was killed by somebody else; it is then cleared away."""
        if self._process.poll() is None:
            return False
        self.kill()
        return True

    def kill(self) -> None:
        """Kill and reap the process."""
        self.alive = False
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _read(self, limit_s: float, memory: int | None = None) -> dict[str, Any] | str:
        """Read the next reply, or return the reason why there is none."""
        assert self._process.stdout is not None
        too_late = time.monotonic() + _WAIT * limit_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if not selector.select(_POLL_S):
                    if time.monotonic() > too_late:
                        return f"time: no verdict within {_WAIT * limit_s:g} s of the clock"
                    if memory is not None and self._resident() > memory:
                        return f"memory: more than {memory // _MIB} MiB"
                    continue
                piece = os.read(self._process.stdout.fileno(), 65536)
                if not piece:
                    status = self._process.wait()
                    timer = status == -signal.SIGPROF
                    return (
                        f"time: no verdict within {limit_s:g} s" if timer else f"crash: it ended with status {status}"
                    )
                self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _resident(self) -> int:
        """The worker's resident memory in bytes; 0 where the system does not report it."""
        try:
            pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        except (OSError, IndexError):
            return 0
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
