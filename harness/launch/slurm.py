"""`launcher=slurm`: the jobs as an array of Slurm, submitted with submitit.

A job that is preempted or near its time limit saves and is requeued (`harness.launch.slurm_job`). The submitting
command only watches: if it stops, the jobs stay in the queue, and the same command finds them again.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.launch.devices import gpus_of
from harness.launch.launcher import Launcher
from harness.launch.orders import Task
from harness.launch.remote import RUNNING, WAITING
from harness.launch.slurm_job import run_order
from harness.runs.launched import launched, note
from harness.runs.state import ERROR
from harness.runs.track import home
from harness.spec.hardware import Hardware

QUEUED = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SUSPENDED", "CONFIGURING", "RESIZING", "SPECIAL_EXIT")
ACTIVE = ("RUNNING", "COMPLETING", "STAGE_OUT", "SIGNALING", "STOPPED")
TIMEOUT_MIN, SIGNAL_DELAY_S, REQUEUES = 60, 300, 100


class Slurm:
    """The jobs that one command has in Slurm's queue."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._ids: dict[str, str] = {}  # by folder

    def submit(self, tasks: Sequence[Task]) -> None:
        """Find jobs that are already in the queue; submit the others as one array.

        Raises:
            UsageError: sbatch refuses the options.
        """
        known = {task.order.folder: launched(Path(task.order.folder)) for task in tasks}
        ids = {folder: by.id for folder, by in known.items() if by is not None and by.launcher == "slurm"}
        states = queue(ids.values())
        self._ids = {folder: job for folder, job in ids.items() if state_of(states.get(job)) in (WAITING, RUNNING)}
        new = [task for task in tasks if task.order.folder not in self._ids]
        if not new:
            return
        for task in new:
            (Path(task.order.folder) / ERROR).unlink(missing_ok=True)  # of the try before
        import submitit
        from submitit.core.utils import FailedJobError

        requeues = self._launcher.options.get("max_num_timeout", REQUEUES)
        executor = submitit.AutoExecutor(folder=home() / "slurm", cluster="slurm", slurm_max_num_timeout=requeues)
        executor.update_parameters(**parameters(self._launcher, [task.order.machine for task in new]))
        try:
            with executor.batch():
                submitted = [executor.submit(run_order, task.order.to_json(), requeues) for task in new]
        except FailedJobError as error:
            raise UsageError(f"launcher=slurm: sbatch refused the jobs: {error}") from error
        for task, job in zip(new, submitted, strict=True):
            self._ids[task.order.folder] = str(job.job_id)
            note(Path(task.order.folder), "slurm", task.order.command, str(job.job_id))

    def states(self) -> Mapping[str, str]:
        """By the job's folder: waiting, running, or Slurm's word for how it ended."""
        states = queue(self._ids.values())
        return {folder: state_of(states.get(job)) for folder, job in self._ids.items()}

    def close(self) -> str:
        """Leave the jobs in the queue."""
        arrays = sorted({job.partition("_")[0] for job in self._ids.values()})
        return f"; the others stay in Slurm's queue (`scancel {' '.join(arrays)}` takes them out)"


def parameters(launcher: Launcher, machines: Sequence[Hardware]) -> dict[str, Any]:
    """The parameters for submitit: the user's options and the needs of the jobs."""
    own = dict(launcher.options)
    own.pop("max_num_timeout", None)
    made: dict[str, Any] = {
        "name": own.pop("name", "rlvr"),
        "timeout_min": own.pop("timeout_min", TIMEOUT_MIN),
        "cpus_per_task": own.pop("cpus_per_task", max(machine.threads or 1 for machine in machines)),
        "slurm_signal_delay_s": own.pop("signal_delay_s", SIGNAL_DELAY_S),
        "tasks_per_node": 1,
        "nodes": 1,
    }
    gpus = max(gpus_of(machine) for machine in machines)
    if "gpus_per_node" in own:
        made["gpus_per_node"] = own.pop("gpus_per_node")
    elif gpus and "gres" not in own:
        made["gpus_per_node"] = gpus
    if "mem_gb" in own:
        made["mem_gb"] = own.pop("mem_gb")
    if launcher.jobs is not None:
        made["slurm_array_parallelism"] = launcher.jobs
    return made | {f"slurm_{key}": value for key, value in own.items()}


def queue(jobs: Any) -> dict[str, str]:
    """Slurm's state of each of these jobs that it still knows, by id.

    Raises:
        RuntimeError: Slurm does not answer.
    """
    asked = sorted({job.partition("_")[0] for job in jobs})
    if not asked:
        return {}
    command = ["squeue", "-h", "-r", "-t", "all", "-o", "%i %T", "-j", ",".join(asked)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        if "Invalid job id" in answer.stderr:  # all have ended, and Slurm has forgotten them
            return {}
        raise RuntimeError(f"{' '.join(command)}: {answer.stderr.strip()}")
    return dict(line.split(maxsplit=1) for line in answer.stdout.splitlines() if line.strip())


def state_of(word: str | None) -> str:
    """Slurm's state in the words of `harness.launch.remote`; None: Slurm does not know the job any more."""
    if word is None:
        return "Slurm does not know it any more"
    if word in QUEUED:
        return WAITING
    return RUNNING if word in ACTIVE else f"Slurm ended it: {word}"
