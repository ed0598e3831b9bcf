"""The launcher of an unfinished job: `launched.json` in its folder."""

from __future__ import annotations

import os
import socket
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from evals.files import read_object, write_json

FILE = "launched.json"
FIELDS = ("launcher", "pid", "host", "id", "command", "when")


@dataclass(frozen=True)
class Launched:
    """A job that was given to a launcher.

    Args:
        pid, host: of the process that launched it. id: of the job in Slurm; empty elsewhere.
    """

    launcher: str
    pid: int
    host: str
    id: str
    command: str
    when: str

    def launcher_alive(self) -> bool:
        """Whether the process that launched it runs, on this machine."""
        if self.host != socket.gethostname():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


def note(folder: Path, launcher: str, command: str, job_id: str = "") -> None:
    """Record that this process has launched the job in that folder."""
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    write_json(folder / FILE, asdict(Launched(launcher, os.getpid(), socket.gethostname(), job_id, command, when)))


def launched(folder: Path) -> Launched | None:
    """The launch of the job in that folder; None if there is none."""
    content = read_object(folder / FILE, *FIELDS)
    return None if content is None else Launched(**{key: content[key] for key in FIELDS})


def forget(folder: Path) -> None:
    """The job has ended."""
    (folder / FILE).unlink(missing_ok=True)
