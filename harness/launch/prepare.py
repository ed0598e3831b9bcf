"""The options of a run → checked jobs with the machine's settings. Nothing is started here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.environment import threads_sleep
from evals.log import logger
from evals.provenance import Origin
from evals.redaction import redact
from harness.backends import CannotExpress, refusals
from harness.command.config import read_seeds
from harness.command.options import RunOptions, checked, names
from harness.command.resolve import BACKENDS
from harness.command.watch import Watch, check_watch, watch_of
from harness.data.overlap import at_hand, of_all, refuse
from harness.errors import Faults, UsageError, choose
from harness.launch.launcher import Launcher, launcher_of
from harness.plan.machine import AUTO, DEFAULT, Machine, check_machine, jobs_at_once, machine_of
from harness.spec import Reproduction, catalogue
from harness.spec.hardware import Hardware
from harness.spec.host import this_host
from harness.spec.job import Job
from harness.spec.scales import SCALES

if TYPE_CHECKING:
    from harness.jobs.rehearsal import Rehearsed
    from harness.plan.plan import Plan


Refusals = Mapping[tuple[str, str], CannotExpress]
REAL = [name for name, scale in SCALES.items() if scale.family is None]  # scales of real models


@dataclass(frozen=True)
class Prepared:
    """The options of a command, checked. Nothing has been started.

    Args:
        hardware: by (model, arm). refused: why no backend (or not the named one) can train an arm. moved: why
            another backend than the usual one trains an arm. named: whether the command names arms.
        command: how the run was started, for its record.
        allow_overlap: whether benchmarks may hold training problems.
    """

    paper: Reproduction
    jobs: list[Job]
    machine: Machine
    hardware: Mapping[tuple[str, str], Hardware]
    refused: Refusals
    moved: Mapping[tuple[str, str], str]
    named: bool
    launcher: Launcher
    watch: Watch
    data_dir: str | None
    force: bool
    command: str = ""
    allow_overlap: bool = False

    def within_memory(self) -> Prepared:
        """No more jobs at once than this machine's memory holds by the plan, which is said if it is fewer."""
        jobs_wanted = min(self.launcher.local_jobs, len(self.jobs))
        if jobs_wanted < 2 or self.force:
            return self
        fits = jobs_at_once(self.jobs, self.hardware, jobs_wanted)
        if fits < jobs_wanted:
            logger.info(f"jobs={jobs_wanted}: {fits} at once, as many as this machine's memory holds by the plan")
        return replace(self, launcher=replace(self.launcher, jobs=min(self.launcher.local_jobs, fits)))

    def check_machine(self, this_machine: bool = True) -> None:
        """As `harness.plan.machine.check_machine`, for the arms that are not refused."""
        able = [job for job in self.jobs if (job.model, job.arm) not in self.refused]
        room: dict[str, Any] = {
            "slots": min(self.launcher.local_jobs, len(self.jobs)),
            "force": self.force,
            "watch": self.watch,
            "explicit": self.machine.explicit,
        }
        check_machine(able, self.hardware, data_dir=self.data_dir, this_machine=this_machine, **room)


def _read(paper: str | Reproduction, options: RunOptions) -> Prepared:
    faults = Faults()
    with faults.gathered():
        launcher = launcher_of(options)
    with faults.gathered():
        machine = machine_of(options)
    with faults.gathered():
        watch = watch_of(options)
    with faults.gathered():
        data_dir = checked("data_dir", options.data_dir, str, None)
        force = checked("force", options.force, bool, False)
        allow_overlap = checked("allow_overlap", options.allow_overlap, bool, False)
    with faults.gathered():
        jobs = read_jobs(paper, options)
    faults.refuse()
    check_watch(watch, jobs)
    if machine.profile is None and not machine.explicit and this_host().gpus and any(j.scale in REAL for j in jobs):
        logger.info("hardware=: not given, so its settings are the defaults; hardware=auto chooses them")
    machine = machine.shared_by(min(launcher.local_jobs, len(jobs)))
    hardware = machine.by_arm(jobs)
    if launcher.name != "slurm":
        jobs = _in_float32(jobs, hardware)
    refused: Refusals = refusals(jobs, hardware)
    moved: dict[tuple[str, str], str] = {}
    if options.backend is None and any(job.scale in REAL for job in jobs):
        jobs, hardware, refused, moved = _with_others(jobs, hardware, refused, options)
    return Prepared(
        declaration(paper),
        jobs,
        machine,
        hardware,
        refused,
        moved,
        options.arm is not None,
        launcher,
        watch,
        data_dir,
        force,
        allow_overlap=allow_overlap,
    )


