"""Launchers of jobs: one after another here, several at once in other processes, or on Slurm."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.jobs.run import JobOutcome
    from harness.launch.prepare import Prepared


def launch(prepared: Prepared) -> list[JobOutcome]:
    """Run the jobs of a command. One outcome for each, in order.

    A first signal ends the step of every job that runs, saves, and raises `Interrupted`. Jobs in Slurm's
    queue go on. In other processes a job that fails does not affect the others.

    Raises:
        RefusedError: MLflow's store cannot be used. Interrupted: as above. A serial run also raises what its job
            raises.
    """
    launcher = prepared.launcher
    if launcher.name == "local":
        from harness.launch.local import Local, slot_environments
        from harness.launch.watching import run_on
        from harness.spec.host import this_host

        at_once = min(launcher.local_jobs, len(prepared.jobs))
        return run_on(Local(slot_environments(prepared.hardware.values(), at_once, gpus=this_host().gpus)), prepared)
    if launcher.name == "slurm":
        from harness.launch.slurm import Slurm
        from harness.launch.watching import run_on

        return run_on(Slurm(launcher), prepared)
    from harness.jobs.run import run_jobs
    from harness.launch.task import keep_to_part_of_card
    from harness.runs.disk import full_disk_named
    from harness.runs.interrupt import handled
    from harness.runs.track import make_home

    keep_to_part_of_card()
    with handled(), full_disk_named(make_home()):
        return run_jobs(
            prepared.jobs,
            hardware=prepared.hardware,
            data_dir=prepared.data_dir,
            command=prepared.command,
            watch=prepared.watch,
        )
