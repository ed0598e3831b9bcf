"""A hook that refuses what imported code has no reason to do here: write files, start processes, open connections."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PROCESSES = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.fork",
    "os.forkpty",
    "os.kill",
)
PROCESSES += ("os.killpg", "pty.spawn", "signal.pthread_kill", "os.startfile")
SOCKETS = ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo")
FILES = (
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
    "os.chown",
)
FILES += ("shutil.rmtree", "shutil.move", "shutil.copyfile", "shutil.copytree")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Guard:
    """From its creation to the end of the process, refuses writes outside `folder`, processes and connections.

    A hook cannot be removed, so run released code in a process that ends after it. Reading is allowed.

    Args:
        folder: the one place where files may be written.
    Attributes:
        refused: what was asked for, in order. Also where the code swallowed the error.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder.resolve()) + os.sep
        self.refused: list[str] = []
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in PROCESSES or event in SOCKETS:
            self._refuse(f"{event} {str(arguments)[:100]}")
        elif event in FILES:
            for path in arguments[: 2 if event in ("os.rename", "os.link", "shutil.move") else 1]:
                self._only_inside(event, path)
        elif event == "open":
            path, mode, flags = arguments
            writes = bool(set(mode) & set("wax+")) if isinstance(mode, str) else bool((flags or 0) & WRITES)
            if writes:
                self._only_inside("open for writing", path)

    def _only_inside(self, event: str, path: object) -> None:
        if isinstance(path, int):  # a file that is open already
            return
        name = os.path.abspath(os.fsdecode(path))  # type: ignore[arg-type]
        if not name.startswith(self.folder) and name != os.devnull:
            self._refuse(f"{event} {name}")

    def _refuse(self, what: str) -> None:
        self.refused.append(what)
        raise PermissionError(f"refused: the checkout asked for {what}")
