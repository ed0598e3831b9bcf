"""`hardware.KEY=VALUE` on a command line, and checks before the start that this machine can do the run."""

from __future__ import annotations

import json
import re
import resource
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, fields, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from evals.environment import jobs_on_card
from evals.sampling import engines
from evals.suggest import expected
from harness.backends import backend
from harness.backends.engine import sampling_engine
from harness.backends.memory import USABLE
from harness.command.base_models import check_base_models
from harness.command.options import RunOptions
from harness.command.resolve import BACKENDS
from harness.command.watch import Watch
from harness.errors import UsageError, nearest
from harness.errors import choose as choose_name
from harness.plan.context import check_context
from harness.plan.costs import disk, disk_of_all, host_memory, size_text
from harness.plan.profiles import PROFILES, Profile, choose, judge, measures, profile_of, with_engine
from harness.spec.hardware import Hardware
from harness.spec.host import this_host
from harness.spec.job import Job

SERVER = "openai"  # the engine that is named where a model does not fit
AUTO = "auto"  # hardware=auto: the GPUs of this machine
DEFAULT = "trl"  # the backend of a command that names none
SHARED_EACH = 1e9  # bytes of /dev/shm that each GPU of a job needs: an assumption
ADDRESSES = 2**28  # bytes that a process must still be able to map: Python can hang where a thread gets none
OPEN_FILES = 4096  # that a job on several GPUs may need: an assumption. Many systems allow 1024


def hardware_of(options: RunOptions, name: str = DEFAULT) -> Hardware:
    """The machine settings of the backend `name`, as `hardware.KEY` says.

    Raises:
        UsageError: no such key, or a value that does not fit.
    """
    kind: type[Hardware] = backend(name).hardware
    settings = options.group("hardware")
    valid = [f"hardware.{key}" for key in kind.help()]
    for key, value in settings.items():
        if f"hardware.{key}" not in valid:
            backends = [other for other in BACKENDS if key in backend(other).hardware.help()]
            missing = f"backend={name} has no such setting; backend={', '.join(backends)} has it"
            nearby = f"no such key. {nearest(f'hardware.{key}', valid)}"
            raise UsageError(f"hardware.{key}={value}: {missing if backends else nearby}")
    return kind(**settings)


@dataclass(frozen=True)
class Machine:
    """The machine of a command: settings for every arm, or a profile that chooses settings per arm.

    Args:
        base: the settings. With a profile, those that all arms share. profile: a name in `PROFILES`, or None.
        explicit: names of the settings that the command line gives, which a profile does not change.
        on_a_card: jobs that share a GPU, each with its part of the memory.
    """

    base: Hardware
    profile: str | None
    explicit: frozenset[str]
    on_a_card: int = 1

    @property
    def cards(self) -> int:
        """GPUs of the machine: of the profile, or of this one."""
        named = PROFILES.get(self.profile or "")
        return this_host().gpus if named is None else named.gpus

    def shared_by(self, jobs: int) -> Machine:
        """The same for so many jobs at once: where they share GPUs, a profile takes no vLLM."""
        on_a_card = sharing(jobs, self.base.gpus, self.cards)
        alone = on_a_card == 1 or self.profile is None
        defaults = {f.name for f in fields(self.base)} - self.explicit
        without: dict[str, Any] = {} if alone else dict.fromkeys({"engine", "rollouts"} & defaults, "transformers")
        return replace(self, base=replace(self.base, **without), on_a_card=on_a_card)

    def settings_of(self, job: Job) -> Hardware:
        """The settings for one arm."""
        if self.profile is None:
            return self.base
        memory = self.base.card.memory / self.on_a_card
        chosen = choose(job.experiment, job.backend, self.base, self.explicit, memory=memory)
        return with_engine(job, chosen, self.explicit)

    def by_arm(self, jobs: Iterable[Job]) -> dict[tuple[str, str], Hardware]:
        """(model, arm) -> its settings."""
        first = {(job.model, job.arm): job for job in jobs}
        return {key: self.settings_of(job) for key, job in first.items()}


