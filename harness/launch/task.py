"""One job for another process. `python -m harness.launch.task` runs the pickled one that comes from its stdin.

Exit codes: 0 done, 1 failed, 75 stopped and saved, 128 + N stopped at once by signal N. A first signal ends
the step and saves, so does the end of stdin, which says that the parent has ended.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

from evals.environment import end_without_threads, jobs_on_card
from evals.files import write_json
from evals.log import logger
from evals.redaction import redact
from harness.backends.memory import CONTEXT
from harness.command.watch import Watch
from harness.data.base_models import fingerprint, located
from harness.jobs.run import JobRun, job_folder
from harness.launch.prepare import Prepared
from harness.record.state import ERROR
from harness.record.write import now
from harness.runs.disk import full_disk_named
from harness.runs.interrupt import Interrupted, StoppedAtOnce, handled
from harness.runs.track import home, make_home
from harness.spec.hardware import Hardware
from harness.spec.job import Job

WAITING, RUNNING = "waiting", "running"  # states of a job that has not ended. Any other text says how it ended


@dataclass(frozen=True)
class Task:
    """A job, and what `harness.jobs.run.JobRun` needs beside it.

    Args:
        folder: of the job. home: RLVR_HOME.
    """

    job: Job
    base_model: str
    hardware: Hardware
    data_dir: str | None
    command: str
    watch: Watch
    folder: Path
    home: Path

    @property
    def log(self) -> Path:
        """The file that the job's process prints to."""
        return self.folder / "log.txt"

    def job_run(self) -> JobRun:
        """The run of the job, in this process.

        Raises:
            RuntimeError: a file of the user that decides the result was changed since the launch.
        """
        machine = self.hardware.with_device()
        run = JobRun(self.job, self.base_model, machine, self.data_dir, self.command, self.watch)
        if run.folder != self.folder:
            raise RuntimeError(f"a file that the job reads was changed since the launch: now {run.folder}")
        return run

    def run(self) -> int:
        """Run the job in this process, which writes to the job's log from now on.

        Returns:
            the exit code; of a job that failed it is 1, and its folder has the error.
        Raises:
            Interrupted: a signal asked to stop. Everything is saved.
        """
        os.environ["RLVR_HOME"] = str(self.home)
        sys.stdout.flush()
        sys.stderr.flush()
        with self.log.open("ab") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        print(f"== {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {self.command}: {self.job.name}", flush=True)
        try:
            keep_to_part_of_card()
            with full_disk_named(make_home()):
                self.job_run().run()
        except Exception as error:  # any kind: the command that waits finds it in the folder
            logger.error(redact(traceback.format_exc()))
            write_json(self.folder / ERROR, {"error": redact(f"{type(error).__name__}: {error}"), "when": now()})
            return 1
        return 0


def keep_to_part_of_card() -> None:
    """Let this process take no more of a GPU's memory than its part, where several jobs share the card: torch then
    frees what it caches, or raises, instead of taking a neighbour's."""
    if (jobs := jobs_on_card()) > 1:
        import torch

        if not torch.cuda.is_available():
            return
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(1 / jobs - CONTEXT / total)


def tasks_of(prepared: Prepared) -> list[Task]:
    """The task of each job of a command, in order."""
    tasks, prints = [], dict[tuple[str, str], str]()
    for job in prepared.jobs:
        base, machine = located(job, home() / "base-models"), prepared.hardware[job.model, job.arm]
        key, more = (base, machine.engine), (prepared.data_dir, prepared.command, prepared.watch)
        prints[key] = prints.get(key) or fingerprint(base, machine)
        tasks.append(Task(job, base, machine, *more, job_folder(job, prints[key]), home()))
    return tasks


def main() -> int:
    """Run the task that stdin brings. Returns the exit code."""
    end_without_threads()
    with handled():
        try:
            task = pickle.load(sys.stdin.buffer)  # noqa: S301  # the parent wrote it
            threading.Thread(target=_end_with_parent, daemon=True).start()
            return int(task.run())
        except (Interrupted, StoppedAtOnce) as stop:
            logger.info(stop)
            return stop.code


def _end_with_parent() -> None:
    while os.read(0, 1):  # not through the buffer, whose lock would abort the interpreter as it ends
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