def _in_float32(jobs: list[Job], hardware: Mapping[tuple[str, str], Hardware]) -> list[Job]:
    """The jobs, in float32 where a CPU would train them in bfloat16 without instructions for it and the user has not
    asked for that."""
    changed: dict[str, None] = {}
    results = []
    for job in jobs:
        on_cpu, e = hardware[job.model, job.arm].on_cpu(this_host().gpus), job.experiment
        stated = "precision" in job.command_line or e is None or "bfloat16" not in e.precision.value
        if e is not None and on_cpu and not stated and not this_host().bfloat16:
            note = f"this CPU has no instructions for {e.precision.value}, and would take many times as long"
            job = replace(job, experiment=e.override({"precision": "float32"}, Origin.ASSUMED, note))
            changed[job.label] = None
        results.append(job)
    if changed:
        logger.info(
            f"precision: float32 for {', '.join(changed)}, because this CPU has no instructions for bfloat16 "
            "(precision=bfloat16 keeps it)"
        )
    return results


def _with_others(
    jobs: list[Job], hardware: dict[tuple[str, str], Hardware], refused: Refusals, options: RunOptions
) -> tuple[list[Job], dict[tuple[str, str], Hardware], Refusals, dict[tuple[str, str], str]]:
    """The jobs, each arm by the first backend that can train it. By one backend, if one can train them all.

    Returns:
        jobs; settings; what no backend can train; why an arm is not trained by the usual backend.
    """
    moved: dict[tuple[str, str], str] = {}
    for name in [name for name in BACKENDS if name != DEFAULT and refused]:
        try:
            machine = machine_of(replace(options, backend=name))  # its vLLM shares no card
        except UsageError:  # hardware.KEY of the command is no setting of this backend: it is not meant
            continue
        alternatives = [replace(job, backend=name) for job in jobs]
        moved_hardware = machine.by_arm(alternatives)
        cannot = refusals(alternatives, moved_hardware)
        trained = {(job.model, job.arm) for job in jobs if job.experiment is not None}
        able = trained - cannot.keys() if cannot.keys().isdisjoint(trained) else refused.keys() - cannot.keys()
        jobs = [
            moved_job if (job.model, job.arm) in able else job
            for job, moved_job in zip(jobs, alternatives, strict=True)
        ]
        hardware = {key: moved_hardware[key] if key in able else settings for key, settings in hardware.items()}
        moved |= {key: str(refused.get(key, "one backend then trains all arms")) for key in able}
        refused = {key: error for key, error in refused.items() if key not in able}
    return jobs, hardware, refused, moved


def prepare(paper: str | Reproduction, options: RunOptions, command: str) -> Prepared:
    """Check what a run was asked for, and this machine, before anything starts.

    Args:
        paper: the key of a paper, or a declaration.
        command: how the run was started, for its record.
    Raises:
        UsageError: a name, value, file, device or store that cannot be used.
    """
    threads_sleep()
    prepared = _read(paper, options).within_memory()
    jobs, hardware, data_dir = that_run(prepared), prepared.hardware, prepared.data_dir
    faults = Faults()
    with faults.gathered():
        if data_dir is not None and not Path(data_dir).is_dir():
            raise UsageError(f"data_dir={data_dir}: expected a folder, found none")
    from harness.jobs.run import check_data
    from harness.runs.track import make_home

    runs_here = prepared.launcher.name != "slurm"  # there each job checks its own machine
    with faults.gathered():
        if not faults:  # else nothing is begun
            make_home()
        prepared.check_machine(runs_here)
    faults.refuse()
    if runs_here:
        hardware = {key: settings.with_device() for key, settings in hardware.items()}
    else:
        from harness.launch.slurm_parameters import executor

        executor(prepared.launcher, hardware.values())
    data_dir = check_data(jobs, data_dir)
    watched = [name for job in jobs for name in prepared.watch.protocol(job.protocol).benchmarks.value]
    for warning in refuse(of_all(jobs, data_dir, watched), allowed=prepared.allow_overlap):
        logger.warning(warning)
    return replace(prepared, jobs=jobs, hardware=hardware, data_dir=data_dir, command=redact(command))


