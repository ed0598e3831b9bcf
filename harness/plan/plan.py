"""What a command would start: every run, every value with its source, and an estimate of the cost. Starts nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evals.data import benchmarks
from evals.provenance import Origin, Sourced
from harness.backends import backend, seconds
from harness.backends.common import optimiser_steps
from harness.plan.context import context_need
from harness.plan.profiles import changes, gpu_memory, judge, measures
from harness.spec import Finetune, Reproduction, catalogue
from harness.spec.architecture import architecture
from harness.spec.declarations import cited
from harness.spec.hardware import Hardware, Machines, of_job
from harness.spec.job import Job
from harness.spec.rejection import Rejection
from harness.spec.scales import SCALES


def origins(settings: dict[str, Sourced[Any]]) -> dict[str, int]:
    """The number of values of each origin, 0 included."""
    counted = Counter(str(sourced.origin) for sourced in settings.values())
    return {str(origin): counted[str(origin)] for origin in Origin}


def training_steps(job: Job) -> int:
    """Optimiser steps of a run; 0 for an untrained model."""
    return 0 if job.experiment is None else optimiser_steps(job.experiment)


def method(job: Job) -> list[str]:
    """The equations of a run, in order of application; none for an untrained model."""
    if job.experiment is None:
        return []
    if isinstance(job.experiment, Rejection):
        return [*(u.name for u in job.experiment.uses()), "cross_entropy"]
    if isinstance(job.experiment, Finetune):
        return ["cross_entropy"]
    return [u.name for u in job.experiment.method.uses()]


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


def cost(job: Job, hardware: Hardware) -> dict[str, Any]:
    """Tokens of one run (at most), and its GPU-hours (an estimate with a range, None for a model of unknown shape)."""
    e = job.experiment
    sampled = trained = 0
    steps = training_steps(job)
    if isinstance(e, Finetune):
        trained = steps * e.batch_size.value * e.max_tokens.value
        if isinstance(e, Rejection):
            sampled = e.rounds.value * e.problems_per_round.value * e.samples_per_problem.value
            sampled *= e.max_completion_tokens.value
    elif e is not None:
        rollouts = steps // e.updates_per_rollout.value
        sequences = rollouts * e.prompts_per_rollout.value * e.group_size.value
        sampled = sequences * e.max_completion_tokens.value
        trained = sequences * (e.max_completion_tokens.value + e.max_prompt_tokens.value)
    evaluated = 0
    for name in job.protocol.benchmarks.value:
        rows = job.protocol.value("rows", name) or benchmarks.task(name)["metadata"]["rows"]
        evaluated += rows * job.protocol.value("n", name) * job.protocol.value("max_tokens", name)
    low, middle, high = gpu_hours(job, hardware) or (None, None, None)
    return {
        "rollout_tokens": sampled,
        "trained_tokens": trained,
        "evaluation_tokens": evaluated,
        "gpu_hours": middle,
        "gpu_hours_low": low,
        "gpu_hours_high": high,
    }


def gpu_hours(job: Job, hardware: Hardware) -> tuple[float, float, float] | None:
    """(low, middle, high) of training and evaluation; None where the shape of the base model is not known."""
    a = architecture(job.base_model.value)
    if a is None or a.parameters < 1e8:  # a tiny model runs on a CPU
        return None
    gpu, step = seconds.gpu_of(hardware), backend(job.backend).step_seconds
    hours = []
    for rules in (seconds.FAST, seconds.MIDDLE, seconds.SLOW):
        used = seconds.evaluation_seconds(
            a, gpu, job.protocol, rules, eager=seconds.eager(hardware), tensor_parallel=hardware.engine_tensor_parallel
        )
        if job.experiment is not None:
            used += hardware.devices * seconds.training_seconds(
                a, gpu, job.experiment, training_steps(job), hardware, rules, mean_length(job), step
            )
        hours.append(round(used / 3600, 2))
    return hours[0], hours[1], hours[2]


def trainer_configs(jobs: Iterable[Job], machines: Machines) -> dict[str, dict[str, Any]]:
    """model/arm -> the trainer's own configuration of each trained arm.

    Raises:
        CannotExpress: the backend has no way to train an arm. ValueError: the trainer's schema refuses it.
    """
    configs: dict[str, dict[str, Any]] = {}
    for job in jobs:
        name, out_dir = f"{job.model}/{job.arm}", Path("OUT_DIR")  # a placeholder for the folder of the run
        if job.experiment is not None and name not in configs:
            hardware = of_job(machines, job.model, job.arm)
            configs[name] = backend(job.backend).config(job.experiment, hardware, seed=job.seed, out_dir=out_dir)
    return configs


def plan(
    jobs: list[Job],
    refused: Mapping[tuple[str, str], Exception] | None = None,
    *,
    machines: Mapping[tuple[str, str], Hardware] | None = None,
    explicit: frozenset[str] = frozenset(),
    paper: Reproduction | None = None,
) -> dict[str, Any]:
    """The plan as one JSON document.

    Args:
        paper: the declaration of the jobs; None: the declared paper of their key.
        refused: (model, arm) -> why the backend cannot train it. machines: (model, arm) -> its settings.
        explicit: settings given on the command line, which a remedy keeps if possible.
    """
    refused = refused or {}
    machines = machines or {(job.model, job.arm): backend(job.backend).hardware() for job in jobs}
    first = jobs[0]
    reproduction = paper or catalogue.load(first.paper)
    arms: dict[tuple[str, str], dict[str, Any]] = {}
    for job in jobs:
        key = job.model, job.arm
        if key not in arms:
            arms[key] = _arm(job, machines[key], refused.get(key), explicit)
        arms[key]["seeds"].append(job.seed)
    by_arm = {key: arm["cost_per_run"] for key, arm in arms.items()}
    costs = [by_arm[job.model, job.arm] for job in jobs]
    estimated = [c for c in costs if c["gpu_hours"] is not None]
    return {
        "paper": first.paper,
        "title": reproduction.title,
        "arxiv": reproduction.arxiv,
        "scale": first.scale,
        "scale_label": SCALES[first.scale].label,
        "backend": first.backend,
        "runs": [job.name for job in jobs],
        "arms": list(arms.values()),
        "total": {
            **{key: sum(c[key] for c in costs) for key in ("rollout_tokens", "trained_tokens", "evaluation_tokens")},
            **{
                key: round(sum(c[key] for c in estimated), 2) if estimated else None
                for key in ("gpu_hours", "gpu_hours_low", "gpu_hours_high")
            },
            "runs_without_gpu_hours": len(costs) - len(estimated),
        },
        "cost_assumptions": seconds.ASSUMPTIONS,
        "departures": list(reproduction.departures),
        "doubts": list(reproduction.doubts),
    }


def _arm(job: Job, hardware: Hardware, refusal: Exception | None, explicit: frozenset[str]) -> dict[str, Any]:
    """The plan's entry for an arm; its seeds are added later."""
    return {
        "model": job.model,
        "arm": job.arm,
        "title": job.title,
        "seeds": [],
        "steps": training_steps(job),
        "method": method(job),
        "settings": {key: sourced.as_dict() for key, sourced in job.settings().items()},
        "origins": origins(job.settings()),
        "cost_per_run": cost(job, hardware),
        "memory": memory(job, hardware, explicit) if refusal is None else None,
        "context": _context(job),
        "evaluation_fits": measures(job, hardware),
        "refused": None if refusal is None else str(refusal),
    }


