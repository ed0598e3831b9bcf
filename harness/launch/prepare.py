"""A command line of `rlvr run` → checked jobs with the machine's settings; nothing is started here."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from evals.environment import threads_sleep
from evals.redaction import redact
from harness.command.config import parse_overrides, read_seeds, take, take_list
from harness.command.watch import Watch, check_watch, take_watch
from harness.errors import UsageError, choose
from harness.launch.launcher import Launcher, take_launcher
from harness.plan.machine import check_machine, check_memory, device_memory, take_machine
from harness.spec.hardware import Hardware
from harness.spec.job import Job


@dataclass(frozen=True)
class Prepared:
    """A checked `rlvr run` command; nothing has been started."""

    jobs: list[Job]
    hardware: Mapping[tuple[str, str], Hardware]
    data_dir: str | None
    command: str
    watch: Watch
    launcher: Launcher


def prepare(options: list[str], launcher: Launcher | None = None) -> Prepared:
    """Check a command line and the machine, before anything starts.

    Args:
        launcher: of a command with several lines; None: the options may name one.
    Raises:
        UsageError: a name, value, file, device or store that cannot be used.
    """
    threads_sleep()
    values = parse_overrides(options)
    given = take_launcher(values)
    if launcher is not None and given.given:
        raise UsageError(f"{given.given[0]}: expected it once for all lines: rlvr batch FILE {given.given[0]}=...")
    launcher = launcher or given
    data_dir, force = take(values, "data_dir", str), take(values, "force", bool, False)
    machine, watch = take_machine(values), take_watch(values)
    named = "arm" in values
    jobs = read_jobs(values)
    machines = machine.by_arm(jobs)
    jobs = that_run(jobs, refused(jobs, machines), named=named)
    if data_dir is not None and not Path(data_dir).is_dir():
        raise UsageError(f"data_dir={data_dir}: expected a folder, found none")
    try:
        check_watch(watch, jobs)
        check_machine(jobs, machines, data_dir=data_dir, here=not launcher.elsewhere)
        check_launcher(launcher)
    except (ValueError, OSError) as error:
        raise UsageError(str(error)) from error
    from harness.jobs.run import check_data
    from harness.runs.track import make_home

    try:
        make_home()
        if not launcher.elsewhere:  # there each job checks its own machine
            machines = {key: hardware.with_device() for key, hardware in machines.items()}
            first = next(iter(machines.values()))
            if not force:
                check_memory(jobs, machines, memory=_memory(first, launcher))
        data_dir = check_data(jobs, data_dir)
    except (ValueError, OSError) as error:  # no such cluster; a benchmark that is missing or is not the pinned one
        raise UsageError(str(error)) from error
    return Prepared(jobs, machines, data_dir, redact("rlvr run " + shlex.join(options)), watch, launcher)


def read_jobs(values: dict[str, Any]) -> list[Job]:
    """The jobs that the options name; what remains in `values` is a value of the declaration."""
    from harness.command.resolve import resolve
    from harness.spec.catalogue import load, papers

    paper = take(values, "paper", str, required=True)
    choose("paper", [paper], papers())
    models, arms, sets = take_list(values, "model"), take_list(values, "arm"), take_list(values, "arms")
    controls = take_list(values, "control")
    scale, backend = take(values, "scale", str, "tiny"), take(values, "backend", str, "trl")
    take_data(values)
    seeds = read_seeds(values.pop("seeds", None), load(paper).seeds.value)
    for key in values:
        if key in ("models", "seed", "controls"):
            meant = {"models": "model", "seed": "seeds", "controls": "control"}[key]
            raise UsageError(f"{key}={values[key]}: no such option; did you mean {meant!r}?")
    choices = {"models": models, "arms": arms, "sets": sets, "controls": controls}
    jobs = resolve(paper, **choices, scale=scale, backend=backend, seeds=seeds, overrides=values)
    for key in sorted(set(arms or ()) - {job.arm for job in jobs}):
        same = next((arm.same_as for arm in load(paper).arms if arm.key == key), "")
        if same:
            print(f"{key} trains the same as {same} at {scale} scale: it is run once, as {same}", file=sys.stderr)
    return jobs


def take_data(values: dict[str, Any]) -> None:
    """Translate `data=FILE columns=OURS:THEIRS,...` into the equivalent `dataset`.

    Raises:
        UsageError: data and dataset both, or columns without data or not of that form.
    """
    file, columns = take(values, "data", str), take_list(values, "columns")
    if file is None:
        if columns is not None:
            raise UsageError(f"columns={','.join(columns)}: expected data=FILE with it")
        return
    if "dataset" in values:
        raise UsageError(f"data={file}: expected data=... or dataset=..., not both, got dataset={values['dataset']}")
    pairs = [column.partition(":") for column in columns or ()]
    for ours, colon, theirs in pairs:
        if not (ours and colon and theirs):
            raise UsageError(f"columns: expected OURS:THEIRS, as problem:question, got {ours}{colon}{theirs}")
    mapped = "&".join(f"{ours}={theirs}" for ours, _, theirs in pairs)
    values["dataset"] = f"{file}?{mapped}" if mapped else file


def checked_watch(watch: Watch, jobs: list[Job]) -> None:
    """`check_watch` with a UsageError."""
    try:
        check_watch(watch, jobs)
    except ValueError as error:
        raise UsageError(str(error)) from error


def refused(jobs: list[Job], machines: Any) -> dict[tuple[str, str], Any]:
    """The arms that the backend cannot train, and why, before anything starts."""
    from harness.backends import refusals

    try:
        return refusals(jobs, machines)
    except ValueError as error:
        raise UsageError(str(error)) from error


def that_run(jobs: list[Job], refused: dict[tuple[str, str], Any], *, named: bool) -> list[Job]:
    """The jobs without the refused arms, which are printed. An error if the user named a refused arm or value."""
    kept = [job for job in jobs if (job.model, job.arm) not in refused]
    for (model, arm), error in refused.items():
        if named or error.asked_for or not kept:
            raise UsageError(f"{model}/{arm}: {error}") from error
        print(f"skipped {model}/{arm}: {error}", file=sys.stderr)
    return kept


def _memory(hardware: Hardware, launcher: Launcher) -> float:
    """Bytes that one process of a job may use: parallel jobs have separate GPUs but share a CPU's memory."""
    memory = device_memory(hardware)
    return memory if hardware.device == "gpu" else memory / launcher.here


def check_launcher(launcher: Launcher) -> None:
    """Raise ValueError if this machine lacks what the launcher needs."""
    needs = {"slurm": "submitit", "ray": "ray"}.get(launcher.name)
    if needs is not None and find_spec(needs) is None:
        raise ValueError(f"launcher={launcher.name}: expected the package {needs}, which is not in this environment")
    if launcher.name == "slurm":
        for program in ("sbatch", "srun", "squeue"):
            if shutil.which(program) is None:
                raise ValueError(f"launcher=slurm: expected Slurm's {program} on this machine, found none")