def planned(paper: str | Reproduction, options: RunOptions, *, price: float | None = None, check: bool = True) -> Plan:
    """The plan of a run. Where this machine has no GPU, real models are planned for `card`.

    Args:
        check: say what this machine lacks, if the plan is for this machine.

    Raises:
        UsageError: as `prepare`, but for the machine.
    """
    from harness.plan.plan import plan

    scale, gpus = options.scale or _usual_scale(paper), this_host().gpus
    named = options.hardware is not None or bool(options.group("hardware"))
    prepared = _read(paper, options if gpus or named or scale not in REAL else replace(options, hardware=card(scale)))
    missing: tuple[str, ...] | None = None
    if check and (
        not named or prepared.machine.profile in (None, AUTO) or gpus
    ):  # else the plan is for another machine
        missing = ()
        try:
            prepared.within_memory().check_machine()
        except UsageError as error:
            missing = tuple(str(error).splitlines())
    assumes_gpus = prepared.machine.profile is None and scale in REAL
    machines = {
        k: replace(h, device="cpu") if assumes_gpus and h.on_cpu(gpus) else h for k, h in prepared.hardware.items()
    }
    how: dict[str, Any] = {"machines": machines, "explicit": prepared.machine.explicit, "watch": prepared.watch}
    how |= {"moved": prepared.moved, "price": price, "on_a_card": prepared.machine.on_a_card}
    planned_runs = plan(prepared.jobs, prepared.refused, paper=prepared.paper, **how)
    overlaps = tuple(at_hand(prepared.jobs, prepared.data_dir))
    return replace(planned_runs, missing=missing, profile=prepared.machine.profile, overlaps=overlaps)


def card(scale: str) -> str:
    """The profile for which real models are planned and rehearsed where none is named."""
    return "rtx4090" if scale == "small" else "h100x8"


def configured(paper: str | Reproduction, options: RunOptions) -> dict[str, Any]:
    """model/arm -> the trainer's own configuration.

    Raises:
        UsageError: as `prepare`. This machine is not checked.
    """
    from harness.plan.plan import trainer_configs

    prepared = _read(paper, options)
    return trainer_configs(that_run(prepared), prepared.hardware)


def rehearsed(paper: str | Reproduction, options: RunOptions) -> list[Rehearsed]:
    """A rehearsal of what the options name, each arm by the backend that would train it.

    Raises:
        UsageError: as `prepare`. This machine is not checked.
    """
    from harness.jobs.rehearsal import rehearse

    scale = "paper" if options.scale is None else str(options.scale)
    hardware = card(scale) if options.hardware is None else options.hardware
    prepared = _read(paper, replace(options, scale=scale, hardware=hardware))
    return rehearse(prepared.jobs, prepared.hardware, paper=paper)


def declaration(paper: str | Reproduction) -> Reproduction:
    """The declaration that a key names."""
    if isinstance(paper, Reproduction):
        return paper
    choose("paper", [paper], catalogue.papers())
    return catalogue.load(paper)


def _usual_scale(paper: str | Reproduction) -> str:
    return "tiny" if isinstance(paper, str) else "paper"


def read_jobs(paper: str | Reproduction, options: RunOptions) -> list[Job]:
    """The jobs that the options name.

    A paper's key has the tiny scale unless `scale` says otherwise. A declaration is trained as it is declared.
    """
    from harness.command.checks import policies_apart
    from harness.command.resolve import resolve

    scale = checked("scale", options.scale, str, _usual_scale(paper))
    declared = declaration(paper)
    models, arms, sets = names(options.model), names(options.arm), names(options.arms)
    backend = checked("backend", options.backend, str, DEFAULT)
    seeds = read_seeds(declared.seeds.value if options.seeds is None else options.seeds)
    values = options.declared()
    for key in values:
        if key in ("models", "seed"):
            option = {"models": "model", "seed": "seeds"}[key]
            raise UsageError(f"{key}={values[key]}: no such option. Did you mean {option!r}?")
    choices = {"models": models, "arms": arms, "sets": sets}
    jobs = resolve(declared, **choices, scale=scale, backend=backend, seeds=seeds, overrides=values)
    for key in sorted(set(arms or ()) - {job.arm for job in jobs}):
        same = next((arm.same_as for arm in declared.arms if arm.key == key), "")
        if same:
            logger.info(f"{key} trains the same as {same} at {scale} scale: it is run once, as {same}")
    for note in policies_apart(jobs):
        logger.info(note)
    return jobs


def that_run(prepared: Prepared) -> list[Job]:
    """The jobs without the refused arms, which are printed. An error if the user named a refused arm or value."""
    from harness.plan.plan import labels

    kept, names = [job for job in prepared.jobs if (job.model, job.arm) not in prepared.refused], labels(prepared.jobs)
    for (model, arm), error in prepared.refused.items():
        if prepared.named or error.asked_for or not kept:
            raise UsageError(f"{names[model, arm]}: {error}") from error
        logger.warning(f"skipped {names[model, arm]}: {error}")
    return kept
