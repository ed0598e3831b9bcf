"""Start a training with TRL: in this process, or as several through torchrun (CPU) or `accelerate launch` (GPU)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evals import library_output
from evals.files import read_json, write_json
from harness.backends.children import read_order, wait, write_order
from harness.backends.common import metrics_reporter
from harness.backends.snapshots import notify
from harness.backends.trl.finetune import finetune
from harness.backends.trl.hardware import TrlHardware, deepspeed_file
from harness.backends.trl.rounds import read_pairs, run_rounds
from harness.backends.trl.train import train
from harness.record.write import Recorder
from harness.runs.interrupt import SIGNALS, Interrupted
from harness.spec import Experiment
from harness.spec.job import Job
from harness.spec.rejection import Rejection
from harness.step.finite import Diverged, leave_word


@dataclass(frozen=True)
class Order:
    """One training, in this process or in several.

    Args:
        run: the run's folder. pairs: of a rejection-sampling round, the file of its rows. None: the declaration names
            the data. steps_before: optimiser steps of the rounds before.
    """

    job: Job
    base_model: str
    out_dir: Path
    run: Path
    hardware: TrlHardware
    pairs: Path | None = None
    steps_before: int = 0


def launch(job: Job, base_model: str, out_dir: Path, recorder: Recorder, hardware: TrlHardware) -> dict[str, Any]:
    """Train `job` into `out_dir/final`. Returns what the record keeps (see `train`, `finetune` and `run_rounds`).

    Raises:
        RuntimeError: the training processes ended with an error (their output is above it).
    """
    order = Order(job, base_model, out_dir, recorder.folder, hardware)
    if not isinstance(job.experiment, Rejection):
        return _start(order, recorder)

    def tune(model: str, **changes: Any) -> dict[str, Any]:
        return _start(replace(order, base_model=model, **changes), recorder)

    return run_rounds(
        job.experiment, base_model=base_model, seed=job.seed, out_dir=out_dir, hardware=hardware, tune=tune
    )


def _start(order: Order, recorder: Recorder) -> dict[str, Any]:
    """One training, in this process or in several."""
    hardware, out_dir = order.hardware, order.out_dir
    if hardware.processes == 1:
        return _train(order, recorder)
    result = out_dir / "result.json"
    result.unlink(missing_ok=True)
    order_file = write_order(order, out_dir)
    code = _run_processes([*starter(hardware), "-m", "harness.backends.trl.launch", str(order_file)], out_dir)
    if code != 0:
        raise RuntimeError(f"training {order.job.name} on {hardware.processes} processes ended with exit code {code}")
    record: dict[str, Any] = read_json(result)
    if "stopped" in record:
        raise Interrupted(record["stopped"])
    return record


def _run_processes(command: list[str], out_dir: Path) -> int:
    """Run training processes to their end. Returns the exit code. A second signal kills them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # inherited: a scheduler signals every process
    try:
        started = subprocess.Popen(command, start_new_session=True, stderr=library_output.terminal())
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        return wait(started, out_dir, notify, every_s=0.1)
    except BaseException:
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGKILL)
        raise


def starter(hardware: TrlHardware) -> list[str]:
    """The command that starts a module in `hardware.processes` processes."""
    if hardware.device == "cpu":  # accelerate would always start one process
        return [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
            f"--nproc_per_node={hardware.processes}",
            "--signals-to-handle=SIGQUIT",  # else SIGTERM ends the training before it has saved
        ]
    command = [sys.executable, "-m", "accelerate.commands.launch", "--num_processes", str(hardware.processes)]
    command += ["--num_machines", "1", "--dynamo_backend", "no", "--mixed_precision", "no"]
    if hardware.deepspeed:
        return [*command, "--use_deepspeed", "--deepspeed_config_file", deepspeed_file(hardware.deepspeed)]
    return [*command, "--multi_gpu"]


def _train(order: Order, recorder: Recorder) -> dict[str, object]:
    experiment, pairs, before = order.job.experiment, order.pairs, order.steps_before
    assert experiment is not None
    common: dict[str, Any] = {
        "base_model": order.base_model,
        "seed": order.job.seed,
        "out_dir": order.out_dir,
        "hardware": order.hardware,
        "on_metrics": metrics_reporter(recorder, steps_before=before),
        "on_start": lambda step: recorder.rewind(before + step),
    }
    if isinstance(experiment, Experiment):
        return train(experiment, **common)
    try:
        return finetune(experiment, pairs=None if pairs is None else read_pairs(pairs), **common)
    except Diverged as error:  # count the steps of earlier rounds too
        raise Diverged(before + error.step, error.quantity, error.value) from error


def main(order_file: str) -> None:
    """One of several training processes: run the order. The first process writes the result."""
    from accelerate import PartialState

    library_output.keep_ours()
    order: Order = read_order(order_file)
    hardware, out_dir = order.hardware, order.out_dir
    state = PartialState(cpu=hardware.device == "cpu")
    if state.num_processes != hardware.processes:
        raise RuntimeError(
            f"hardware.processes: expected {hardware.processes} training processes, {state.num_processes} "
            "run. A step would hold another number of sequences than declared"
        )
    if hardware.threads is not None:
        import torch

        torch.set_num_threads(hardware.threads)
    try:
        record = _train(order, Recorder(order.run))  # only the main process writes to it
    except Diverged as error:
        leave_word(error, out_dir)
        raise
    except Interrupted as stopped:
        record = {"stopped": stopped.where}
    if state.is_main_process:
        write_json(out_dir / "result.json", record)
    state.wait_for_everyone()


if __name__ == "__main__":
    main(sys.argv[1])
