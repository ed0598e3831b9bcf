"""Real runs of `rlvr run backend=verl` in separate processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SMALL = ("seeds=1", "protocol.n=2", "protocol.ks=[1,2]", "hardware.stall_minutes=20")


def start(home: Path, *options: str) -> subprocess.Popen[str]:
    """Start a run. Its errors are read with `finish`."""
    command = [sys.executable, "-m", "rlvr", "run", "backend=verl", *SMALL, *options]
    environment = {**os.environ, "RLVR_HOME": str(home)}
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(run: subprocess.Popen[str]) -> tuple[int, str]:
    """(exit code, what it said on stderr) at the end of a run."""
    _, errors = run.communicate()
    return run.returncode, errors


def train_folder(home: Path) -> Path | None:
    """The folder of the one training under `home`, once it is there."""
    folders = list(home.glob("*/tiny/*/train"))
    return folders[0] if folders else None


def steps(home: Path) -> dict[int, dict[str, float]]:
    """Step -> its metrics, so far."""
    folder = train_folder(home)
    path = None if folder is None else folder.parent / "metrics.jsonl"
    if path is None or not path.is_file():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {line["step"]: line["metrics"] for line in lines}


def wait_for(what: Callable[[], Any], run: subprocess.Popen[str], seconds: float = 1500) -> Any:
    """The first true value of `what`. Fails when the run ends before."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if result := what():
            return result
        if run.poll() is not None:
            raise AssertionError(f"the run ended with {run.returncode}:\n{finish(run)[1][-3000:]}")
        time.sleep(0.5)
    run.kill()
    raise AssertionError(f"nothing within {seconds} s")


def session_of(run: subprocess.Popen[str]) -> str:
    """The name of the session that a run has started: the first argument of its reaper, a child of it."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                command = (folder / "cmdline").read_bytes().decode().split("\0")
            except (OSError, IndexError):
                continue
            if parent == run.pid and "harness.backends.verl.processes" in command:
                return command[command.index("harness.backends.verl.processes") + 1]
    return ""
