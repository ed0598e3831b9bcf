"""The plan of a command: every run, every value with its source, and an estimate of the cost. Starts nothing.

`harness.plan.text` writes a `Plan` as text, and `Plan.as_dict` as JSON.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evals.provenance import Origin, Sourced
from harness.backends import backend, seconds
from harness.backends.memory import USABLE, Need
from harness.command.watch import Watch
from harness.plan.context import ContextNeed, context_need
from harness.plan.costs import CPU, Cost, Span, Tokens, cost, disk_of_all, mean_length, span_dict, total, training_steps
from harness.plan.model_prompts import ModelPrompts, model_prompts
from harness.plan.profiles import Fit, changes, judge, measures
from harness.spec import Experiment, Reproduction, catalogue
from harness.spec.hardware import Hardware, Machines, of_job
from harness.spec.job import Job
from harness.spec.scales import SCALES

Key = tuple[str, str]  # the model and the arm of a job


@dataclass(frozen=True)
class Memory:
    """The needs of a training on one device.

    Args:
        has: bytes of the device, or of the part of a card that a job has. devices: how many a run uses.
        settings: of the hardware, as options of a command.
    """

    gpu: str
    has: float
    devices: int
    settings: str
    need: Need
    fit: Fit

    @property
    def usable(self) -> float:
        return USABLE * self.has

    def as_dict(self) -> dict[str, object]:
        return {
            "gpu": self.gpu,
            "gpu_bytes": self.has,
            "gpus": self.devices,
            "settings": self.settings,
            "training": dict(self.need.training),
            "sampling": dict(self.need.sampling),
            "peak": self.need.peak,
            "fits": self.fit.fits,
            "usable_bytes": self.usable,
            "remedy": self.fit.remedy,
            "advice": self.fit.advice,
        }


@dataclass(frozen=True)
class ArmPlan:
    """One arm, and one run of it.

    Args:
        job: its first one. label: its name for people. seeds: of its runs.
        memory: None for an untrained arm, an unknown shape, or an arm that the backend refuses.
        evaluation_fits: None where the model's shape is not known.
        mean_length: tokens of a response, published or in a public log. None: by a rule (`seconds.ASSUMPTIONS`).
        refused: why the backend cannot train it. why_backend: why another than the usual backend trains it.
        one_step, one_more_rollout: hours of shorter runs, or None where nobody asks (`shorter`).
    """

    job: Job
    label: str
    seeds: tuple[int, ...]
    cost: Cost
    memory: Memory | None
    context: ContextNeed
    evaluation_fits: bool | None
    mean_length: Sourced[float] | None
    refused: str | None
    why_backend: str | None
    one_step: float | None
    one_more_rollout: float | None

    @property
    def steps(self) -> int:
        return training_steps(self.job)

    @property
    def title(self) -> str:
        return self.job.title if self.job.experiment or self.job.trained == self.job.model else "untrained"

    @property
    def fits(self) -> tuple[str, str]:
        """(the answer, a reason). The answer is yes, no, or – where it is not known or cannot run. With a yes, the
        reason is a remark, or ""."""
        memory, base, context = self.memory, self.job.base_model.value, self.context.remark
        place = "this machine" if self.cost.gpu == CPU else "these GPUs"
        too_large = f"too large for {place}; {memory.fit.advice}" if memory is not None and not memory.fit.fits else ""
        cases = (  # the first that is so
            (self.refused, "–", self.refused or ""),
            (too_large, "no", too_large),
            (self.evaluation_fits is False, "no", f"the evaluation's GPUs do not hold {base}"),
            (not self.context.fits, "no", context),
            (self.evaluation_fits is None, "–", f"not known whether {base} fits"),
            (self.steps and memory is None, "–", context),
        )
        return next(((word, why) for so, word, why in cases if so), ("yes", context))

    def as_dict(self) -> dict[str, object]:
        job = self.job
        return {
            "model": job.model,
            "arm": job.arm,
            "title": self.title,
            "backend": job.backend,
            "seeds": list(self.seeds),
            "steps": self.steps,
            "method": method(job),
            "settings": {key: sourced.as_dict() for key, sourced in job.settings().items()},
            "origins": origins(job.settings()),
            "cost_per_run": self.cost.as_dict(),
            "one_step": self.one_step,
            "one_more_rollout": self.one_more_rollout,
            "memory": None if self.memory is None else self.memory.as_dict(),
            "context": self.context.as_dict(),
            "evaluation_fits": self.evaluation_fits,
            "mean_length": None if self.mean_length is None else self.mean_length.as_dict(),
            "refused": self.refused,
            "why_backend": self.why_backend,
            "label": self.label,
        }


@dataclass(frozen=True)
class Total:
    """All runs, one after another.

    Args:
        runs: the cost of each.
    """

    runs: Sequence[Cost]

    @property
    def tokens(self) -> Tokens:
        return sum((run.tokens for run in self.runs), Tokens())

    @property
    def hours(self) -> Span | None:
        return total([run.hours for run in self.runs if run.hours is not None])

    @property
    def gpu_hours(self) -> Span | None:
        return total([run.gpu_hours for run in self.runs if run.gpu_hours is not None])

    @property
    def gpu_hours_taken(self) -> float | None:
        hours = [run.gpu_hours_taken for run in self.runs if run.gpu_hours_taken is not None]
        return sum(hours) if hours else None

    @property
    def price(self) -> float | None:
        return sum(priced) if (priced := [run.price for run in self.runs if run.price is not None]) else None

    @property
    def unknown(self) -> int:
        """Runs whose hours are not known."""
        return sum(run.gpu_hours is None for run in self.runs)

    @property
    def disk(self) -> float:
        return disk_of_all([run.disk for run in self.runs])

    @property
    def host_memory(self) -> float | None:
        return max((run.host_memory for run in self.runs if run.host_memory is not None), default=None)

    def as_dict(self) -> dict[str, object]:
        return {
            **self.tokens.as_dict(),
            **span_dict("gpu_hours", self.gpu_hours),
            **span_dict("hours", self.hours),
            "gpu_hours_taken": self.gpu_hours_taken,
            "price": self.price,
            "runs_without_gpu_hours": self.unknown,
            "disk": self.disk,
            "host_memory": self.host_memory,
        }


@dataclass(frozen=True)
class Plan:
    """All that a command would start.

    Args:
        runs: their names, without those of refused arms. on_a_card: jobs that share a GPU.
        doubts: the paper's, and those of the plan.
        missing: in this machine, or None where the plan is for another. profile: the name of the hardware, or None.
        overlaps: training problems in benchmarks, in words.
    """

    paper: Reproduction
    scale: str
    runs: tuple[str, ...]
    backends: tuple[str, ...]
    arms: tuple[ArmPlan, ...]
    total: Total
    on_a_card: int
    base_models: tuple[ModelPrompts, ...]
    doubts: tuple[str, ...]
    missing: tuple[str, ...] | None = None
    profile: str | None = None
    overlaps: tuple[str, ...] = ()

    @property
    def rates(self) -> dict[str, Sourced[float]]:
        """USD per hour of each kind of GPU."""
        return {arm.cost.gpu: arm.cost.rate for arm in self.arms}

    def as_dict(self) -> dict[str, object]:
        """The JSON document of `rlvr plan`."""
        trainer = self.paper.trainer
        return {
            "missing": None if self.missing is None else list(self.missing),
            "hardware": self.profile,
            "paper": self.paper.key,
            "title": self.paper.title,
            "arxiv": self.paper.arxiv,
            "scale": self.scale,
            "scale_label": SCALES[self.scale].label,
            "backends": list(self.backends),
            "trainer": None if trainer is None else trainer.as_dict(),
            "runs": list(self.runs),
            "arms": [arm.as_dict() for arm in self.arms],
            "total": self.total.as_dict(),
            "on_a_card": self.on_a_card,
            "prices": {gpu: rate.as_dict() for gpu, rate in self.rates.items()},
            "cost_assumptions": seconds.ASSUMPTIONS,
            "asked": [model.as_dict() for model in self.base_models],
            "departures": list(self.paper.departures),
            "doubts": list(self.doubts),
            "overlaps": list(self.overlaps),
        }


def origins(settings: Mapping[str, Sourced[object]]) -> dict[str, int]:
    """The number of values of each origin, 0 included."""
    counted = Counter(str(sourced.origin) for sourced in settings.values())
    return {str(origin): counted[str(origin)] for origin in Origin}


def method(job: Job) -> list[str]:
    """The equations of a run, in order of application. Empty for an untrained model."""
    return [] if job.experiment is None else job.experiment.equations()


def trainer_configs(jobs: Iterable[Job], machines: Machines) -> dict[str, dict[str, Any]]:
    """model/arm -> the trainer's own configuration of each trained arm.

    Raises:
        CannotExpress: the backend has no way to train an arm. ValueError: the trainer's schema refuses it.
    """
    jobs, configs = list(jobs), {}
    names, out_dir = labels(jobs), Path("OUT_DIR")  # a placeholder for the folder of the run
    for job in jobs:
        name = names[job.model, job.arm]
        if job.experiment is not None and name not in configs:
            hardware = of_job(machines, job.model, job.arm)
            configs[name] = backend(job.backend).config(job.experiment, hardware, seed=job.seed, out_dir=out_dir)
    return configs


def labels(jobs: Iterable[Job]) -> dict[Key, str]:
    """(model, arm) -> its name for people: by the model that is trained, or by the paper's where that tells two arms
    apart."""
    names = {(job.model, job.arm): job.label for job in jobs}
    counts = Counter(names.values())
    return {key: label if counts[label] == 1 else "/".join(key) for key, label in names.items()}


def plan(
    jobs: list[Job],
    refused: Mapping[Key, Exception] | None = None,
    *,
    moved: Mapping[Key, str] | None = None,
    machines: Mapping[Key, Hardware] | None = None,
    explicit: frozenset[str] = frozenset(),
    paper: Reproduction | None = None,
    watch: Watch | None = None,
    price: float | None = None,
    on_a_card: int = 1,
) -> Plan:
    """The plan of these jobs.

    Args:
        watch: evaluations beside the training. price: USD for an hour of one GPU. None: an assumed one.
        paper: the declaration of the jobs. None: the declared paper of their key.
        refused: (model, arm) -> why the backend cannot train it. moved: -> why another backend than the usual
            one trains it. machines: (model, arm) -> its settings.
        explicit: settings given on the command line, which a remedy keeps if possible.
        on_a_card: jobs that share a GPU, each with its part of the memory.
    """
    refused, moved, watch, names = refused or {}, moved or {}, watch or Watch(), labels(jobs)
    by_arm: dict[Key, list[Job]] = {}
    for job in jobs:
        by_arm.setdefault((job.model, job.arm), []).append(job)
    arms = {}
    for key, (job, *_) in by_arm.items():
        hardware = backend(job.backend).hardware() if machines is None else machines[key]
        memory = None if key in refused else memory_of(job, hardware, explicit, on_a_card)
        arms[key] = ArmPlan(
            job=job,
            label=names[key],
            seeds=tuple(each.seed for each in by_arm[key]),
            cost=_cost(job, hardware, memory, watch, price),
            memory=memory,
            context=context_need(job),
            evaluation_fits=measures(job, hardware, memory=hardware.card.memory / on_a_card),
            mean_length=mean_length(job),
            refused=str(refused[key]) if key in refused else None,
            why_backend=moved.get(key),
            one_step=shorter(job, hardware, watch, 1),
            one_more_rollout=shorter(job, hardware, watch, 1 + job.updates),
        )
    first, able = jobs[0], [job for job in jobs if (job.model, job.arm) not in refused]
    trained = dict.fromkeys(job.backend for job in jobs if job.experiment is not None)
    declared = paper or catalogue.load(first.paper)
    return Plan(
        paper=declared,
        scale=first.scale,
        runs=tuple(job.name for job in able),
        backends=tuple(trained) or (first.backend,),
        arms=tuple(arms.values()),
        total=Total([arms[job.model, job.arm].cost for job in able]),
        on_a_card=on_a_card,
        base_models=tuple(model_prompts(able)),
        doubts=(*declared.doubts, *ratio_doubts(jobs)),
    )


def _cost(job: Job, hardware: Hardware, memory: Memory | None, watch: Watch, price: float | None) -> Cost:
    """The cost of a run. On a processor its memory is the machine's."""
    run_cost = cost(job, hardware, watch, price)
    if memory is None or hardware.device != CPU:
        return run_cost
    return replace(run_cost, host_memory=memory.need.peak * hardware.devices)


