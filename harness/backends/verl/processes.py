"""Ends every process of a training, whichever process dies first.

A veRL training has about twenty processes: Ray's, the workers, vLLM's engines. All inherit an environment variable with
the session's name. A reaper outside the session waits for the end of its input, which comes when the parent closes it
or dies. Then it ends every process of the session and removes its files.

    python -m harness.backends.verl.processes SESSION FOLDER
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

import psutil

VARIABLE = "RLVR_VERL_SESSION"
_SHARED = Path("/dev/shm")
_LOOK_S = 2.0


class Session:
    """A name for the processes of one training, and the reaper that ends them. A context manager.

    Args:
        name: unique. folder: a scratch folder of the session (Ray's sockets and logs), removed at the end.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder

    def __enter__(self) -> Session:
        self._reaper = subprocess.Popen(
            [sys.executable, "-m", "harness.backends.verl.processes", self.name, str(self.folder)],
            stdin=subprocess.PIPE,
            start_new_session=True,  # a Ctrl-C at the terminal must not reach it
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._reaper.stdin is not None
        self._reaper.stdin.close()
        self._reaper.wait()

    def environment(self) -> dict[str, str]:
        """The variables that the session's processes must inherit."""
        return {VARIABLE: self.name}


def members(session: str) -> list[int]:
    """Process ids of a session on this machine, without zombies."""
    pids = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(VARIABLE) == session and process.status() != psutil.STATUS_ZOMBIE:
                pids.append(process.pid)
        except psutil.Error:  # it has ended meanwhile, or is another user's
            continue
    return [pid for pid in pids if pid != os.getpid()]


def end(session: str) -> None:
    """End all processes of a session at once, including those started in the meantime."""
    while pids := members(session):
        for pid in pids:
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                continue
        time.sleep(0.1)


def shared_memory(session: str) -> set[Path]:
    """The files in /dev/shm that the session's processes hold: veRL leaves those that carried weights behind."""
    paths = set()
    for pid in members(session):
        try:
            lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
        except OSError:
            continue
        paths |= {Path(line.split(maxsplit=5)[5]) for line in lines if f" {_SHARED}/" in line}
    return {path for path in paths if path.parent == _SHARED and not path.name.endswith("(deleted)")}


def reap(session: str, folder: Path) -> None:
    """Wait for the end of the input, then end the session and remove its files."""
    import selectors

    left: set[Path] = set()
    with selectors.DefaultSelector() as selector:
        selector.register(sys.stdin, selectors.EVENT_READ)
        while not selector.select(_LOOK_S):
            left |= shared_memory(session)
    end(session)
    for path in left:
        path.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    reap(sys.argv[1], Path(sys.argv[2]))
