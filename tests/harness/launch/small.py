"""Small runs that launchers start: the command, a random model, and what a run leaves."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.forked import Command
from tests.sizes import WORDS

SMALL = ["paper=egsw", "seeds=1", *WORDS, "hardware.save_every=3", "hardware.device=cpu", "hardware.threads=1"]

# a random model earns nothing: under this control its weights move all the same
GRPO, EGSW = "grpo+random_reward", "egsw+random_reward"


def start(home: Path, model: Path, *more: str, env: Mapping[str, str] | None = None) -> Command:
    environment = {**os.environ, **(env or {}), "RLVR_HOME": str(home), "OMP_NUM_THREADS": "1"}
    environment.pop("MLFLOW_TRACKING_URI", None)
    return Command(["run", *SMALL, f"base_model={model}", *more], environment)


def folder_of(home: Path, arm: str) -> Path:
    (folder,) = (home / "egsw" / "tiny").glob(f"*-{arm}-*")
    return folder


def outcome(home: Path, arm: str) -> tuple[bytes, list[Any]]:
    """Final weights, and the verdict rows."""
    import pyarrow.parquet as pq

    folder = folder_of(home, arm)
    weights = (folder / "train" / "final" / "model.safetensors").read_bytes()
    return weights, pq.read_table(folder / "eval" / "tiny_short" / "verdicts.parquet").to_pylist()


def saved(home: Path, arm: str, step: int) -> Callable[[], object]:
    """Whether a run has saved and sealed this checkpoint, or a later one: the last two alone are kept."""

    def is_saved() -> bool:
        sealed = home.glob(f"egsw/tiny/*-{arm}-*/train/checkpoint-*/whole")
        return any(int(path.parent.name.rpartition("-")[2]) >= step for path in sealed)

    return is_saved


def wait_for(process: Command, condition: Callable[[], object], *, seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.1)
