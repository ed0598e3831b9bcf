"""`launcher=slurm`: the jobs as an array of Slurm, submitted with submitit.

A job that is preempted or near its time limit saves and is requeued (`run_order`). The submitting command only watches:
if it stops, the jobs stay in the queue, and the same command finds them again.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evals.environment import threads_sleep
from evals.redaction import redact
from harness.errors import UsageError
from harness.launch.launcher import Launcher
from harness.launch.orders import Order, Task
from harness.launch.watching import RUNNING, WAITING
from harness.runs.interrupt import RESUMABLE, Interrupted, handled
from harness.runs.launched import launched, note
from harness.runs.track import home
from harness.spec.hardware import Hardware

QUEUED = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SUSPENDED", "CONFIGURING", "RESIZING", "SPECIAL_EXIT")
ACTIVE = ("RUNNING", "COMPLETING", "STAGE_OUT", "SIGNALING", "STOPPED")
TIMEOUT_MIN, SIGNAL_DELAY_S, REQUEUES = 60, 300, 100


class Slurm:
    """The jobs that one command has in Slurm's queue, as a `harness.launch.watching.Cluster`."""

    poll_s, late_s = 2.0, 20.0

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
    gpus = max(machine.gpus for machine in machines)
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
    """Slurm's state in the words of `harness.launch.watching`; None: Slurm does not know the job any more."""
    if word is None:
        return "Slurm does not know it any more"
    if word in QUEUED:
        return WAITING
    return RUNNING if word in ACTIVE else f"Slurm ended it: {word}"


# -- in the job --------------------------------------------------------------------------------------------------------

STOPPED = "stopped {} times, and launcher.max_num_timeout allows no more; the same command resumes from there"


def run_order(text: str, requeues: int) -> str:
    """Carry out an order; returns the job's folder.

    SIGTERM (preemption, `scancel --signal=TERM`), SIGUSR1 and SIGUSR2 (sent before the time limit) end the step and
    save; the job is then queued again, at most `requeues` times, and the process ends with exit code 75, on which
    Slurm's `RequeueExit` can queue a job again too.

    Raises:
        what the job raises; its folder has the error.
    """
    threads_sleep()
    try:
        with handled(signal.SIGUSR2):
            return Order.from_json(text).carried_out()
    except Interrupted as stop:
        print(stop, file=sys.stderr, flush=True)
        restarts = int(os.environ.get("SLURM_RESTART_COUNT") or 0)
        if restarts < requeues:
            requeue(job_id())
        else:
            print(STOPPED.format(restarts + 1), file=sys.stderr, flush=True)
        sys.exit(RESUMABLE)
    except Exception:  # log it without credentials, then raise it unchanged
        print(redact(traceback.format_exc()), file=sys.stderr, flush=True)
        raise


def job_id() -> str:
    """This job's id, as Slurm's commands take it."""
    array = os.environ.get("SLURM_ARRAY_JOB_ID")
    return f"{array}_{os.environ['SLURM_ARRAY_TASK_ID']}" if array else os.environ["SLURM_JOB_ID"]


def requeue(job: str) -> None:
    """Requeue a job if Slurm still lists it as running. Leave it alone if it was cancelled, or if Slurm preempts and
    requeues it itself."""
    state = subprocess.run(["squeue", "-h", "-j", job, "-o", "%T"], capture_output=True, text=True, check=False)
    if state.stdout.strip() != "RUNNING":
        print(f"not queued again: Slurm has it as {state.stdout.strip() or 'unknown'}", file=sys.stderr, flush=True)
        return
    asked = subprocess.run(["scontrol", "requeue", job], capture_output=True, text=True, check=False)
    print(f"scontrol requeue {job}: {asked.stderr.strip() or 'done'}", file=sys.stderr, flush=True)
