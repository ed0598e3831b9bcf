"""`launcher=local jobs=2`, `launcher.KEY=VALUE`: where the jobs of a command run, how many at once, and their
resources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.command.config import take
from harness.errors import UsageError, choose, nearest

LAUNCHERS = ("serial", "local", "slurm", "ray")
SLURM: Mapping[str, tuple[type, str]] = {  # the names are those of Hydra's submitit launcher
    "timeout_min": (int, "minutes that a job may take before it is saved and queued again (default 60)"),
    "partition": (str, "partition"),
    "qos": (str, "quality of service"),
    "account": (str, "account"),
    "cpus_per_task": (int, "CPU cores of a job (default: hardware.threads, else the threads of a run on this machine)"),
    "gpus_per_node": (int, "GPUs of a job (default: what hardware.processes needs; none on a CPU)"),
    "mem_gb": (int, "GB of memory of a job"),
    "mem_per_gpu": (str, "memory a GPU, as 40G"),
    "mem_per_cpu": (str, "memory a core"),
    "gres": (str, "generic resources, as gpu:h100:2"),
    "constraint": (str, "features of the nodes"),
    "exclude": (str, "nodes to avoid"),
    "comment": (str, "comment"),
    "name": (str, "name of the array (default rlvr)"),
    "signal_delay_s": (int, "seconds before the time limit at which a job saves (default 300)"),
    "max_num_timeout": (int, "how often a job may be queued again (default 100)"),
    "setup": (list, "shell commands before a job starts"),
    "additional_parameters": (dict, "further options of sbatch, as {nice: 10}"),
}
RAY: Mapping[str, tuple[type, str]] = {
    "address": (str, "of the running cluster, HOST:PORT (default auto: the one that this machine belongs to)"),
    "num_cpus": (int, "CPU cores that a job takes (default: hardware.threads, else the threads of a run here)"),
    "num_gpus": (int, "GPUs that it takes (default: what hardware.processes needs; none on a CPU)"),
    "memory_gb": (int, "GB of memory that it takes"),
    "resources": (dict, "further resources, as {big: 1}"),
    "max_retries": (int, "how often a job resumes elsewhere after its node or process died (default 3)"),
}
KEYS: Mapping[str, Mapping[str, tuple[type, str]]] = {"serial": {}, "local": {}, "slurm": SLURM, "ray": RAY}


@dataclass(frozen=True)
class Launcher:
    """Where jobs run.

    Args:
        name: one of `LAUNCHERS`; serial: one after another, in the process of the command.
        jobs: how many at once; None: as many as the cluster takes.
        given: names of the options that the command line has.
        options: what `launcher.KEY=VALUE` says.
    """

    name: str = "serial"
    jobs: int | None = 1
    given: tuple[str, ...] = field(default=())
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def elsewhere(self) -> bool:
        """Whether jobs may run on other machines."""
        return self.name in ("slurm", "ray")

    @property
    def here(self) -> int:
        """How many jobs share this machine."""
        return self.jobs or 1 if self.name == "local" else 1

    @property
    def gpus(self) -> int | None:
        """GPUs requested per job; None: not stated."""
        gpus = self.options.get("gpus_per_node" if self.name == "slurm" else "num_gpus")
        return None if gpus is None else int(gpus)


def take_launcher(values: dict[str, Any]) -> Launcher:
    """Remove `launcher`, `jobs` and every `launcher.KEY` from `values`.

    Raises:
        UsageError: no such launcher or key, or a value that does not fit.
    """
    given = tuple(key for key in values if key in ("launcher", "jobs") or key.startswith("launcher."))
    name = take(values, "launcher", str, "serial")
    choose("launcher", [name], LAUNCHERS)
    default: int | None = {"serial": 1, "local": 2}.get(name)
    jobs = take(values, "jobs", int, default)
    if jobs is not None and jobs < 1:
        raise UsageError(f"jobs: expected a whole number >= 1, got {jobs}")
    if name == "serial" and jobs > 1:
        raise UsageError(f"jobs={jobs}: expected launcher=local with it; without a launcher jobs run one after another")
    options: dict[str, Any] = {}
    for key in [key for key in values if key.startswith("launcher.")]:
        own = key.removeprefix("launcher.")
        if own not in KEYS[name]:
            valid = [f"launcher.{known}" for known in KEYS[name]]
            hint = nearest(key, valid) if valid else f"launcher={name} has no options"
            raise UsageError(f"{key}={values[key]}: no such option of launcher={name}; {hint}")
        options[own] = take(values, key, KEYS[name][own][0])
        if isinstance(options[own], int) and options[own] < (0 if own in ("max_num_timeout", "max_retries") else 1):
            raise UsageError(f"{key}: expected a positive whole number, got {options[own]}")
    return Launcher(name, jobs, given, options)


def launcher_help() -> str:
    """One line for each key of the cluster launchers."""
    width = max(len(key) for keys in KEYS.values() for key in keys)
    return "\n".join(
        line
        for name in ("slurm", "ray")
        for line in (
            f"launcher={name} launcher.KEY=VALUE, where KEY is one of:",
            *(f"  {key:<{width}}  {text}" for key, (_, text) in KEYS[name].items()),
        )
    )