def machine_of(options: RunOptions) -> Machine:
    """The machine that `hardware` (a profile), `hardware.KEY` and `backend` describe.

    Raises:
        UsageError: no such profile or key, or a value that does not fit.
    """
    explicit, profile = frozenset(options.group("hardware")), options.hardware
    (name,) = choose_name("backend", [DEFAULT if options.backend is None else str(options.backend)], BACKENDS)
    if profile is None:
        return Machine(hardware_of(options, name), None, explicit)
    if profile not in (*PROFILES, AUTO):
        names = [*PROFILES, AUTO]
        remedy = f"Give {of_cards}, or one of {', '.join(names)}" if (of_cards := _several(str(profile))) else ""
        raise UsageError(f"hardware={profile}: no such profile. {remedy or expected(str(profile), names)}")
    try:
        base = (this_machine() if profile == AUTO else PROFILES[profile]).base(name)
    except UsageError as error:
        raise UsageError(f"hardware={profile}: {error}") from error
    given = hardware_of(options, name)
    return Machine(replace(base, **{key: getattr(given, key) for key in explicit}), profile, explicit)


def _several(text: str) -> str:
    """ "hardware=h100 hardware.processes=3" of "h100x3" or "3xh100". "" of other texts. A card that comes with several
    memories ("a100x8") has the largest."""
    parts = re.fullmatch(r"(?:(\d+)x)?([a-z]\w*?)(?:x(\d+))?", text.lower())
    if parts is None or (parts[1] is None) is (parts[3] is None):
        return ""
    single = [name for name in PROFILES if not re.search(r"\dx\d", name)]
    cards = [name for name in single if name == parts[2] or name.startswith(f"{parts[2]}_")]
    number = parts[1] or parts[3]
    return f"hardware={cards[0]}" + (f" hardware.processes={number}" if number != "1" else "") if cards else ""


def this_machine() -> Profile:
    """The profile of the GPUs that torch sees.

    Raises:
        UsageError: as `profile_of`.
    """
    import torch

    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return profile_of(names, float(torch.cuda.get_device_properties(0).total_memory) if names else 0.0)


def check_memory(
    jobs: Iterable[Job],
    machines: Mapping[tuple[str, str], Hardware],
    *,
    memory: float | None = None,
    shared: bool = False,
    explicit: frozenset[str] = frozenset(),
) -> None:
    """Raise UsageError for arms that cannot fit the device, with what would make them fit: a line for each.

    Args:
        memory: bytes of each device. None: of the GPU that the settings name. shared: it is a part of a card.
        explicit: settings given on the command line, which a remedy keeps if possible.
    """
    lines = []
    for (model, arm), job in {(job.model, job.arm): job for job in jobs}.items():
        hardware = machines[model, arm]
        if measures(job, hardware, memory=memory) is False:
            lines.append(
                f"hardware.engine_tensor_parallel: {job.label} is measured with {job.base_model.value}, which does "
                f"not fit {hardware.engine_tensor_parallel} GPUs (force=true runs it anyway); a model that is only "
                f"measured can be asked through an API: hardware.engine={SERVER} hardware.engine_url=URL"
            )
        if job.experiment is None:
            continue
        verdict = judge(job.experiment, job.backend, hardware, explicit, memory=memory, shared=shared)
        if not verdict.fits and verdict.need is not None:
            phase = verdict.need.phase
            whole = hardware.micro_batch is None and getattr(hardware, "tokens_per_gpu", None) is None
            phase += " a whole update at once (hardware.micro_batch=null)" * (whole and phase == "training")
            has = f"{USABLE * (memory or hardware.card.memory) / 1e9:.1f} GB usable"
            where = f"on each device, which has {has}"
            if hardware.device == "cpu":
                where = f"of memory for each process, and this machine has {has} for one"
            lines.append(
                f"{job.label} needs about {verdict.need.peak / 1e9:.1f} GB {where}, while "
                f"{phase}: {verdict.advice} (`rlvr plan` shows the parts; force=true runs it anyway)"
            )
    if lines:
        raise UsageError("\n".join(lines))


