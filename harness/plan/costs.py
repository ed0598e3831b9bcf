"""The cost of one run: tokens, GPU-hours, hours by the clock, a price, disk and host memory. Estimates, and pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evals.data import benchmarks
from evals.data.protocols import Protocol
from evals.provenance import Origin, Sourced
from evals.provenance import paper as published
from harness.backends import backend, seconds
from harness.command.watch import Watch, due
from harness.errors import UsageError
from harness.spec import Experiment, Training, catalogue
from harness.spec.architecture import Architecture, architecture
from harness.spec.hardware import Hardware
from harness.spec.job import Job

CHECKPOINTS = 2  # that a training keeps, of those that it saves. A third exists while it is written
WHILE = "while it runs"  # a part of the disk
CPU = "cpu"  # a device, and what stands for a kind of GPU there
BYTES_A_TOKEN = 4  # per token of a response on disk: an assumption
UNKNOWN = "a tiny model, or one of unknown shape: `hf download MODEL config.json` makes it known"


def training_steps(job: Job) -> int:
    """Optimiser steps of a run, 0 for an untrained model."""
    return 0 if job.experiment is None else job.experiment.steps()


def mean_length(job: Job) -> Sourced[float] | None:
    """The mean response length that the paper publishes for this arm, over its benchmarks, or a public log of its
    recipe, or None where neither is known."""
    if job.scale != "paper" or job.paper not in catalogue.papers():
        return None
    rows = [
        cell
        for cell in catalogue.published(job.paper)
        if (cell.model, cell.arm, cell.metric) == (job.model, job.arm, "mean_tokens")
    ]
    means = [cell.value for cell in rows if cell.benchmark == catalogue.AVERAGE] or [cell.value for cell in rows]
    if means and job.experiment is not None:
        return published(sum(means) / len(means), rows[0].table)
    return None if job.experiment is None else catalogue.load(job.paper).response_length


def evaluated_tokens(protocol: Protocol) -> int:
    """Tokens that one evaluation samples at most."""
    tokens = 0
    for name in protocol.benchmarks.value:
        rows = protocol.value("rows", name) or benchmarks.count(name)
        tokens += rows * protocol.value("n", name) * protocol.value("max_tokens", name)
    return tokens


def due_steps(job: Job, every: int | None) -> set[int]:
    """The optimiser steps whose model is saved for `eval.every` or `keep`."""
    if every is None or job.experiment is None:
        return set()
    stride = backend(job.backend).stride(job.experiment)
    return {step for step in range(stride, training_steps(job) + 1, stride) if due(step, every, stride)}


def evaluations(job: Job, watch: Watch) -> int:
    """Evaluations for the curve: of the base model, of the due steps and of the last one."""
    return len({0, training_steps(job)} | due_steps(job, watch.every)) if watch.every and job.experiment else 0


def in_rollouts_engine(job: Job, hardware: Hardware, watch: Watch) -> bool:
    """Whether the vLLM of the rollouts, which has the weights, evaluates during the training: it is in the training's
    only process, and its sequences are long enough. Else snapshots wait on a GPU until the training has ended."""
    trainer, e = backend(job.backend), job.experiment
    if not (isinstance(e, Experiment) and trainer.in_process and hardware.processes == 1):
        return False
    return trainer.colocated(e, hardware) and watch.protocol(job.protocol).longest <= e.max_completion_tokens.value


def tokens(job: Job, watch: Watch) -> Tokens:
    """Tokens of one run, at most."""
    sampled, trained = (0, 0) if job.experiment is None else job.experiment.tokens()
    beside = evaluations(job, watch) * evaluated_tokens(watch.protocol(job.protocol))
    return Tokens(sampled, trained, evaluated_tokens(job.protocol) + beside)


def known_shape(job: Job) -> Architecture | None:
    """The shape of the base model, or None if it is not known, or the model has fewer than 1e8 parameters."""
    a = architecture(job.base_model.value)
    return None if a is None or a.parameters < 1e8 else a


def hours(job: Job, hardware: Hardware, rules: seconds.Rules, watch: Watch) -> tuple[float, float] | None:
    """(GPU-hours, hours by the clock) of training and evaluation, or None where the shape is not known."""
    a = known_shape(job)
    if a is None:
        return None
    gpu, engine, eager = hardware.card, hardware.engine_tensor_parallel, not hardware.sampler.continuous
    final = training = starts = 0.0
    engines = hardware.engine_replicas * engine
    if not hardware.sampler.served:  # a server has its own GPUs
        final = seconds.evaluation_seconds(a, gpu, job.protocol, rules, eager=eager, tensor_parallel=engine)
        starts = rules.start_s + (0.0 if eager else rules.engine_s)
    if job.experiment is not None:
        training = training_time(a, job, hardware, rules)
        count, protocol = evaluations(job, watch), watch.protocol(job.protocol)
        if in_rollouts_engine(job, hardware, watch):
            training += count * seconds.evaluation_seconds(a, gpu, protocol, rules, eager=False)
        else:
            each = seconds.evaluation_seconds(a, gpu, protocol, rules, eager=eager, tensor_parallel=engine)
            final += count * each
    used = training * hardware.devices + final + starts * engines
    return used / 3600, (training + final / engines + starts) / 3600


def training_time(a: Architecture, job: Job, hardware: Hardware, rules: seconds.Rules) -> float:
    """Seconds of a training by the clock: its start, its steps, its checkpoints and its model on disk."""
    e, trainer, mean = job.experiment, backend(job.backend), mean_length(job)
    if e is None:
        return 0.0
    colocated = isinstance(e, Experiment) and trainer.colocated(e, hardware)
    length = None if mean is None else mean.value
    steps = seconds.training_seconds(
        a, hardware.card, e, training_steps(job), hardware, rules, length, trainer.step_seconds, colocated=colocated
    )
    written = _checkpoints(e, hardware) * checkpoint_bytes(a, e) + 4.0 * a.parameters
    return rules.start_s + (rules.engine_s if colocated else 0.0) + steps + written / rules.write


@cache
def _prices() -> dict[str, float]:
    import yaml

    return dict(yaml.safe_load((Path(__file__).parent / "prices.yaml").read_text(encoding="utf-8")))


def price_of(hardware: Hardware, given: float | None) -> Sourced[float]:
    """USD for an hour of one of these GPUs."""
    if given is not None:
        if not (math.isfinite(given) and given >= 0):
            raise UsageError(f"price: expected USD for an hour of one GPU, got {given}")
        return Sourced(given, Origin.USER, "price=")
    return Sourced(
        _prices()[hardware.gpu or "h100"], Origin.ASSUMED, "typical offers as of 2026-11; price= replaces it"
    )


def disk(job: Job, hardware: Hardware, watch: Watch) -> dict[str, float]:
    """Bytes that a run is expected to leave on disk: checkpoints, models, and responses of a mean length.

    While it runs, it needs more: a checkpoint that is being written, of rejection sampling the round before, and
    snapshots that wait for their evaluation.

    A checkpoint counts 14 bytes a trained parameter: float32 weights and two moments, and ZeRO's bfloat16 weights. With
    pure_bfloat16 it counts 6. A model has 4 bytes a parameter.
    """
    a, e = architecture(job.base_model.value), job.experiment  # a tiny model's too
    counts = tokens(job, watch)
    answers = counts.evaluation + (counts.rollout if e is not None and e.IN_ROUNDS else 0)
    parts = {"responses": answers * seconds.MIDDLE.mean_share * BYTES_A_TOKEN}
    if a is None or e is None:
        return parts
    model, checkpoint = 4.0 * a.parameters, checkpoint_bytes(a, e)
    saved = _checkpoints(e, hardware)
    kept_checkpoints, writing = min(CHECKPOINTS, saved), checkpoint if saved > CHECKPOINTS else 0.0
    before = kept_checkpoints * checkpoint + model if e.steps() > e.steps_per_start() else 0.0
    stay = due_steps(job, watch.keep)
    kept = 1 + len(stay) + (1 if watch.snapshot_every else 0)
    if not in_rollouts_engine(job, hardware, watch):
        before += len(due_steps(job, watch.every) - stay) * model
    return {"checkpoints": kept_checkpoints * checkpoint, WHILE: writing + before, "models": kept * model, **parts}


def checkpoint_bytes(a: Architecture, e: Training) -> float:
    """Bytes of one checkpoint (`disk`)."""
    rank, each = e.lora_rank.value, 6 if e.precision.value == "pure_bfloat16" else 14
    return each * (a.parameters if rank is None else a.lora(rank))


def _checkpoints(e: Training, hardware: Hardware) -> int:
    """How many checkpoints a training saves, of rejection sampling a round: every `save_every` rollouts (or steps, of a
    training without), and at its end."""
    return max(1, math.ceil(e.steps_per_start() / e.updates / hardware.save_every))


def disk_of_all(disks: Sequence[Mapping[str, float]], together: int = 1) -> float:
    """Bytes that several runs take, so many `together`."""
    passing = sorted(parts.get(WHILE, 0.0) for parts in disks)
    return sum(sum(parts.values()) for parts in disks) - sum(passing) + sum(passing[-together:])


def host_memory(job: Job, hardware: Hardware) -> float | None:
    """Bytes of a machine's own memory that a job needs, at most. None where the shape is not known, or a server
    samples."""
    a = None if hardware.sampler.served else known_shape(job)
    if a is None:
        return None
    return 2.0 * a.parameters if job.experiment is None else backend(job.backend).host(a, job.experiment, hardware)


@dataclass(frozen=True)
class Span:
    """An estimate in hours, and how far it may be off."""

    low: float
    middle: float
    high: float


def span_dict(name: str, span: Span | None) -> dict[str, float | None]:
    """Three entries of a JSON document. Null where the hours are not known."""
    low, middle, high = (None, None, None) if span is None else (span.low, span.middle, span.high)
    return {name: middle, f"{name}_low": low, f"{name}_high": high}


def total(spans: Sequence[Span]) -> Span | None:
    """The sum, or None without any."""
    ends = zip(*((span.low, span.middle, span.high) for span in spans), strict=True)
    return Span(*map(sum, ends)) if spans else None


@dataclass(frozen=True)
class Tokens:
    """Tokens of a run, at most.

    Args:
        rollout, evaluation: sampled in training, and in evaluation. trained: prompts and responses.
    """

    rollout: int = 0
    trained: int = 0
    evaluation: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(self.rollout + other.rollout, self.trained + other.trained, self.evaluation + other.evaluation)

    def as_dict(self) -> dict[str, int]:
        return {f"{name}_tokens": count for name, count in vars(self).items()}


@dataclass(frozen=True)
class Cost:
    """The cost of one run.

    Args:
        gpu: its kind, or "cpu". gpus: how many the run holds. rate: USD per hour of one GPU.
        hours: by the clock. gpu_hours: in which a GPU works. None for a model of unknown shape.
        disk, host_memory: bytes (`disk`, `host_memory`).
    """

    tokens: Tokens
    gpu: str
    gpus: int
    rate: Sourced[float]
    hours: Span | None
    gpu_hours: Span | None
    disk: Mapping[str, float]
    host_memory: float | None

    @property
    def gpu_hours_taken(self) -> float | None:
        """Every GPU for all of the time."""
        return None if self.hours is None else self.hours.middle * self.gpus

    @property
    def price(self) -> float | None:
        """USD of the GPU-hours taken, or None on a CPU."""
        hours = self.gpu_hours_taken
        return None if self.gpu == CPU or hours is None else hours * self.rate.value

    def as_dict(self) -> dict[str, object]:
        return {
            **self.tokens.as_dict(),
            **span_dict("gpu_hours", self.gpu_hours),
            **span_dict("hours", self.hours),
            "price": self.price,
            "gpu_hours_taken": self.gpu_hours_taken,
            "gpu": self.gpu,
            "price_per_gpu_hour": self.rate.as_dict(),
            "disk": dict(self.disk),
            "host_memory": self.host_memory,
        }


def cost(job: Job, hardware: Hardware, watch: Watch | None = None, price: float | None = None) -> Cost:
    """All of it for one run.

    Args:
        price: USD for an hour of one GPU. None: the assumed one.
    """
    watch = watch or Watch()
    ends = [hours(job, hardware, rules, watch) for rules in (seconds.FAST, seconds.MIDDLE, seconds.SLOW)]
    known = [end for end in ends if end is not None]
    gpu_hours, by_the_clock = (Span(*values) for values in zip(*known, strict=True)) if known else (None, None)
    return Cost(
        tokens=tokens(job, watch),
        gpu=CPU if hardware.device == CPU else hardware.gpu or "h100",
        gpus=max(hardware.devices, hardware.gpus),
        rate=price_of(hardware, price),
        hours=by_the_clock,
        gpu_hours=gpu_hours,
        disk=disk(job, hardware, watch),
        host_memory=host_memory(job, hardware),
    )


def size_text(size: float) -> str:
    """Bytes as GB, or MB below one."""
    return f"{size / 1e9:,.0f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"
