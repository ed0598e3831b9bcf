"""Commands in processes of their own, disturbed while they run, and what they leave."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.files import file_sha256
from tests.forked import Command
from tests.sizes import WORDS

STEPS = 6
RUN = ["run", "paper=egsw", "arm=egsw", "seeds=1", f"max_steps={STEPS}", *WORDS, "kl_beta=0.04", "hardware.device=cpu"]
SAVE_OFTEN = [*RUN, "hardware.save_every=1"]
EVAL = ["eval", "protocol=tiny", "benchmarks=[tiny_short]", "n=2", "ks=[1]", "max_tokens=8", "rows=4"]
LIMIT_S = 500


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int  # the exit code. Minus the signal's number if a signal killed it
    out: str
    err: str

    def refused(self, *named: str) -> None:
        """Assert exit code 2 and a message without a traceback that names these."""
        assert self.code == 2 and "Traceback" not in self.err, self
        assert all(name in self.err for name in named), self.err


def run(
    arguments: Sequence[str],
    home: Path,
    *,
    environment: Mapping[str, str] | None = None,
    call: Callable[[list[str]], int] | None = None,
    meanwhile: Callable[[Command], None] | None = None,
) -> Ended:
    """Run `rlvr` with these arguments.

    Args:
        call: instead of the command's main function. Installs faults, then calls it. A function of a module.
        meanwhile: called with the process while it runs: kills or signals it, breaks servers.
    """
    home.mkdir(parents=True, exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}
    process = Command(arguments, {**kept, "RLVR_HOME": str(home), "OMP_NUM_THREADS": "1", **(environment or {})}, call)
    try:
        if meanwhile is not None:
            meanwhile(process)
        out, err = process.communicate(timeout=LIMIT_S)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
    assert process.returncode is not None
    return Ended(process.returncode, out, err)


def at_step(step: int, then: Callable[[Command], None]) -> Callable[[Command], None]:
    """A `meanwhile`: call `then` once the command shows that step. Nothing if it ends before."""
    return when(lambda process: f"step {step}/{STEPS}" in process.err, then)


def when(condition: Callable[[Command], bool], then: Callable[[Command], None]) -> Callable[[Command], None]:
    def watch(process: Command) -> None:
        while not condition(process):
            if process.poll() is not None:
                return
            time.sleep(0.01)
        then(process)

    return watch


def sends(*numbers: int) -> Callable[[Command], None]:
    """Send these signals, 20 ms apart."""

    def send(process: Command) -> None:
        for number in numbers:
            process.send_signal(number)
            time.sleep(0.02)

    return send


def ending(home: Path, uri: str | None = None) -> dict[str, Any]:
    """The ending that two runs of one job must share: weights, verdicts, and the points in MLflow (without times).

    Raises:
        AssertionError: MLflow has not exactly one finished run of the arm, or has a point twice.
    """
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=uri or f"sqlite:///{home / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("egsw")
    assert experiment is not None
    arms = client.search_runs([experiment.experiment_id], filter_string="tags.`rlvr.kind` = 'arm'")
    assert [arm.info.status for arm in arms] == ["FINISHED"]
    points = {}
    for name in arms[0].data.metrics:
        history = client.get_metric_history(arms[0].info.run_id, name)
        assert len({point.step for point in history}) == len(history), f"{name}: points came twice"
        if "seconds" not in name:
            points[name] = sorted((point.step, point.value) for point in history)
    return {
        "weights": sole_hash(home, "final/model.safetensors"),
        "verdicts": sole_hash(home, "verdicts.parquet"),
        "points": points,
    }


def sole_hash(home: Path, name: str) -> str:
    """The hash of the file with this name. Its copies (artifacts of a local store) must be equal."""
    (digest,) = {file_sha256(path) for path in home.rglob(name)}
    return digest


def job_folder(home: Path) -> Path:
    """The folder of the one arm of a home."""
    (model,) = home.rglob("train/final")
    return model.parents[1]


_copied = [0]


def copy(home: Path, to: Path) -> Path:
    """A copy of a home under a new name, because MLflow keeps stores open by their address."""
    _copied[0] += 1
    return Path(shutil.copytree(home, to / f"{home.name}-{_copied[0]}"))