def _context(job: Job) -> dict[str, Any]:
    """Tokens of the longest sequences, the model's positions (None: not known here), and whether they fit."""
    need = context_need(job)
    return {**asdict(need), "fits": need.fits}


def _context_text(need: dict[str, Any]) -> list[str]:
    """A line where the context is too short or not known."""
    longest = max(need["training"], need["evaluation"])
    if need["positions"] is None:
        return [f"  context: {longest:,} tokens; the model's positions are not known here: checked before a run"]
    if need["fits"]:
        return []
    return [f"  context: {longest:,} tokens do not fit {need['positions']:,} positions; see context.positions"]


def memory(job: Job, hardware: Hardware, explicit: frozenset[str]) -> dict[str, Any] | None:
    """Memory that one GPU needs, by part, and whether it fits; None for an untrained arm or an unknown shape."""
    if job.experiment is None:
        return None
    verdict = judge(job.experiment, job.backend, hardware, explicit)
    if verdict.need is None:
        return None
    return {
        "gpu": hardware.gpu or "h100",
        "gpu_bytes": gpu_memory(hardware),
        "gpus": hardware.devices,
        "settings": changes(type(hardware)(), hardware),
        "training": dict(verdict.need.training),
        "sampling": dict(verdict.need.sampling),
        "peak": verdict.need.peak,
        "fits": verdict.fits,
        "remedy": verdict.remedy,
    }


