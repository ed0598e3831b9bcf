"""Shared by all launchers but serial: start the unfinished jobs, watch them, report how each ended. All machines share
the disk with the runs' folder; jobs write there, and this process reads their state and sends it to MLflow.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from evals.files import read_json
from harness.jobs.run import Outcome
from harness.launch.orders import Task, carry_out, done_already, tasks_of
from harness.launch.prepare import Prepared
from harness.launch.view import View, view
from harness.record.mirror import mirroring
from harness.record.run import Run
from harness.runs.disk import full_disk_named
from harness.runs.interrupt import Interrupted, finishing, handled, requested
from harness.runs.launched import forget
from harness.runs.state import ERROR
from harness.runs.track import make_home

WAITING, RUNNING = "waiting", "running"  # states of a job that has not ended; any other text says how it ended


class FailedJobError(RuntimeError):
    """A job that failed in another process; the text is that process's."""


class Cluster(Protocol):
    """Where jobs run: worker processes here, Slurm or Ray.

    Attributes:
        poll_s: seconds between two looks at the states. late_s: until a file of another machine may be visible here.
    """

    poll_s: float
    late_s: float

    def submit(self, tasks: Sequence[Task]) -> None:
        """Start these jobs, or find those that an earlier command has started."""

    def states(self) -> Mapping[str, str]:
        """By the job's folder: WAITING, RUNNING, or how it ended."""

    def close(self) -> str:
        """Stop watching; returns what happens to the unfinished jobs."""


def run_on(cluster: Cluster, commands: Sequence[Prepared]) -> list[Outcome]:
    """Run the jobs of all commands on a cluster; one outcome for each job of each command, in their order.

    Raises:
        RefusedError: MLflow's store cannot be used. Interrupted: a signal asked this process to stop watching.
    """
    with (
        handled(),
        full_disk_named(make_home()),
        mirroring() as mirror,
    ):
        tasks = tasks_of(commands)
        ended: dict[str, Outcome] = {}
        with finishing(), view(tasks) as shown:
            unfinished = []
            for task in tasks:
                if done_already(task.order):
                    ended[task.order.folder] = carry_out(task.order, mirror)
                    shown.ended(task.order.folder, "finished")
                else:
                    unfinished.append(task)
                    task.order.log.parent.mkdir(parents=True, exist_ok=True)
                    (Path(task.order.folder) / ERROR).unlink(missing_ok=True)  # of the try before
                    mirror.watch(Path(task.order.folder))
            if unfinished:
                cluster.submit(unfinished)
                _watch(cluster, unfinished, ended, shown)
    folders = {
        (number, task.job.name, task.job.digest): task.order.folder for task in tasks for number in task.commands
    }
    return [
        replace(ended[folders[number, job.name, job.digest]], job=job)
        for number, prepared in enumerate(commands)
        for job in prepared.jobs
    ]


def _watch(cluster: Cluster, tasks: Sequence[Task], ended: dict[str, Outcome], shown: View) -> None:
    """Wait until each job has its outcome in `ended`."""
    by_folder = {task.order.folder: task for task in tasks}
    states = dict.fromkeys(by_folder, WAITING)
    total = len(ended) + len(tasks)
    gone: dict[str, float] = {}  # when a job was first seen to have ended
    while len(ended) < total:
        if requested():
            fate = cluster.close()
            raise Interrupted(f"after {len(ended)} of {total} jobs{fate}")
        for folder, state in cluster.states().items():
            if folder in ended:
                continue
            if state == RUNNING and states[folder] != RUNNING:
                shown.started(folder)
            elif state == WAITING and states[folder] == RUNNING:
                shown.ended(folder, WAITING)
            states[folder] = state
            if state not in (WAITING, RUNNING):
                late = time.monotonic() - gone.setdefault(folder, time.monotonic()) >= cluster.late_s
                outcome = outcome_of(by_folder[folder], state, late=late)
                if outcome is not None:
                    ended[folder] = outcome
                    forget(Path(folder))
                    text = None if outcome.error is None else str(outcome.error)
                    shown.ended(folder, "failed" if text else "diverged" if outcome.diverged else "finished", text)
        shown.refresh()
        time.sleep(cluster.poll_s)


def outcome_of(task: Task, how: str, *, late: bool) -> Outcome | None:
    """How a job ended, from its files; None: no file says so yet, and it is not `late` enough to give up."""
    folder = Path(task.order.folder)
    if done_already(task.order):
        return Outcome(task.job, folder, diverged=Run(folder).diverged is not None)
    error = (read_json(folder / ERROR) or {}).get("error")
    if error is None and not late:
        return None
    return Outcome(task.job, None, FailedJobError(error or f"{how}; {task.order.log} has its output"))
