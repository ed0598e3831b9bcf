"""What a command would start: every run, every value with its source, and an estimate of the cost. Starts nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from evals.notebook import text_table
from evals.provenance import Origin, Sourced
from harness.backends import backend, seconds
from harness.backends.memory import CONTEXT, USABLE
from harness.command.watch import Watch
from harness.plan.asked import as_lines, asked
from harness.plan.context import context_need
from harness.plan.costs import UNKNOWN, WHILE, cost, disk_of_all, size_text, training_steps
from harness.plan.profiles import changes, judge, measures
from harness.spec import Experiment, Finetune, Reproduction, catalogue
from harness.spec.declarations import cited
from harness.spec.hardware import Hardware, Machines, of_job
from harness.spec.job import Job
from harness.spec.rejection import Rejection
from harness.spec.scales import SCALES

SUMMED = ("rollout_tokens", "trained_tokens", "evaluation_tokens")
ESTIMATED = tuple(f"{name}{suffix}" for name in ("gpu_hours", "hours") for suffix in ("", "_low", "_high"))
PROCESSOR = (
    "by this machine's processor: its float32 FLOP/s and copying are measured, and training is taken to reach 60 % (36 "
    "to 90 %) of the first; mean lengths are 30 % of the limit (10 to 90 %); other work on the machine makes it slower"
)
MINUTES = 0.1  # hours below which minutes are shown
HEADER = ("arm", "steps", "fits", "GPU memory (of usable)", "hours (low to high)", "USD", "disk")


def origins(settings: dict[str, Sourced[Any]]) -> dict[str, int]:
    """The number of values of each origin, 0 included."""
    counted = Counter(str(sourced.origin) for sourced in settings.values())
    return {str(origin): counted[str(origin)] for origin in Origin}


def method(job: Job) -> list[str]:
    """The equations of a run, in order of application; none for an untrained model."""
    if job.experiment is None:
        return []
    if isinstance(job.experiment, Rejection):
        return [*(u.name for u in job.experiment.uses()), "cross_entropy"]
    if isinstance(job.experiment, Finetune):
        return ["cross_entropy"]
    return [u.name for u in job.experiment.method.uses()]


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


def labels(jobs: Iterable[Job]) -> dict[tuple[str, str], str]:
    """(model, arm) -> its name for people: by the model that is trained, or by the paper's where that tells two arms
    apart."""
    found = {(job.model, job.arm): job.label for job in jobs}
    counts = Counter(found.values())
    return {key: label if counts[label] == 1 else "/".join(key) for key, label in found.items()}


def plan(
    jobs: list[Job],
    refused: Mapping[tuple[str, str], Exception] | None = None,
    *,
    moved: Mapping[tuple[str, str], str] | None = None,
    machines: Mapping[tuple[str, str], Hardware] | None = None,
    explicit: frozenset[str] = frozenset(),
    paper: Reproduction | None = None,
    watch: Watch | None = None,
    price: float | None = None,
    on_a_card: int = 1,
) -> dict[str, Any]:
    """The plan as one JSON document.

    Args:
        watch: evaluations beside the training. price: USD for an hour of one GPU; None: an assumed one.
        paper: the declaration of the jobs; None: the declared paper of their key.
        refused: (model, arm) -> why the backend cannot train it. moved: -> why another backend than the usual
            one trains it. machines: (model, arm) -> its settings.
        explicit: settings given on the command line, which a remedy keeps if possible.
        on_a_card: jobs that share a GPU, each with its part of the memory.
    """
    refused, moved = refused or {}, moved or {}
    machines = machines or {(job.model, job.arm): backend(job.backend).hardware() for job in jobs}
    first = jobs[0]
    reproduction = paper or catalogue.load(first.paper)
    arms: dict[tuple[str, str], dict[str, Any]] = {}
    for job in jobs:
        key = job.model, job.arm
        if key not in arms:
            arms[key] = _arm(job, machines[key], refused.get(key), explicit, watch or Watch(), price, on_a_card)
            arms[key]["why_backend"] = moved.get(key)
        arms[key]["seeds"].append(job.seed)
    names = labels(jobs)
    for key, arm in arms.items():
        arm["label"] = names[key]
    able = [job for job in jobs if (job.model, job.arm) not in refused]
    costs = [arms[job.model, job.arm]["cost_per_run"] for job in able]
    estimated = [c for c in costs if c["gpu_hours"] is not None]
    return {
        "paper": first.paper,
        "title": reproduction.title,
        "arxiv": reproduction.arxiv,
        "scale": first.scale,
        "scale_label": SCALES[first.scale].label,
        "backends": list(dict.fromkeys(job.backend for job in jobs if job.experiment is not None)) or [first.backend],
        "trainer": None if reproduction.trainer is None else reproduction.trainer.as_dict(),
        "runs": [job.name for job in able],
        "arms": list(arms.values()),
        "total": {
            **{key: sum(c[key] for c in costs) for key in SUMMED},
            **{key: sum(c[key] for c in estimated) if estimated else None for key in ESTIMATED},
            "gpu_hours_taken": sum(c["gpu_hours_taken"] for c in estimated) if estimated else None,
            "price": sum(priced) if (priced := [c["price"] for c in estimated if c["price"] is not None]) else None,
            "runs_without_gpu_hours": len(costs) - len(estimated),
            "disk": disk_of_all([c["disk"] for c in costs]),
            "host_memory": max((c["host_memory"] for c in costs if c["host_memory"] is not None), default=None),
        },
        "on_a_card": on_a_card,
        "prices": {arm["cost_per_run"]["gpu"]: arm["cost_per_run"]["price_per_gpu_hour"] for arm in arms.values()},
        "cost_assumptions": seconds.ASSUMPTIONS,
        "asked": asked(able),
        "departures": list(reproduction.departures),
        "doubts": [*reproduction.doubts, *ratio_doubts(jobs)],
    }


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


def _arm(
    job: Job, hardware: Hardware, refusal: Exception | None, explicit: frozenset[str], watch: Watch,
    price: float | None, on_a_card: int,
) -> dict[str, Any]:  # fmt: skip
    """The plan's entry for an arm; its seeds are added later."""
    need, costs = context_need(job), cost(job, hardware, watch, price)
    needs = memory(job, hardware, explicit, on_a_card) if refusal is None else None
    if needs is not None and hardware.device == "cpu":  # its memory is the machine's
        costs["host_memory"] = needs["peak"] * hardware.devices
    return {
        "model": job.model,
        "arm": job.arm,
        "title": job.title if job.experiment or job.trained == job.model else "untrained",
        "backend": job.backend,
        "seeds": [],
        "steps": training_steps(job),
        "method": method(job),
        "settings": {key: sourced.as_dict() for key, sourced in job.settings().items()},
        "origins": origins(job.settings()),
        "cost_per_run": costs,
        "one_step": shorter(job, hardware, watch, 1),
        "one_more_rollout": shorter(job, hardware, watch, 1 + _updates(job)),
        "memory": needs,
        "context": {**asdict(need), "fits": need.fits},
        "evaluation_fits": measures(job, hardware, memory=hardware.card.memory / on_a_card),
        "refused": None if refusal is None else str(refusal),
    }


