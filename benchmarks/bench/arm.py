"""A tiny arm end to end: the command in its own process, from its start to its last line."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.bench.timing import Row

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 20.0
COMMAND = ["run", "paper=egsw", "arm=egsw", "seeds=1"]


def run(rounds: int) -> Iterator[Row]:
    """Runs once, whatever `rounds` is."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with TemporaryDirectory() as home:
        environment = {**os.environ, "RLVR_HOME": home, "PYTHONPATH": str(ROOT)}
        environment.pop("MLFLOW_TRACKING_URI", None)
        command = [sys.executable, "-m", "harness.cli", *COMMAND]
        subprocess.run(command, env=environment, check=True, capture_output=True)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    yield Row(
        "rlvr " + " ".join(COMMAND), "runs/hour", 3600 / seconds, 3600 / LIMIT_S, f"{LIMIT_S:g} s", 1,
        f"60 steps of 128 responses, three benchmarks, MLflow: {seconds:.1f} s wall clock, "
        f"{busy:.1f} s CPU",
    )  # fmt: skip