def _memory_text(needs: dict[str, Any] | None) -> list[str]:
    if needs is None:
        return []
    if needs["peak"] < 4e9:  # a tiny model fits any machine
        return []
    settings = needs["settings"] or "default settings"
    lines = [f"  {needs['gpus']} x {needs['gpu']} ({needs['gpu_bytes'] / 1e9:.0f} GB each): {settings}"]
    for phase in ("training", "sampling"):
        parts = ", ".join(f"{name} {size / 1e9:.1f}" for name, size in needs[phase].items() if size >= 5e7)
        if parts:
            lines.append(f"    {phase}: {sum(needs[phase].values()) / 1e9:.1f} GB = {parts}")
    answer = "fits" if needs["fits"] else "does not fit"
    remedy = f"; it fits with {needs['remedy']}" if needs["remedy"] else ""
    if not needs["fits"] and not remedy:
        remedy = "; no settings known here make it fit"
    return [*lines, f"    peak {needs['peak'] / 1e9:.0f} GB with the GPU's context: {answer}{remedy}"]


def as_text(document: dict[str, Any]) -> str:
    """The plan as text: runs and costs, then each arm's values with their sources (shared values once)."""
    lines = [
        f"{document['paper']}: {cited(document['title'], document['arxiv'])}",
        f"scale {document['scale']} ({document['scale_label']}), backend {document['backend']}",
        "",
        f"{len(document['runs'])} runs: " + ", ".join(document["runs"]),
        "",
        "tokens, at most: "
        + ", ".join(
            f"{document['total'][k]:,} {label}"
            for k, label in (("rollout_tokens", "sampled in training"), ("evaluation_tokens", "sampled in evaluation"))
        ),
        f"GPU-hours: {_hours(document['total'])}",
        f"  ({document['cost_assumptions']})",
    ]
    shared = _shared([arm["settings"] for arm in document["arms"] if arm["method"]])
    if shared:
        lines += ["", "every trained arm:", *_table(shared)]
    for arm in document["arms"]:
        differing = {key: value for key, value in arm["settings"].items() if shared.get(key) != value}
        counts = ", ".join(f"{n} {origin}" for origin, n in arm["origins"].items() if n)
        trained = " -> ".join(arm["method"]) + f", {arm['steps']} steps" if arm["method"] else "measured as it is"
        lines += [
            "",
            f"{arm['model']}/{arm['arm']} ({arm['title']}; {trained}; seeds {arm['seeds']}; values: {counts})",
            *([f"  cannot run: {arm['refused']}"] if arm["refused"] else []),
            *_memory_text(arm["memory"]),
            *_context_text(arm["context"]),
            *([] if arm["evaluation_fits"] else ["  evaluation: the model does not fit its engine's GPUs"]),
            *_table(differing),
        ]
    for heading, notes in (("departures", document["departures"]), ("doubts", document["doubts"])):
        lines += ["", f"{heading}:", *(f"  - {note}" for note in notes)] if notes else []
    return "\n".join(lines)


def _shared(settings: list[dict[str, Any]]) -> dict[str, Any]:
    if len(settings) < 2:
        return {}
    return {key: value for key, value in settings[0].items() if all(s.get(key) == value for s in settings[1:])}


def _table(settings: dict[str, Any]) -> list[str]:
    width = max((len(key) for key in settings), default=0)
    lines = []
    for key, sourced in settings.items():
        was = f" (was {sourced['was']['value']!r}, {sourced['was']['origin']})" if sourced["was"] else ""
        lines.append(f"  {key:<{width}}  {sourced['value']!r}  [{sourced['origin']}: {sourced['note']}]{was}")
    return lines


def _hours(total: dict[str, Any]) -> str:
    unknown = total["runs_without_gpu_hours"]
    why = "the shape of the base model is not known, or it is tiny"
    if total["gpu_hours"] is None:
        return f"unknown ({why})"
    span = f"about {total['gpu_hours']:,.0f} ({total['gpu_hours_low']:,.0f} to {total['gpu_hours_high']:,.0f})"
    return span + (f", without {unknown} runs ({why})" if unknown else "")