def sharing(slots: int, each: int, gpus: int) -> int:
    """Jobs that share a card, if `slots` jobs of `each` GPUs run at once on `gpus`: only jobs of one GPU do. More, if
    other commands share it too (`RLVR_JOBS_ON_CARD`)."""
    return max(-(-slots // gpus), jobs_on_card()) if each == 1 and gpus else 1


def device_memory(machines: Mapping[tuple[str, str], Hardware], slots: int) -> float:
    """Bytes of one device of this machine, for one process of one of `slots` jobs: of its GPU, or its part of a GPU or
    of the machine's memory that they share."""
    if any(settings.device == "gpu" for settings in machines.values()):
        import torch

        each = max(settings.gpus for settings in machines.values())
        return float(torch.cuda.get_device_properties(0).total_memory) / sharing(slots, each, this_host().gpus)
    processes = max(settings.processes for settings in machines.values())
    return this_host().memory / processes / slots


def hardware_help() -> str:
    """Each key with its default, for `rlvr list`: first those of every backend."""
    groups: dict[str, tuple[Field[object], ...]] = {"hardware.KEY=VALUE, where KEY is one of:": fields(Hardware)}
    for name in BACKENDS:
        extra = tuple(f for f in fields(backend(name).hardware) if f.name not in Hardware.help())
        groups[f"with backend={name} also:"] = extra
    lines = []
    for heading, group in groups.items():
        lines.append(heading)
        for f in group:
            default = json.dumps(f.default).strip('"')
            lines.append(f"  {f.name:<22}  {f.metadata['help']} (default {default})")
    return "\n".join(
        [
            *lines,
            "",
            "hardware=PROFILE chooses the keys of memory and speed for each arm. "
            f"PROFILE is auto or one of {', '.join(PROFILES)}",
        ]
    )


def check_machine(
    jobs: Sequence[Job],
    machines: Mapping[tuple[str, str], Hardware],
    *,
    data_dir: str | None,
    this_machine: bool = True,
    slots: int = 1,
    force: bool = False,
    watch: Watch | None = None,
    explicit: frozenset[str] = frozenset(),
) -> None:
    """Raise UsageError if this machine cannot run the jobs, with a line for each thing that is missing. Reads local
    training data in full. Loads no model.

    Args:
        this_machine: whether the jobs run on this machine. If not, only files and the hub are checked.
        slots: jobs that share it. force: without memory and disk. watch: evaluations beside the training.
        explicit: settings given on the command line.
    """
    gpus, arms = this_host().gpus, {(job.model, job.arm): job for job in jobs}
    checks: list[Callable[[], object]] = []
    if this_machine:
        checks += _software(arms.values(), machines, gpus)
    checks += [partial(check_context, job) for job in arms.values()]
    served = [job for key, job in arms.items() if machines[key].sampler.served]
    local = [job for job in arms.values() if job not in served]
    checks += [partial(check_served, job, machines[job.model, job.arm].engine) for job in served]
    checks += [*_downloads(jobs, local, data_dir), *_training_data(jobs)]
    if this_machine and arms:
        checks += _base_models(local)
        placed = _placed(machines, gpus)
        checks.append(lambda: check_sharing(jobs, placed, slots, gpus))
        shared = sharing(slots, max(settings.gpus for settings in placed.values()), gpus) > 1
        if not force and (gpus or all(settings.device == "cpu" for settings in placed.values())):
            memory = device_memory(placed, slots)
            checks.append(partial(check_memory, jobs, placed, memory=memory, shared=shared, explicit=explicit))
        checks.append(lambda: check_room(jobs, placed, watch or Watch(), slots=slots, force=force))
    missing: dict[str, None] = {}
    for check in checks:
        try:
            check()
        except (UsageError, OSError) as error:
            missing[str(error)] = None
    if missing:
        raise UsageError("\n".join(missing))


def jobs_at_once(jobs: Sequence[Job], machines: Mapping[tuple[str, str], Hardware], slots: int) -> int:
    """How many of these jobs, at most `slots`, this machine's memory holds at once by the plan. 1 where it does not
    hold one (`check_machine` says what it lacks)."""
    placed = _placed(machines, this_host().gpus)
    if host := _largest_host_memory(jobs, machines):
        slots = min(slots, int(this_host().memory // host))
    while slots > 1:
        try:
            check_memory(jobs, placed, memory=device_memory(placed, slots))
        except UsageError:
            slots -= 1
        else:
            return slots
    return 1


def _placed(machines: Mapping[tuple[str, str], Hardware], gpus: int) -> dict[tuple[str, str], Hardware]:
    """The settings with the device that this machine has."""
    device: Literal["cpu", "gpu"] = "gpu" if gpus else "cpu"
    return {
        key: replace(settings, device=device if settings.device == "auto" else settings.device)
        for key, settings in machines.items()
    }


def _largest_host_memory(jobs: Iterable[Job], machines: Mapping[tuple[str, str], Hardware]) -> float:
    return max((host_memory(job, machines[job.model, job.arm]) or 0.0 for job in jobs), default=0.0)


def check_room(
    jobs: Sequence[Job], machines: Mapping[tuple[str, str], Hardware], watch: Watch, *, slots: int, force: bool
) -> None:
    """Raise UsageError, with a line for each, if disk, memory, /dev/shm or the limit of open files are too small."""
    import psutil

    from harness.runs.track import home

    lines = []
    place = next(folder for folder in (home(), *home().parents) if folder.exists())
    each = [disk(job, machines[job.model, job.arm], watch) for job in jobs]
    runs, free = disk_of_all(each, slots), shutil.disk_usage(place).free
    runs_folder = home() / jobs[0].paper / jobs[0].scale  # what these runs, or a part of them, have written before
    free += sum(path.stat().st_size for path in runs_folder.rglob("*") if path.is_file())
    if runs > free and not force:
        lines.append(f"disk: expected {size_text(runs)} for the runs under {home()}, {size_text(free)} are free")
    host, memory = slots * _largest_host_memory(jobs, machines), this_host().memory
    if host > memory and not force:
        lines.append(f"memory: expected {host / 1e9:,.0f} GB in this machine, it has {memory / 1e9:,.0f} GB")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    left = limit - psutil.Process().memory_info().vms
    if limit != resource.RLIM_INFINITY and left < ADDRESSES and not force:
        lines.append(f"memory: expected `ulimit -v` to leave {ADDRESSES / 1e9:.1f} GB, it leaves {left / 1e9:.1f} GB")
    several = max(settings.gpus for settings in machines.values())
    if several > 1:  # NCCL, vLLM and Ray exchange through it. A container has 64 MB unless it is told otherwise
        shared = shutil.disk_usage("/dev/shm").total if Path("/dev/shm").is_dir() else 0
        if shared < several * SHARED_EACH:
            lines.append(f"/dev/shm: expected {several * SHARED_EACH / 1e9:.0f} GB, it has {shared / 1e9:.1f} GB")
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if files != resource.RLIM_INFINITY and files < OPEN_FILES:
            lines.append(f"open files: expected a limit of {OPEN_FILES} (`ulimit -n {OPEN_FILES}`), it is {files}")
    if lines:
        raise UsageError("\n".join(lines))


def check_device(hardware: Hardware, gpus: int) -> None:
    """Raise UsageError if the GPUs asked for are missing. `gpus`: how many the driver shows."""
    if hardware.device == "gpu" and not gpus:
        raise UsageError("hardware.device: expected cpu or auto, got 'gpu': this machine has no GPU that can be used")
    if hardware.device == "gpu" and hardware.processes > gpus and hardware.ray_address is None:
        raise UsageError(f"hardware.processes: expected at most the {gpus} GPUs here, got {hardware.processes}")


def check_sharing(jobs: Iterable[Job], machines: Mapping[tuple[str, str], Hardware], slots: int, gpus: int) -> None:
    """Raise UsageError for jobs that share a card and use vLLM's rollouts or an engine like it, which takes its part of
    a whole card at its start and fails where another process takes memory meanwhile."""
    together = sharing(slots, max(settings.gpus for settings in machines.values()), gpus)
    for job in jobs if together > 1 else ():
        settings, e = machines[job.model, job.arm], job.experiment
        wrong = ["rollouts"] if e is not None and backend(job.backend).colocated(e, settings) else []
        wrong += ["engine"] if settings.sampler.gpu_share is not None else []
        if wrong:
            needed = " ".join(f"hardware.{name}=transformers" for name in wrong)
            raise UsageError(
                f"jobs={slots}: {together} jobs share a GPU, where vLLM cannot reserve its part ({job.label}): "
                f"expected {needed} with backend=trl"
            )


def check_engine(hardware: Hardware) -> None:
    """Raise UsageError if the engine that evaluates is missing."""
    package = hardware.sampler.package
    if package is not None and find_spec(package) is None:
        raise UsageError(
            f"hardware.engine: expected {Hardware().engine}, got {hardware.engine!r}: {package} is not installed in "
            "this environment"
        )
    takes = engines.options(hardware.engine)
    for key, value in (("url", hardware.engine_url), ("dtype", hardware.engine_dtype)):
        if value is not None and key not in takes:
            raise UsageError(f"hardware.engine_{key}={value}: not used with hardware.engine={hardware.engine}")
    if hardware.sampler.served:
        sampling_engine(hardware, "model")  # refuses an address


def check_served(job: Job, engine: str) -> None:
    """Raise UsageError for a model that no server can have."""
    if job.experiment is not None:
        local = [name for name in engines.ENGINES if not engines.kind(name).served]
        raise UsageError(
            f"hardware.engine: expected {' or '.join(local)}, got {engine!r}, which cannot have the model that "
            f"{job.label} trains"
        )


def _software(
    jobs: Iterable[Job], machines: Mapping[tuple[str, str], Hardware], gpus: int
) -> Iterator[Callable[[], object]]:
    """Checks that this machine has the device, the engine and the trainer of each job."""
    for name, settings in dict.fromkeys((job.backend, machines[job.model, job.arm]) for job in jobs):
        yield partial(check_device, settings, gpus)
        yield partial(check_engine, settings)
        yield partial(backend(name).ready, settings)


def _base_models(jobs: Sequence[Job]) -> Iterator[Callable[[], object]]:
    """Checks that read the tokenizer of each base model, once for all of its jobs."""
    for base in dict.fromkeys(job.base_model.value for job in jobs):
        yield partial(check_base_models, [job for job in jobs if job.base_model.value == base])


def _downloads(jobs: Sequence[Job], local: Sequence[Job], data_dir: str | None) -> Iterator[Callable[[], object]]:
    """Checks that models (of `local` jobs), training data and benchmarks of the hub are cached or can be downloaded,
    and that benchmarks in files are what they must be."""
    from evals.data import benchmarks
    from evals.data.hub import check_hub
    from harness.data.problems import source
    from harness.data.tiny import FAMILIES
    from harness.spec.scales import SCALES

    for name in dict.fromkeys(job.base_model.value for job in local):
        if name not in FAMILIES and not Path(name).is_dir():
            yield partial(check_hub, "model", name)
    datasets = (job.experiment.dataset.value for job in jobs if job.experiment is not None)
    for on_hub in dict.fromkeys(source(dataset).hub for dataset in datasets):
        if on_hub is not None:
            yield partial(check_hub, "dataset", on_hub)
    if data_dir is None and jobs and SCALES[jobs[0].scale].family is not None:
        return  # they are written by the run
    for name in dict.fromkeys(name for job in jobs for name in job.protocol.benchmarks.value):
        on_hub = benchmarks.task(name).get("dataset_path")  # a file of your own has none
        if data_dir is not None or on_hub is None:
            yield partial(benchmarks.load, name, data_dir=data_dir)
        else:
            yield partial(_check_benchmark, name, on_hub)


def _check_benchmark(name: str, path: str) -> None:
    from evals.data.hub import check_hub

    try:
        check_hub("dataset", path)
    except UsageError as error:
        raise UsageError(f"benchmark {name}: {error}, in data_dir=FOLDER") from error


def _training_data(jobs: Sequence[Job]) -> Iterator[Callable[[], object]]:
    """Checks that read local training files once, so that a bad row is reported before the start."""
    from harness.data.problems import load_problems, load_solutions, source
    from harness.data.tiny import FAMILIES

    arms: dict[tuple[str, bool, tuple[str, ...]], list[str]] = {}  # what is read -> the arms that read it
    for job in jobs:
        if (e := job.experiment) is not None:
            arms.setdefault((e.dataset.value, e.SOLUTIONS, e.columns), []).append(job.label)
    for (dataset, with_solutions, more), labels in arms.items():
        if (more or dataset not in FAMILIES) and source(dataset).hub is None:
            load = partial(load_solutions, dataset) if with_solutions else partial(load_problems, dataset, more=more)
            yield partial(_for_arms, load, tuple(dict.fromkeys(labels)) if more else ())


def _for_arms(load: Callable[[], object], labels: Sequence[str]) -> None:
    """Read the data. An error names the arms that want more than problems and answers."""
    try:
        load()
    except UsageError as error:
        raise UsageError(f"{', '.join(labels)}: {error}" if labels else str(error)) from error
