"""`launcher=local jobs=2` on a command line: where the jobs of a command run, and how many at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from harness.command.config import UsageError, choose, no_more, take

LAUNCHERS = ("serial", "local")


@dataclass(frozen=True)
class Launcher:
    """Where jobs run.

    Args:
        name: one of `LAUNCHERS`; serial: one after another, in the process of the command.
        jobs: how many at once.
        given: names of the options that the command line has.
    """

    name: str = "serial"
    jobs: int = 1
    given: tuple[str, ...] = field(default=())

    @property
    def here(self) -> int:
        """How many jobs share this machine."""
        return self.jobs if self.name == "local" else 1


def take_launcher(values: dict[str, Any]) -> Launcher:
    """Remove `launcher` and `jobs` from `values`.

    Raises:
        UsageError: no such launcher, or a value that does not fit.
    """
    given = tuple(key for key in ("launcher", "jobs") if key in values)
    name = take(values, "launcher", str, "serial")
    choose("launcher", [name], LAUNCHERS)
    jobs = take(values, "jobs", int, 1 if name == "serial" else 2)
    if jobs < 1:
        raise UsageError(f"jobs: expected a whole number >= 1, got {jobs}")
    if name == "serial" and jobs > 1:
        raise UsageError(f"jobs={jobs}: expected launcher=local with it; without a launcher jobs run one after another")
    return Launcher(name, jobs, given)


def launcher_alone(values: dict[str, Any]) -> Launcher:
    """The launcher of a command whose other options stand elsewhere.

    Raises:
        UsageError: as `take_launcher`, or another option.
    """
    launcher = take_launcher(values)
    no_more(values, ("launcher", "jobs"))
    return launcher
