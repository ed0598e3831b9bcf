"""`launcher=slurm`: the jobs as an array of Slurm, submitted with submitit.

A job that is preempted or near its time limit saves and is queued again. The submitting command only watches: if it
stops, the jobs stay in the queue, and the same command finds them again.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from evals.environment import threads_sleep
from evals.errors import RefusedError
from evals.log import logger
from harness.launch.launcher import Launcher
from harness.launch.slurm_parameters import REQUEUES, executor
from harness.launch.task import RUNNING, WAITING, Task
from harness.record.state import in_slurm, note_slurm
from harness.runs.interrupt import RESUMABLE, Interrupted, handled

QUEUED = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SUSPENDED", "CONFIGURING", "RESIZING", "SPECIAL_EXIT")
ACTIVE = ("RUNNING", "COMPLETING", "STAGE_OUT", "SIGNALING", "STOPPED")


class Slurm:
    """The jobs that one command has in Slurm's queue, for `harness.launch.watching.run_on`."""

    poll_s, late_s = 2.0, 20.0

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._ids: dict[Path, str] = {}

    def submit(self, tasks: Sequence[Task]) -> None:
        """Find jobs that are already in the queue. Submit the others as one array.

        Raises:
            RefusedError: sbatch refuses the options.
        """
        known = {task.folder: job for task in tasks if (job := in_slurm(task.folder)) is not None}
        states = queue(known.values())
        self._ids = {folder: job for folder, job in known.items() if state_of(states.get(job)) in (WAITING, RUNNING)}
        new = [task for task in tasks if task.folder not in self._ids]
        if not new:
            return
        from submitit.core.utils import FailedJobError

        slurm = executor(self._launcher, [task.hardware for task in new])
        try:
            with slurm.batch():
                submitted = [slurm.submit(run_task, task) for task in new]
        except FailedJobError as error:
            raise RefusedError(f"launcher=slurm: sbatch refused the jobs: {error}") from error
        for task, job in zip(new, submitted, strict=True):
            self._ids[task.folder] = str(job.job_id)
            note_slurm(task.folder, str(job.job_id))

    def states(self) -> Mapping[Path, str]:
        """By the job's folder: waiting, running, or Slurm's word for how it ended."""
        states = queue(self._ids.values())
        return {folder: state_of(states.get(job)) for folder, job in self._ids.items()}

    def close(self) -> str:
        """Leave the jobs in the queue."""
        arrays = sorted({job.partition("_")[0] for job in self._ids.values()})
        return f"; the others stay in Slurm's queue (`scancel {' '.join(arrays)}` takes them out)"


def queue(jobs: Iterable[str]) -> dict[str, str]:
    """Slurm's state of each of these jobs that it still knows, by id.

    Raises:
        RuntimeError: Slurm does not answer.
    """
    ids = sorted({job.partition("_")[0] for job in jobs})
    if not ids:
        return {}
    command = ["squeue", "-h", "-r", "-t", "all", "-o", "%i %T", "-j", ",".join(ids)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        if "Invalid job id" in answer.stderr:  # all have ended, and Slurm has forgotten them
            return {}
        raise RuntimeError(f"{' '.join(command)}: {answer.stderr.strip()}")
    return dict(line.split(maxsplit=1) for line in answer.stdout.splitlines() if line.strip())


def state_of(word: str | None) -> str:
    """Slurm's state in the words of `harness.launch.task`. None: Slurm does not know the job any more."""
    if word is None:
        return "Slurm does not know it any more"
    if word in QUEUED:
        return WAITING
    return RUNNING if word in ACTIVE else f"Slurm ended it: {word}"


def run_task(task: Task) -> None:
    """In the job: run the task.

    SIGTERM (preemption, `scancel --signal=TERM`), SIGUSR1 and SIGUSR2 (sent before the time limit) end the step and
    save. The job is then queued again, and the process ends with exit code 75, on which Slurm's `RequeueExit` can queue
    a job again too. A job that was cancelled, or that Slurm itself queues again, is left alone.
    """
    threads_sleep()
    try:
        with handled(signal.SIGUSR2):
            code = task.run()
    except Interrupted as stop:
        logger.info(stop)
        array = os.environ.get("SLURM_ARRAY_JOB_ID")
        job = f"{array}_{os.environ['SLURM_ARRAY_TASK_ID']}" if array else os.environ["SLURM_JOB_ID"]
        state = subprocess.run(["squeue", "-h", "-j", job, "-o", "%T"], capture_output=True, text=True, check=False)
        restarts = int(os.environ.get("SLURM_RESTART_COUNT") or 0)
        if state.stdout.strip() != "RUNNING":
            logger.warning(f"not queued again: Slurm has it as {state.stdout.strip() or 'unknown'}")
        elif restarts >= REQUEUES:
            logger.warning(f"not queued again after {restarts} times")
        else:
            requeued = subprocess.run(["scontrol", "requeue", job], capture_output=True, text=True, check=False)
            logger.info(f"scontrol requeue {job}: {requeued.stderr.strip() or 'done'}")
        sys.exit(RESUMABLE)
    if code:
        sys.exit(code)
