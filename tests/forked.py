"""`rlvr` in a separate process that does not import the trainer again: a fork of a process that has only imported.

A start costs the imports of TRL and MLflow, 10 s of a core. Tests that stop, kill or repeat a command start many; what
they test happens after the imports. The process forked from has run nothing, so it has no threads and no state.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

IMPORTS = ["tests.imported"]


class Command:
    """A started command, with the methods of `subprocess.Popen` that tests use.

    `call`: what takes the arguments and gives the exit code; without it, `rlvr`.
    """

    def __init__(
        self, arguments: Sequence[str], env: Mapping[str, str], call: Callable[[list[str]], int] | None = None
    ) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(IMPORTS)
        self._folder = TemporaryDirectory()
        self._files = [Path(self._folder.name) / name for name in ("out", "err")]
        self._process = context.Process(target=_main, args=(call, list(arguments), dict(env), self._files))
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        """The exit code, or minus the signal that ended it; None while it runs."""
        return self._process.exitcode

    @property
    def err(self) -> str:
        """What it has printed to stderr so far."""
        return self._files[1].read_text() if self._files[1].exists() else ""

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the end; what the command printed to stdout and to stderr."""
        self._process.join(timeout)
        assert self._process.exitcode is not None, f"still running after {timeout} s"
        out, err = (file.read_text() if file.exists() else "" for file in self._files)
        return out, err


def _main(
    call: Callable[[list[str]], int] | None, arguments: list[str], env: dict[str, str], files: Sequence[Path]
) -> None:
    for stream, file in zip((1, 2), files, strict=True):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["rlvr", *arguments]
    if call is None:
        from rlvr.cli import main as call
    sys.exit(call(arguments))