def _updates(job: Job) -> int:
    """Optimiser steps of a rollout; 1 of a training without rollouts."""
    return job.experiment.updates_per_rollout.value if isinstance(job.experiment, Experiment) else 1


def shorter(job: Job, hardware: Hardware, watch: Watch, steps: int) -> float | None:
    """Hours of the same run with so many steps, on a machine's processor, where people try a run shorter; else None."""
    e = job.experiment
    if hardware.device != "cpu" or e is None or isinstance(e, Rejection):
        return None
    short = replace(job, experiment=e.override({"max_steps": steps}, Origin.ASSUMED, "a shorter run"))
    hours: float | None = cost(short, hardware, watch)["hours"]
    return hours


def _shorter(arm: Mapping[str, Any]) -> list[str]:
    """What a shorter run needs, where that is known."""
    first, second, steps = arm["one_step"], arm["one_more_rollout"], arm["steps"]
    if first is None or second is None or steps < 2:
        return []
    updates = arm["settings"].get("updates_per_rollout", {}).get("value", 1)
    further = "step" if updates == 1 else f"rollout of {updates} steps"
    each = f"each further {further} {_time(second - first)}"
    return [f"{arm['label']}: max_steps=1 takes about {_time(first)} with its evaluation, {each}"]


def _context_text(need: dict[str, Any]) -> str:
    """What is said of a context that is too short or not known."""
    tokens = f"context: {max(need['training'], need['evaluation']):,} tokens"
    if need["positions"] is None:
        return f"{tokens}; the model's positions are not known here: checked before a run"
    return "" if need["fits"] else f"{tokens} do not fit {need['positions']:,} positions; see context.positions"


