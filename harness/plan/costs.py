"""What one run costs: tokens, GPU-hours, hours by the clock, a price, disk and host memory. Estimates, and pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from evals.data import benchmarks
from evals.data.protocols import Protocol
from evals.provenance import Origin, Sourced
from harness.backends import backend, seconds
from harness.backends.common import optimiser_steps
from harness.command.watch import Watch, due
from harness.errors import UsageError
from harness.spec import Experiment, Finetune, catalogue
from harness.spec.architecture import Architecture, architecture
from harness.spec.hardware import Hardware
from harness.spec.job import Job
from harness.spec.rejection import Rejection

CHECKPOINTS = 2  # that a training keeps, of those that it saves; a third exists while it is written
WHILE = "while it runs"  # a part of the disk
BYTES_A_TOKEN = 4  # of a response on disk; an assumption
UNKNOWN = "a tiny model, or one of unknown shape: `hf download MODEL config.json` makes it known"


def training_steps(job: Job) -> int:
    """Optimiser steps of a run; 0 for an untrained model."""
    return 0 if job.experiment is None else optimiser_steps(job.experiment)


def mean_length(job: Job) -> float | None:
    """The mean response length that the paper publishes for this arm, over its benchmarks; None if it does not."""
    if job.scale != "paper" or job.paper not in catalogue.papers():
        return None
    rows = [
        cell
        for cell in catalogue.published(job.paper)
        if (cell.model, cell.arm, cell.metric) == (job.model, job.arm, "mean_tokens")
    ]
    means = [cell.value for cell in rows if cell.benchmark == catalogue.AVERAGE] or [cell.value for cell in rows]
    return sum(means) / len(means) if means else None


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


def tokens(job: Job, watch: Watch) -> dict[str, int]:
    """Tokens of one run, at most."""
    e, steps = job.experiment, training_steps(job)
    sampled = trained = 0
    if isinstance(e, Finetune):
        trained = steps * e.batch_size.value * e.max_tokens.value
        if isinstance(e, Rejection):
            sampled = e.rounds.value * e.problems_per_round.value * e.samples_per_problem.value
            sampled *= e.max_completion_tokens.value
    elif e is not None:
        rollouts = -(-steps // e.updates_per_rollout.value)  # the last may have fewer updates
        sequences = rollouts * e.prompts_per_rollout.value * e.group_size.value
        greedy = rollouts * e.prompts_per_rollout.value if "greedy_rewards" in e.method.reads else 0
        sampled = (sequences + greedy) * e.max_completion_tokens.value
        trained = sequences * (e.max_completion_tokens.value + e.max_prompt_tokens.value)
    beside = evaluations(job, watch) * evaluated_tokens(watch.protocol(job.protocol))
    evaluated = evaluated_tokens(job.protocol) + beside
    return {"rollout_tokens": sampled, "trained_tokens": trained, "evaluation_tokens": evaluated}


def known_shape(job: Job) -> Architecture | None:
    """The shape of the base model; None if it is not known, or the model is tiny and runs on a CPU."""
    a = architecture(job.base_model.value)
    return None if a is None or a.parameters < 1e8 else a


def hours(job: Job, hardware: Hardware, rules: seconds.Rules, watch: Watch) -> tuple[float, float] | None:
    """(GPU-hours, hours by the clock) of training and evaluation; None where the shape is not known."""
    a = known_shape(job)
    if a is None:
        return None
    gpu, engine, eager = hardware.card, hardware.engine_tensor_parallel, not hardware.sampler.continuous
    final = training = 0.0
    if not hardware.sampler.served:  # a server has its own GPUs
        final = seconds.evaluation_seconds(a, gpu, job.protocol, rules, eager=eager, tensor_parallel=engine)
    if job.experiment is not None:
        step = backend(job.backend).step_seconds
        mean = mean_length(job)
        training = seconds.training_seconds(a, gpu, job.experiment, training_steps(job), hardware, rules, mean, step)
        count, protocol = evaluations(job, watch), watch.protocol(job.protocol)
        if in_rollouts_engine(job, hardware, watch):
            training += count * seconds.evaluation_seconds(a, gpu, protocol, rules, eager=False)
        else:
            each = seconds.evaluation_seconds(a, gpu, protocol, rules, eager=eager, tensor_parallel=engine)
            final += count * each
    used = training * hardware.devices + final
    return used / 3600, (training + final / (hardware.engine_replicas * engine)) / 3600


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
    """Bytes that a run leaves on disk, at most: checkpoints, models, responses; and more while it runs: a checkpoint
    that is being written, of rejection sampling the round before, and snapshots that wait for their evaluation.

    A checkpoint has float32 weights and two moments, 12 bytes a trained parameter, and under ZeRO 2 for its bfloat16
    weights; a model has 4 bytes a parameter.
    """
    a, e = architecture(job.base_model.value), job.experiment  # a tiny model's too
    counts = tokens(job, watch)
    answers = counts["evaluation_tokens"] + (counts["rollout_tokens"] if isinstance(e, Rejection) else 0)
    parts = {"responses": answers * seconds.MIDDLE.mean_share * BYTES_A_TOKEN}
    if a is None or e is None:
        return parts
    rank, model = e.lora_rank.value, 4.0 * a.parameters
    each = 6 if e.precision.value == "pure_bfloat16" else 14
    checkpoint = each * (a.parameters if rank is None else a.lora(rank))
    saved = _checkpoints(job, hardware)
    kept_checkpoints, writing = min(CHECKPOINTS, saved), checkpoint if saved > CHECKPOINTS else 0.0
    before = kept_checkpoints * checkpoint + model if isinstance(e, Rejection) and e.rounds.value > 1 else 0.0
    stay = due_steps(job, watch.keep)
    kept = 1 + len(stay) + (1 if watch.snapshot_every else 0)
    if not in_rollouts_engine(job, hardware, watch):
        before += len(due_steps(job, watch.every) - stay) * model
    return {"checkpoints": kept_checkpoints * checkpoint, WHILE: writing + before, "models": kept * model, **parts}


def _checkpoints(job: Job, hardware: Hardware) -> int:
    """How many checkpoints a training saves, of rejection sampling a round: every `save_every` rollouts (or steps, of a
    training without), and at its end."""
    e = job.experiment
    steps = e.steps_per_round() if isinstance(e, Rejection) else training_steps(job)
    rollouts = steps / e.updates_per_rollout.value if isinstance(e, Experiment) else steps
    return max(1, math.ceil(rollouts / hardware.save_every))


def disk_of_all(disks: Sequence[Mapping[str, float]], together: int = 1) -> float:
    """Bytes that several runs take, so many `together`."""
    passing = sorted(parts.get(WHILE, 0.0) for parts in disks)
    return sum(sum(parts.values()) for parts in disks) - sum(passing) + sum(passing[-together:])


def host_memory(job: Job, hardware: Hardware) -> float | None:
    """Bytes of a machine's own memory that a training needs, at most; None where the shape is not known."""
    a = None if hardware.sampler.served else known_shape(job)
    if a is None:
        return None
    return 2.0 * a.parameters if job.experiment is None else backend(job.backend).host(a, job.experiment, hardware)


