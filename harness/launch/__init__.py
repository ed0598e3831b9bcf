"""Launchers of jobs: one after another here, several at once in other processes, or on Slurm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.launch.launcher import Launcher

if TYPE_CHECKING:
    from harness.jobs.run import Outcome
    from harness.launch.prepare import Prepared


def launch(commands: Sequence[Prepared], launcher: Launcher, *, keep_going: bool) -> list[Outcome]:
    """Run the jobs of some commands; one outcome for each job, in order.

    A first signal ends the step of every job that runs, saves, and raises `Interrupted`.

    Args:
        keep_going: after a job that fails, continue with the next one (launchers other than serial always do).
    Raises:
        RefusedError: MLflow's store cannot be used. Interrupted: as above. Of a serial run also what its job raises.
    """
    if launcher.name == "local":
        from harness.launch.local import Local, slot_environments
        from harness.launch.watching import run_on
        from harness.plan.machine import gpu_count

        machines = [machine for prepared in commands for machine in prepared.hardware.values()]
        jobs = sum(len(prepared.jobs) for prepared in commands)
        return run_on(Local(slot_environments(machines, launcher.here, gpus=gpu_count())[:jobs]), commands)
    if launcher.name == "slurm":
        from harness.launch.slurm import Slurm
        from harness.launch.watching import run_on

        return run_on(Slurm(launcher), commands)
    from harness.jobs.run import run_jobs
    from harness.runs.disk import full_disk_named
    from harness.runs.interrupt import handled
    from harness.runs.track import make_home

    outcomes: list[Outcome] = []
    with handled(), full_disk_named(make_home()):
        for prepared in commands:
            outcomes += run_jobs(
                prepared.jobs,
                hardware=prepared.hardware,
                data_dir=prepared.data_dir,
                command=prepared.command,
                keep_going=keep_going,
                watch=prepared.watch,
            )
    return outcomes
