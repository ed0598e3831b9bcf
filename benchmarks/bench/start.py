"""How long `rlvr list` takes, from the start of its process to its end."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.bench.timing import Row

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 0.4


def run(rounds: int) -> Iterator[Row]:
    """One untimed start before the rounds writes the compiled files."""
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        seconds = median([_once(environment) for _ in range(rounds + 1)][1:])
    yield Row(
        "rlvr list", "starts/CPU minute", 60 / seconds, 60 / LIMIT_S, f"{LIMIT_S:g} s", rounds,
        f"a process from start to end: {seconds:.2f} s CPU",
    )  # fmt: skip


def _once(environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "harness.cli", "list"]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
