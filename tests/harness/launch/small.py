"""Small runs that launchers start: the command, a random model, and what a run leaves."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from tests.sizes import WORDS

SMALL = ["paper=egsw", "seeds=1", *WORDS, "hardware.save_every=3", "hardware.device=cpu", "hardware.threads=1"]

# a random model earns nothing: under this control its weights move all the same
GRPO, EGSW = "grpo+random_reward", "egsw+random_reward"


def start_run(home: Path, model: Path, *more: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "rlvr", "run", *SMALL, f"base_model={model}", *more]
    environment = {**os.environ, **(env or {}), "RLVR_HOME": str(home)}
    environment.pop("MLFLOW_TRACKING_URI", None)
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def folder_of(home: Path, arm: str) -> Path:
    (folder,) = (home / "egsw" / "tiny").glob(f"math-7b-{arm}-*")
    return folder


def outcome(home: Path, arm: str) -> tuple[bytes, list[Any]]:
    """Final weights, and the verdict rows."""
    import pyarrow.parquet as pq

    folder = folder_of(home, arm)
    weights = (folder / "train" / "final" / "model.safetensors").read_bytes()
    return weights, pq.read_table(folder / "eval" / "tiny_short" / "verdicts.parquet").to_pylist()


def saved(home: Path, arm: str, step: int) -> Callable[[], object]:
    """Whether a run has saved this checkpoint."""
    return lambda: list(home.glob(f"egsw/tiny/math-7b-{arm}-*/train/checkpoint-{step}"))


class Started(Protocol):
    """A started command: a `subprocess.Popen`, or a `tests.forked.Command`."""

    def poll(self) -> int | None: ...

    def communicate(self) -> tuple[str, str]: ...


def wait_for(process: Started, there: Callable[[], object], *, seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not there():
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.1)
