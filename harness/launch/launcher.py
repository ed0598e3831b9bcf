"""`launcher=local jobs=2`, `launcher.KEY=VALUE`: where the jobs of a command run, and how many at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.command.options import RunOptions, checked
from harness.errors import UsageError, choose

LAUNCHERS = ("serial", "local", "slurm")


@dataclass(frozen=True)
class Launcher:
    """Where jobs run.

    Args:
        name: one of `LAUNCHERS`. serial: one after another, in the process of the command.
        jobs: how many at once. None: as many as Slurm allows.
        options: what `launcher.KEY=VALUE` says: parameters of submitit's Slurm executor.
    """

    name: str = "serial"
    jobs: int | None = 1
    options: Mapping[str, object] = field(default_factory=dict)

    @property
    def local_jobs(self) -> int:
        """How many jobs share this machine."""
        return self.jobs or 1 if self.name == "local" else 1


def launcher_of(given: RunOptions) -> Launcher:
    """The launcher that `launcher`, `jobs` and `launcher.KEY` name.

    Raises:
        UsageError: no such launcher, or a value that does not fit it.
    """
    name = checked("launcher", given.launcher, str, "serial")
    choose("launcher", [name], LAUNCHERS)
    default: int | None = {"serial": 1, "local": 2}.get(name)
    jobs = checked("jobs", given.jobs, int, default)
    if jobs is not None and jobs < 1:
        raise UsageError(f"jobs: expected a whole number >= 1, got {jobs}")
    if name == "serial" and jobs is not None and jobs > 1:
        raise UsageError(
            f"jobs={jobs}: expected launcher=local with it. Without a launcher, jobs run one after another"
        )
    options = given.group("launcher")
    if options and name != "slurm":
        raise UsageError(f"launcher.{next(iter(options))}: expected launcher=slurm with it. {name} has no options")
    return Launcher(name, jobs, options)
