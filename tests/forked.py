"""`rlvr` in a separate process that does not import the trainer again: a fork of a process that has only imported.

A start costs the imports of TRL and MLflow, 10 s of a core. Tests that stop, kill or repeat a command start many; what
they test happens after the imports. The process forked from has run nothing, so it has no threads and no state: it is a
fork of pytest from before the first test where that has imported the trainer. The processes of jobs that the command
starts (`launcher=local`) are forked from it too. A fork of the command itself could hang: a lock that the command's
thread to MLflow holds at this moment is never released in the fork.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from time import sleep
from types import SimpleNamespace
from typing import IO, Any
from unittest.mock import patch

IMPORTS = ["tests.imported"]
HOLD = "RLVR_TESTS_HOLD"  # variable of a command: its jobs train up to this step and wait there until they are stopped


def fork_from_here() -> None:
    """Make this process, as it is now, the one that commands are forked from. None of its other threads is in them."""

    def fork(_: object, command: Sequence[object], kept: Sequence[int]) -> int:
        if pid := os.fork():
            return pid
        null = os.open(os.devnull, os.O_RDWR)  # not closed: what was imported may still write to their numbers
        for descriptor in {int(name) for name in os.listdir("/proc/self/fd")} - {0, 1, 2, *kept}:
            os.dup2(null, descriptor)
        forkserver._forkserver._lock = Lock()  # the old one is held: this is inside its block
        try:
            exec(command[-1])  # what a new interpreter would run
        finally:
            os._exit(0)

    forkserver.set_forkserver_preload(IMPORTS)
    with patch("multiprocessing.util.spawnv_passfds", fork):
        forkserver.ensure_running()


class Command:
    """A started command, with the methods of `subprocess.Popen` that tests use.

    `call`: what takes the arguments and gives the exit code. Without it, `rlvr`.
    """

    def __init__(
        self, arguments: Sequence[str], env: Mapping[str, str], call: Callable[[list[str]], int] | None = None
    ) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(IMPORTS)
        self._folder = TemporaryDirectory()
        self._files = [Path(self._folder.name) / name for name in ("out", "err", "jobs")]
        forkserver.ensure_running()
        server = forkserver._forkserver._forkserver_address
        self._process = context.Process(target=_main, args=(call, list(arguments), dict(env), self._files, server))
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        """The exit code, or minus the signal that ended it. None while it runs."""
        return self._process.exitcode

    @property
    def jobs(self) -> list[int]:
        """The process ids of the jobs that it has started so far."""
        return [int(line) for line in self._files[2].read_text().splitlines()] if self._files[2].exists() else []

    @property
    def err(self) -> str:
        """The lines printed to stderr so far."""
        return self._files[1].read_text() if self._files[1].exists() else ""

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the end; what the command printed to stdout and to stderr."""
        self._process.join(timeout)
        assert self._process.exitcode is not None, f"still running after {timeout} s"
        out, err = (file.read_text() if file.exists() else "" for file in self._files[:2])
        return out, err


def is_stopped(pid: int) -> bool:
    """Whether no thread of a process runs any more, after SIGSTOP or its end."""
    try:
        tasks = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:  # a thread that has just ended
        return False
    return all(task.rpartition(")")[2].split()[0] in "TZX" for task in tasks)


def _main(
    call: Callable[[list[str]], int] | None,
    arguments: list[str],
    env: dict[str, str],
    files: Sequence[Path],
    server: str,
) -> None:
    _become(env, files[0], files[1])
    forkserver._forkserver._forkserver_address = server
    forkserver._forkserver.ensure_running = lambda: None  # the one of pytest runs
    sys.argv = ["rlvr", *arguments]
    if call is None:
        from harness.launch import local
        from rlvr.cli import main as call

        local.subprocess = SimpleNamespace(Popen=partial(Job, files[2]), PIPE=None)
    sys.exit(call(arguments))


def _become(env: Mapping[str, str], *files: Path) -> None:
    """Give this process another environment, and files for stdout and stderr."""
    for stream, file in enumerate(files, 1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    os.environ.clear()
    os.environ.update(env)


class Job:
    """In place of the `subprocess.Popen` of `harness.launch.local`: the process of a job, from pytest's fork server."""

    def __init__(self, jobs: Path, command: Sequence[str], *, env: Mapping[str, str], stdout: IO[bytes], **_: Any):
        assert command[1:] == ["-m", "harness.launch.task"]
        context = multiprocessing.get_context("forkserver")
        reader, writer = context.Pipe(duplex=False)
        self.stdin = os.fdopen(os.dup(writer.fileno()), "wb")
        writer.close()
        self._process = context.Process(target=_job, args=(reader, dict(env), Path(stdout.name)))
        self._process.start()
        reader.close()
        assert self._process.pid is not None
        self.pid = self._process.pid
        with jobs.open("a") as file:
            file.write(f"{self.pid}\n")

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self) -> None:
        self._process.join()

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


def _job(stdin: Connection, env: dict[str, str], log: Path) -> None:
    os.setsid()
    os.dup2(stdin.fileno(), 0)
    sys.stdin = os.fdopen(0)
    _become(env, log, log)
    if HOLD in env:
        _hold_after(int(env[HOLD]))
    from harness.launch.task import main

    sys.exit(main())


def _hold_after(step: int) -> None:
    """Let a training wait, once it has sealed its checkpoint of that step, until it is asked to stop."""
    from harness.backends.trl import common
    from harness.runs.interrupt import requested

    seal = common.seal

    def sealed(checkpoint: Path) -> None:
        seal(checkpoint)
        while checkpoint.name == f"checkpoint-{step}" and not requested():
            sleep(0.05)

    common.seal = sealed