def cost(job: Job, hardware: Hardware, watch: Watch | None = None, price: float | None = None) -> dict[str, Any]:
    """All of it for one run: `gpu_hours` (in which a GPU works) and `hours` with their range, and `gpu_hours_taken`,
    which `price` is of: every GPU for all of the time. None for a model of unknown shape.

    Args:
        price: USD for an hour of one GPU; None: the assumed one.
    """
    watch = watch or Watch()
    found: dict[str, Any] = dict(tokens(job, watch))
    for suffix, rules in (("_low", seconds.FAST), ("", seconds.MIDDLE), ("_high", seconds.SLOW)):
        both = hours(job, hardware, rules, watch) or (None, None)
        found |= {f"{name}{suffix}": value for name, value in zip(("gpu_hours", "hours"), both, strict=True)}
    rate, gpus = price_of(hardware, price), max(hardware.devices, hardware.gpus)
    on_cpu = hardware.device == "cpu"
    return found | {
        "price": None if on_cpu or found["hours"] is None else found["hours"] * gpus * rate.value,
        "gpu_hours_taken": None if found["hours"] is None else found["hours"] * gpus,
        "gpu": "cpu" if on_cpu else hardware.gpu or "h100",
        "price_per_gpu_hour": rate.as_dict(),
        "disk": disk(job, hardware, watch),
        "host_memory": host_memory(job, hardware),
    }


def size_text(size: float) -> str:
    """Bytes as GB, or MB below one."""
    return f"{size / 1e9:,.0f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"