def memory(job: Job, hardware: Hardware, explicit: frozenset[str], on_a_card: int = 1) -> dict[str, Any] | None:
    """Memory that one GPU needs, by part, and whether it fits, or fits the part of a card that several jobs share; None
    for an untrained arm or an unknown shape."""
    if job.experiment is None:
        return None
    has = hardware.card.memory / on_a_card
    verdict = judge(job.experiment, job.backend, hardware, explicit, memory=has, shared=on_a_card > 1)
    if verdict.need is None:
        return None
    return {
        "gpu": "cpu" if hardware.device == "cpu" else hardware.gpu or "h100",
        "gpu_bytes": has,
        "gpus": hardware.devices,
        "settings": changes(type(hardware)(), hardware),
        "training": dict(verdict.need.training),
        "sampling": dict(verdict.need.sampling),
        "peak": verdict.need.peak,
        "fits": verdict.fits,
        "usable_bytes": USABLE * has,
        "remedy": verdict.remedy,
        "advice": verdict.advice,
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
    answer = "fits" if needs["fits"] else f"does not fit; {needs['advice']}"
    beside = "the libraries" if needs["gpu"] == "cpu" else "the GPU's context"
    return [*lines, f"    peak {_compared(needs)} usable, with {CONTEXT / 1e9:g} GB for {beside}: {answer}"]


def _compared(needs: Mapping[str, Any]) -> str:
    """What is needed beside what it must fit, with the digits that tell them apart."""
    return f"{needs['peak'] / 1e9:,.1f} GB of {needs['usable_bytes'] / 1e9:,.1f} GB"


def as_text(document: dict[str, Any], *, brief: bool = False) -> str:
    """The plan as text: runs and costs, then each arm's values with their sources (shared values once).

    Args:
        brief: runs, costs and what is missing here, without the values.
    """
    lines = [*_runs_text(document, brief), *_remarks(document["arms"]), *document.get("overlaps", ())]
    lines += as_lines(document["asked"])
    lines += _machine_text(document)
    return "\n".join(lines if brief else [*lines, *_values_text(document)])


def _runs_text(document: dict[str, Any], brief: bool) -> list[str]:
    """What is run, a row an arm, and what all of it costs."""
    total, prices = document["total"], document["prices"]
    priced = "; price of a GPU-hour: " + "; ".join(
        f"{gpu} {p['value']:g} USD ({p['origin']}: {p['note']})" for gpu, p in prices.items()
    )
    on_cpu, runs = prices.keys() == {"cpu"}, document["runs"]
    rows = [HEADER, *(_row(arm) for arm in document["arms"])]
    tiny = total["gpu_hours"] is None and SCALES[document["scale"]].family is not None
    if tiny:  # what a GPU costs says nothing of it
        rows = [row[:3] + row[-1:] for row in rows]
    elif on_cpu:
        rows = [tuple(cell.replace("GPU memory", "memory") for cell in row[:5] + row[-1:]) for row in rows]
    return [
        f"{document['paper']}: {cited(document['title'], document['arxiv'])}",
        f"scale {document['scale']} ({document['scale_label']}), backend {' and '.join(document['backends'])}"
        + (f", hardware {document['hardware']}" if document.get("hardware") else "")
        + _trainer(document["trainer"]),
        "",
        f"{len(runs)} run{'s' * (len(runs) != 1)}" + ("" if brief else f": {', '.join(runs)}"),
        "",
        "a run of each arm:",
        text_table(rows[0], rows[1:], left=1),
        "",
        f"all runs, one after another: {'minutes each on a CPU' if tiny else _hours(total)}; "
        f"{size_text(total['disk'])} of disk{_passing(document['arms'])}"
        + (f"; {size_text(total['host_memory'])} of a machine's memory at most" if total["host_memory"] else ""),
        *_shared_card(document),
        f"tokens, at most: {total['rollout_tokens']:,} sampled and {total['trained_tokens']:,} trained on in training, "
        f"{total['evaluation_tokens']:,} sampled in evaluation",
        *([] if tiny else [f"  ({PROCESSOR if on_cpu else document['cost_assumptions'] + priced})"]),
        *(line for arm in document["arms"] for line in _shorter(arm)),
    ]


def fits(arm: Mapping[str, Any]) -> tuple[str, str]:
    """(yes, no, or – where it is not known or cannot run; the reason of a no or –, "" without any)"""
    memory, base = arm["memory"], arm["settings"]["base_model"]["value"]
    context = _context_text(arm["context"])
    place = "this machine" if arm["cost_per_run"]["gpu"] == "cpu" else "these GPUs"
    too_large = f"too large for {place}; {memory['advice']}" if memory is not None and not memory["fits"] else ""
    cases = (  # the first that is so
        (arm["refused"], "–", arm["refused"]),
        (too_large, "no", too_large),
        (arm["evaluation_fits"] is False, "no", f"the evaluation's GPUs do not hold {base}"),
        (not arm["context"]["fits"], "no", context),
        (arm["evaluation_fits"] is None, "–", f"not known whether {base} fits"),
        (arm["steps"] and memory is None, "–", context),
    )
    return next(((word, why) for so, word, why in cases if so), ("yes", context))


def _remarks(arms: Sequence[Mapping[str, Any]]) -> list[str]:
    """Why arms cannot run or do not fit, and why another backend trains them; arms with one reason on one line."""
    said: dict[str, list[str]] = {}
    for arm in arms:
        moved = f"backend={arm['backend']}: {arm['why_backend']}" if arm["why_backend"] else ""
        for why in filter(None, (fits(arm)[1], moved, _rounded_away(arm["settings"]))):
            said.setdefault(why, []).append(arm["label"])
    return [f"{', '.join(names)}: {why}" for why, names in said.items()]


def _rounded_away(settings: Mapping[str, Any]) -> str:
    """Which weights an optimiser step can change at all, where they are stored in bfloat16.

    A weight in [2^e, 2^(e+1)) has neighbours 2^(e-7) apart, and an Adam step is about one learning rate. It is rounded
    to nothing if it is below half of that, so that weights from 512 learning rates on never move.
    """
    if settings.get("precision", {}).get("value") != "pure_bfloat16":
        return ""
    rate = settings["learning_rate"]["value"]
    return (
        f"precision=pure_bfloat16 with learning_rate={rate:g}: a step of this size is rounded to nothing in each "
        f"weight of {512 * rate:.1g} or more. The run measures the share that changes. precision=bfloat16 keeps "
        "float32 weights"
    )


def _machine_text(document: Mapping[str, Any]) -> list[str]:
    missing = document.get("missing")
    if missing is None or not document["runs"]:
        return []
    heading = "this machine lacks:" if missing else "this machine has all that these runs need"
    return ["", heading, *(f"  - {line}" for line in missing)]


def _values_text(document: Mapping[str, Any]) -> list[str]:
    """Every value with its source: those of all trained arms, then each arm's own; departures and doubts."""
    lines: list[str] = []
    shared = _shared([arm["settings"] for arm in document["arms"] if arm["method"]])
    if shared:
        lines += ["", "every trained arm:", *_table(shared)]
    for arm in document["arms"]:
        differing = {key: value for key, value in arm["settings"].items() if shared.get(key) != value}
        counts = ", ".join(f"{n} {origin}" for origin, n in arm["origins"].items() if n)
        trained = " -> ".join(arm["method"]) + f", {arm['steps']} steps" if arm["method"] else "measured as it is"
        lines += [
            "",
            f"{arm['label']} ({arm['title']}; {trained}; seeds {arm['seeds']}; values: {counts})",
            *([f"  cannot run: {arm['refused']}"] if arm["refused"] else []),
            *_memory_text(arm["memory"]),
            *_disk_text(arm["cost_per_run"]),
            *_table(differing),
        ]
    for heading, notes in (("departures", document["departures"]), ("doubts", document["doubts"])):
        lines += ["", f"{heading}:", *(f"  - {note}" for note in notes)] if notes else []
    return lines


def _shared_card(document: Mapping[str, Any]) -> list[str]:
    """What is said of jobs that share a card."""
    jobs, hours = document["on_a_card"], document["total"]["hours"]
    if jobs == 1:
        return []
    has = {size_text(arm["memory"]["gpu_bytes"]) for arm in document["arms"] if arm["memory"]}
    by_clock = (
        "" if hours is None else f"; by the clock {hours / jobs:.1f} to {hours:.1f} hours, as busy as one leaves it"
    )
    return [f"{jobs} jobs share each card{f', {min(has)} each' if has else ''}{by_clock}"]


def _trainer(sourced: Mapping[str, Any] | None) -> str:
    return "" if sourced is None else f"; the paper trained with {sourced['value']} ({sourced['note']})"


def _row(arm: Mapping[str, Any]) -> tuple[str, ...]:
    """An arm in the table of costs."""
    costs, memory = arm["cost_per_run"], arm["memory"]
    hours, price = costs["hours"], costs["price"]
    return (
        arm["label"],
        str(arm["steps"]),
        fits(arm)[0],
        "–" if memory is None else _compared(memory),
        "–" if hours is None else _span(costs, "hours", "min" if hours < MINUTES else ""),
        "–" if price is None else _usd(price),
        size_text(sum(costs["disk"].values())),
    )


def _span(costs: Mapping[str, Any], key: str, unit: str) -> str:
    """ "1.9 hours (0.8 to 9.6)", in minutes where the unit says so."""
    times, digits = (60, 0) if "min" in unit else (1, 1)
    middle, low, high = (f"{times * costs[key + suffix]:,.{digits}f}" for suffix in ("", "_low", "_high"))
    return f"{middle} {unit} ({low} to {high})".replace("  ", " ")


def _time(hours: float) -> str:
    return f"{60 * hours:.1f} minutes" if hours < MINUTES else f"{hours:.2f} hours"


def _usd(price: float) -> str:
    return f"{price:,.{2 if price < 10 else 0}f}"


def _passing(arms: Sequence[Mapping[str, Any]]) -> str:
    """Why the disk of all runs is less than the sum of the table's column."""
    most = max((arm["cost_per_run"]["disk"].get(WHILE, 0.0) for arm in arms), default=0.0)
    return f" (with the {size_text(most)} that only a run under way takes counted once)" if most >= 1e9 else ""


def _disk_text(costs: Mapping[str, Any]) -> list[str]:
    """Disk by part, and host memory, of a model that is not tiny."""
    if costs["hours"] is None:
        return []
    parts = ", ".join(f"{name} {size_text(size)}" for name, size in costs["disk"].items())
    return [f"  disk: {parts}; the machine's memory: {size_text(costs['host_memory'])}"]


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
    if total["gpu_hours"] is None:
        return f"unknown hours ({UNKNOWN})" if unknown else "nothing to run"
    spans = [
        _span(total, key, word.replace("hours", "minutes") if total[key] < MINUTES else word)
        for key, word in (("hours", "hours"), ("gpu_hours", "GPU-hours"))
    ]
    if total["price"] is None:
        spans = spans[:1]
    without = f", without {unknown} runs ({UNKNOWN})" if unknown else ""
    price = "" if total["price"] is None else f", {_usd(total['price'])} USD"
    if price and total["gpu_hours_taken"] > 1.005 * total["gpu_hours"]:
        price += f" for {total['gpu_hours_taken']:,.1f} GPU-hours with those in which a GPU waits"
    return f"about {', '.join(spans)}{price}{without}"
