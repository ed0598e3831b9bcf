"""Shared by the launchers of other processes: start the unfinished jobs, watch them, report how each ended.

Jobs write their folders, on a disk that all machines share. This process reads them and sends them to MLflow.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from evals.files import read_json
from harness.jobs.run import JobOutcome, outcome_of
from harness.launch.prepare import Prepared
from harness.launch.task import RUNNING, WAITING, Task, tasks_of
from harness.launch.view import View
from harness.record.mirror import mirroring
from harness.record.record import RECORD
from harness.record.run import Run
from harness.record.state import ERROR
from harness.runs.disk import full_disk_named
from harness.runs.interrupt import Interrupted, finishing, handled, requested
from harness.runs.track import make_home

if TYPE_CHECKING:
    from harness.launch.local import Local
    from harness.launch.slurm import Slurm


class FailedJobError(RuntimeError):
    """A job that failed in another process. The text is that process's."""


def run_on(cluster: Local | Slurm, prepared: Prepared) -> list[JobOutcome]:
    """Run the jobs of a command on a cluster. One outcome for each, in order.

    Raises:
        RefusedError: MLflow's store cannot be used. Interrupted: a signal asked this process to stop watching.
    """
    with handled(), full_disk_named(make_home()), mirroring() as mirror:
        tasks = {task.folder: task for task in tasks_of(prepared)}
        mirror.watch(*tasks)
        for folder in tasks:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / ERROR).unlink(missing_ok=True)  # the error of the try before
        with finishing(), View(list(tasks.values())) as view:
            ended = {folder: result for folder, task in tasks.items() if (result := outcome(task)) is not None}
            for folder in ended:
                view.ended(folder, "finished")
            unfinished = {folder: task for folder, task in tasks.items() if folder not in ended}
            if unfinished:
                cluster.submit(list(unfinished.values()))
                _watch(cluster, unfinished, ended, view)
    return [ended[folder] for folder in tasks]


def _watch(cluster: Local | Slurm, tasks: Mapping[Path, Task], ended: dict[Path, JobOutcome], view: View) -> None:
    """Wait until each job has its outcome in `ended`."""
    before = dict.fromkeys(tasks, WAITING)
    total = len(ended) + len(tasks)
    ended_at: dict[Path, float] = {}  # when a job was first seen to have ended
    while len(ended) < total:
        if requested():
            rest = cluster.close()
            raise Interrupted(f"after {len(ended)} of {total} jobs{rest}")
        for folder, state in cluster.states().items():
            if folder in ended:
                continue
            if state in (WAITING, RUNNING):
                if state != before[folder]:
                    view.shows(folder, state)
                before[folder] = state
                continue
            late = time.monotonic() - ended_at.setdefault(folder, time.monotonic()) >= cluster.late_s
            if (result := outcome(tasks[folder], state if late else None)) is not None:
                ended[folder] = result
                error = None if result.error is None else str(result.error)
                how = (
                    "failed" if error else "diverged" if result.diverged else "stopped" if result.so_far else "finished"
                )
                view.ended(folder, how, error or result.so_far)
        view.refresh()
        time.sleep(cluster.poll_s)


def outcome(task: Task, how: str | None = None) -> JobOutcome | None:
    """How a job ended, by its folder. None: the folder does not say so.

    Args:
        how: the words for a job that has ended and left no error. None: it may not have ended yet.
    """
    run = Run(task.folder)
    if (task.folder / RECORD).is_file() and run.is_finished and not run.damage():
        return outcome_of(task.job, run)
    if how is not None and run.so_far is not None:
        return outcome_of(task.job, run)
    error = (read_json(task.folder / ERROR) or {}).get("error")
    if how is None and error is None:
        return None
    return JobOutcome(task.job, None, FailedJobError(error or f"{how}; {task.log} has its output"))
