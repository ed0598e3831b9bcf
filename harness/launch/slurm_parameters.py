"""The parameters of a job that submitit gives to Slurm: the user's, and those that the jobs need."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from harness.errors import UsageError
from harness.launch.launcher import Launcher
from harness.runs.track import home
from harness.spec.hardware import Hardware

DEFAULTS = {"name": "rlvr", "timeout_min": 60, "signal_delay_s": 300}
REQUEUES = 100  # times that a job is queued again


def executor(launcher: Launcher, machines: Iterable[Hardware]) -> Any:
    """submitit's executor with the user's parameters, and the needs of the jobs.

    Raises:
        UsageError: no submitit, no Slurm, or no such parameter.
    """
    try:
        import submitit

        slurm = submitit.AutoExecutor(folder=home() / "slurm", cluster="slurm", slurm_max_num_timeout=REQUEUES)
    except (ImportError, RuntimeError) as error:
        raise UsageError(f"launcher=slurm: expected submitit and Slurm's commands on this machine ({error})") from error
    machines = list(machines)
    parameters: dict[str, Any] = {
        **DEFAULTS,
        "cpus_per_task": max(machine.threads or 1 for machine in machines),
        "gpus_per_node": (max(machine.gpus for machine in machines) if "gres" not in launcher.options else 0) or None,
        "array_parallelism": launcher.jobs,
        **launcher.options,
        "tasks_per_node": 1,
        "nodes": 1,
    }
    generic = ("name", "timeout_min", "mem_gb", "cpus_per_task", "gpus_per_node", "tasks_per_node", "nodes")
    try:
        slurm.update_parameters(
            **{
                key if key in generic else f"slurm_{key}": value
                for key, value in parameters.items()
                if value is not None
            }
        )
    except (NameError, AssertionError, TypeError) as error:
        raise UsageError(f"launcher=slurm: submitit refuses its parameters: {str(error).splitlines()[0]}") from error
    return slurm
