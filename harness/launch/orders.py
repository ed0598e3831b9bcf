"""A worker's order: one job and its settings, as JSON. It contains no code, only names and values."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from harness.backends import backend
from harness.command.resolve import resolve_order
from harness.command.watch import Watch
from harness.jobs.run import JobRun, Outcome, job_folder
from harness.launch.launcher import Launcher
from harness.launch.prepare import Prepared
from harness.record.mirror import BackgroundMirror
from harness.record.run import RECORD, Run
from harness.runs.disk import full_disk_named
from harness.runs.track import home, make_home
from harness.spec.hardware import Hardware
from harness.spec.job import Job

IDENTITY = ("paper", "model", "arm", "scale", "backend", "seed")
LOG = "log.txt"  # in the job's folder: a worker's output


@dataclass(frozen=True)
class Order:
    """One job of a launched command.

    Args:
        job: its identity, and the values that the command line replaced in its arm.
        digest: of the job in the process that orders it; a worker whose code gives another digest refuses it.
        command: the command's text. folder: of the job.
        home: RLVR_HOME, as an absolute path.
    """

    job: Mapping[str, Any]
    digest: str
    base_model: str
    hardware: Mapping[str, Any]
    data_dir: str | None
    command: str
    watch: Mapping[str, Any]
    folder: str
    home: str

    def resolved(self) -> Job:
        """The job, as this process declares it.

        Raises:
            RuntimeError: the declaration is not the one that was ordered.
        """
        return resolve_order(self.job, self.digest)

    @property
    def machine(self) -> Hardware:
        """Its settings."""
        settings: Hardware = backend(self.job["backend"]).hardware(**self.hardware)
        return settings

    def carried_out(self) -> str:
        """Run the job in this process, which writes to its log from now on; returns its folder.

        Raises:
            what `harness.jobs.run.run_job` raises; RuntimeError: this process declares another job.
        """
        os.environ["RLVR_HOME"] = self.home
        write_to_log(self)
        with full_disk_named(make_home()):
            return str(carry_out(self).folder)

    @property
    def log(self) -> Path:
        return Path(self.folder) / LOG

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Order:
        return cls(**json.loads(text))


@dataclass(frozen=True)
class Task:
    """An order, its job, and the commands (by number) that need it: the same job runs once."""

    job: Job
    order: Order
    commands: tuple[int, ...]


def tasks_of(commands: Sequence[Prepared]) -> list[Task]:
    """The jobs of all commands in their order, each once."""
    from evals.fingerprint import model_fingerprint
    from harness.data.base_models import located

    prints: dict[str, str] = {}
    tasks: dict[Path, Task] = {}
    for number, prepared in enumerate(commands):
        for job in prepared.jobs:
            base = located(job, home() / "base-models")
            prints[base] = prints.get(base) or model_fingerprint(base)
            folder = job_folder(job, prints[base])
            if folder in tasks:
                task = tasks[folder]
                tasks[folder] = Task(task.job, task.order, (*task.commands, number))
                continue
            identity = {key: getattr(job, key) for key in IDENTITY}
            order = Order(
                {**identity, "overrides": dict(job.overrides)},
                job.digest,
                base,
                asdict(_fixed(prepared.hardware[job.model, job.arm], job.backend, prepared.launcher)),
                prepared.data_dir,
                prepared.command,
                asdict(prepared.watch),
                str(folder),
                str(home()),
            )
            tasks[folder] = Task(job, order, (number,))
    return list(tasks.values())


def _fixed(hardware: Hardware, name: str, launcher: Launcher) -> Hardware:
    """The settings with explicit values where another machine might choose differently."""
    if not launcher.elsewhere:
        return hardware
    if hardware.device == "auto":
        hardware = replace(hardware, device="gpu" if launcher.gpus or "gres" in launcher.options else "cpu")
    fixed: Hardware = backend(name).fixed(hardware)
    return fixed


def done_already(order: Order) -> bool:
    """Whether the job is finished, with all of its files."""
    run = Run(Path(order.folder))
    return (run.folder / RECORD).is_file() and run.is_finished and not run.damage()


def write_to_log(order: Order) -> None:
    """Redirect the output of this process and its children to the job's log."""
    order.log.parent.mkdir(parents=True, exist_ok=True)
    sys.stdout.flush()
    sys.stderr.flush()
    with order.log.open("ab") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    print(f"== {when} {order.command}: {order.job['model']}/{order.job['arm']}/seed{order.job['seed']}", flush=True)


def carry_out(order: Order, mirror: BackgroundMirror | None = None) -> Outcome:
    """Run the job of an order in this process. Raises what `harness.jobs.run.JobRun.run` raises.

    Args:
        mirror: None in a process whose parent mirrors the run.
    """
    job = order.resolved()
    watch = Watch(order.watch["every"], order.watch["values"], tuple(order.watch["keep"]))
    machine = order.machine.with_device()
    run = JobRun(job, order.base_model, machine, order.data_dir, order.command, watch).run(mirror)
    return Outcome(job, run.folder, diverged=run.diverged is not None)