def ratio_doubts(jobs: Iterable[Job]) -> list[str]:
    """Arms whose importance ratios compare the trainer with a sampler that leaves out tokens."""
    off: dict[str, float] = {}  # label -> top_p
    for job in jobs:
        e = job.experiment
        if isinstance(e, Experiment) and ("rollout_logp" in e.method.reads or e.old_policy.value == "sampler"):
            off[job.label] = e.rollout_top_p.value
    return [
        f"{label}: its importance ratios are off, because rollout_top_p={top_p:g} leaves out tokens that the trainer "
        "counts. Type rollout_top_p=1 for ratios that are right"
        for label, top_p in off.items()
        if top_p < 1
    ]


def shorter(job: Job, hardware: Hardware, watch: Watch, steps: int) -> float | None:
    """Hours of the same run with so many steps, on a machine's processor, where people try a run shorter, else None."""
    e = job.experiment
    if hardware.device != CPU or e is None or e.IN_ROUNDS:
        return None
    short = replace(job, experiment=e.override({"max_steps": steps}, Origin.ASSUMED, "a shorter run"))
    hours = cost(short, hardware, watch).hours
    return None if hours is None else hours.middle


def memory_of(job: Job, hardware: Hardware, explicit: frozenset[str], on_a_card: int = 1) -> Memory | None:
    """Memory that one device needs, and whether it fits, or fits the part of a card that several jobs share, or None
    for an untrained arm or an unknown shape."""
    if job.experiment is None:
        return None
    has = hardware.card.memory / on_a_card
    fit = judge(job.experiment, job.backend, hardware, explicit, memory=has, shared=on_a_card > 1)
    if fit.need is None:
        return None
    gpu = CPU if hardware.device == CPU else hardware.gpu or "h100"
    return Memory(gpu, has, hardware.devices, changes(type(hardware)(), hardware), fit.need, fit)
