"""A plan as text for a terminal: runs and costs, remarks, this machine, then each value with its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evals.notebook import Block, Table
from evals.provenance import Sourced
from harness.backends import seconds
from harness.backends.memory import CONTEXT
from harness.plan.costs import CPU, UNKNOWN, WHILE, Cost, Span, size_text
from harness.plan.model_prompts import as_lines
from harness.plan.plan import ArmPlan, Memory, Plan, Total, method, origins
from harness.spec.declarations import cited
from harness.spec.scales import SCALES

PROCESSOR = (
    "by this machine's processor: its float32 FLOP/s and copying are measured, and training is taken to reach 60 % (36 "
    f"to 90 %) of the first. {seconds.LENGTHS.capitalize()}. Other work on the machine makes it slower"
)
MINUTES = 0.1  # hours below which minutes are shown
HEADER = ("arm", "steps", "fits", "GPU memory (of usable)", "hours (low to high)", "USD", "disk")
Settings = Mapping[str, Sourced[object]]


def blocks(plan: Plan, *, brief: bool = False) -> list[Block]:
    """The plan for people: runs and costs, then each arm's values with their sources (shared values once).

    Args:
        brief: runs, costs, what is missing here, and doubts about the values. No values, and no doubts of
            the paper.
    """
    lines: list[Block] = [
        *_runs_text(plan, brief),
        *_remarks(plan.arms),
        *plan.overlaps,
        *as_lines(plan.base_models),
        *_machine_text(plan),
    ]
    doubts = [f"  - {note}" for note in plan.doubts if note not in plan.paper.doubts]
    return [*lines, *(["", "doubts:", *doubts] if doubts else [])] if brief else [*lines, *_values_text(plan)]


def _runs_text(plan: Plan, brief: bool) -> list[Block]:
    """The runs, one row per arm, and the cost of all of them."""
    total, runs = plan.total, plan.runs
    on_cpu = plan.rates.keys() == {CPU}
    tiny = total.gpu_hours is None and SCALES[plan.scale].family is not None
    return [
        f"{plan.paper.key}: {cited(plan.paper.title, plan.paper.arxiv)}",
        f"scale {plan.scale} ({SCALES[plan.scale].label}), backend {' and '.join(plan.backends)}"
        + (f", hardware {plan.profile}" if plan.profile else "")
        + _trainer(plan.paper.trainer),
        "",
        f"{len(runs)} run{'s' * (len(runs) != 1)}" + ("" if brief else f": {', '.join(runs)}"),
        "",
        "a run of each arm:",
        _table_of_costs(plan.arms, tiny=tiny, on_cpu=on_cpu),
        "",
        f"all runs, one after another: {'minutes each on a CPU' if tiny else _hours(total)}; "
        f"{size_text(total.disk)} of disk{_passing(plan.arms)}"
        + (f"; {size_text(total.host_memory)} of a machine's memory at most" if total.host_memory else ""),
        *_shared_card(plan),
        f"tokens, at most: {total.tokens.rollout:,} sampled and {total.tokens.trained:,} trained on in training, "
        f"{total.tokens.evaluation:,} sampled in evaluation",
        *([] if tiny else [f"  ({PROCESSOR if on_cpu else seconds.ASSUMPTIONS + _rates(plan)})"]),
        *(line for arm in plan.arms for line in _shorter(arm)),
    ]


def _table_of_costs(arms: Sequence[ArmPlan], *, tiny: bool, on_cpu: bool) -> Table:
    rows = [HEADER, *(_row(arm) for arm in arms)]
    if tiny:  # what a GPU costs says nothing of it
        rows = [row[:3] + row[-1:] for row in rows]
    elif on_cpu:
        rows = [tuple(cell.replace("GPU memory", "memory") for cell in row[:5] + row[-1:]) for row in rows]
    return Table(rows[0], rows[1:])


def _row(arm: ArmPlan) -> tuple[str, ...]:
    """An arm in the table of costs."""
    cost, memory = arm.cost, arm.memory
    return (
        arm.label,
        str(arm.steps),
        arm.fits[0],
        "–" if memory is None else _compared(memory),
        "–" if cost.hours is None else _span(cost.hours, "min" if cost.hours.middle < MINUTES else ""),
        "–" if cost.price is None else _usd(cost.price),
        size_text(sum(cost.disk.values())),
    )


def _rates(plan: Plan) -> str:
    each = (f"{gpu} {rate.value:g} USD ({rate.origin}: {rate.note})" for gpu, rate in plan.rates.items())
    return "; price of a GPU-hour: " + "; ".join(each)


def _trainer(sourced: Sourced[str] | None) -> str:
    return "" if sourced is None else f"; the paper trained with {sourced.value} ({sourced.note})"


def _shorter(arm: ArmPlan) -> list[str]:
    """The needs of a shorter run, where they are known."""
    first, second = arm.one_step, arm.one_more_rollout
    if first is None or second is None or arm.steps < 2:
        return []
    updates = arm.job.updates
    further = "step" if updates == 1 else f"rollout of {updates} steps"
    each = f"each further {further} {_time(second - first)}"
    return [f"{arm.label}: max_steps=1 takes about {_time(first)} with its evaluation, {each}"]


def _shared_card(plan: Plan) -> list[str]:
    """Jobs that share a card."""
    jobs, hours = plan.on_a_card, plan.total.hours
    if jobs == 1:
        return []
    has = {size_text(arm.memory.has) for arm in plan.arms if arm.memory}
    by_clock = ""
    if hours is not None:
        by_clock = f"; by the clock {hours.middle / jobs:.1f} to {hours.middle:.1f} hours, as busy as one leaves it"
    return [f"{jobs} jobs share each card{f', {min(has)} each' if has else ''}{by_clock}"]


def _remarks(arms: Sequence[ArmPlan]) -> list[str]:
    """Why arms cannot run or do not fit, and why another backend trains them. Arms with one reason on one line."""
    labels_by_reason: dict[str, list[str]] = {}
    for arm in arms:
        moved = f"backend={arm.job.backend}: {arm.why_backend}" if arm.why_backend else ""
        for why in filter(None, (arm.fits[1], moved, _rounded_away(arm))):
            labels_by_reason.setdefault(why, []).append(arm.label)
    return [f"{', '.join(names)}: {why}" for why, names in labels_by_reason.items()]


def _rounded_away(arm: ArmPlan) -> str:
    """Which weights an optimiser step can change at all, where they are stored in bfloat16.

    A weight in [2^e, 2^(e+1)) has neighbours 2^(e-7) apart, and an Adam step is about one learning rate. It is rounded
    to nothing if it is below half of that, so that weights from 512 learning rates on never move.
    """
    e = arm.job.experiment
    if e is None or e.precision.value != "pure_bfloat16":
        return ""
    rate = e.learning_rate.value
    return (
        f"precision=pure_bfloat16 with learning_rate={rate:g}: a step of this size is rounded to nothing in each "
        f"weight of {512 * rate:.1g} or more. The run measures the share that changes. precision=bfloat16 keeps "
        "float32 weights"
    )


def _machine_text(plan: Plan) -> list[str]:
    if plan.missing is None or not plan.runs:
        return []
    heading = "this machine lacks:" if plan.missing else "this machine has all that these runs need"
    return ["", heading, *(f"  - {line}" for line in plan.missing)]


def _values_text(plan: Plan) -> list[str]:
    """Every value with its source: those of all trained arms, then each arm's own. Departures and doubts."""
    lines: list[str] = []
    shared = _shared([arm.job.settings() for arm in plan.arms if arm.job.experiment is not None])
    if shared:
        lines += ["", "every trained arm:", *_table(shared)]
    for arm in plan.arms:
        settings = arm.job.settings()
        counts = ", ".join(f"{n} {origin}" for origin, n in origins(settings).items() if n)
        equations = method(arm.job)
        trained = " -> ".join(equations) + f", {arm.steps} steps" if equations else "measured as it is"
        lines += [
            "",
            f"{arm.label} ({arm.title}; {trained}; seeds {list(arm.seeds)}; values: {counts})",
            *([f"  cannot run: {arm.refused}"] if arm.refused else []),
            *_memory_text(arm.memory),
            *_disk_text(arm.cost),
            *_length_text(arm),
            *_table({key: value for key, value in settings.items() if shared.get(key) != value}),
        ]
    for heading, notes in (("departures", plan.paper.departures), ("doubts", plan.doubts)):
        lines += ["", f"{heading}:", *(f"  - {note}" for note in notes)] if notes else []
    return lines


def _memory_text(memory: Memory | None) -> list[str]:
    if memory is None or memory.need.peak < 4e9:  # a tiny model fits any machine
        return []
    settings = memory.settings or "default settings"
    lines = [f"  {memory.devices} x {memory.gpu} ({memory.has / 1e9:.0f} GB each): {settings}"]
    for phase, sizes in (("training", memory.need.training), ("sampling", memory.need.sampling)):
        parts = ", ".join(f"{name} {size / 1e9:.1f}" for name, size in sizes.items() if size >= 5e7)
        if parts:
            lines.append(f"    {phase}: {sum(sizes.values()) / 1e9:.1f} GB = {parts}")
    answer = "fits" if memory.fit.fits else f"does not fit; {memory.fit.advice}"
    beside = "the libraries" if memory.gpu == CPU else "the GPU's context"
    return [*lines, f"    peak {_compared(memory)} usable, with {CONTEXT / 1e9:g} GB for {beside}: {answer}"]


def _compared(memory: Memory) -> str:
    """The need beside what it must fit, with the digits that tell them apart."""
    return f"{memory.need.peak / 1e9:,.1f} GB of {memory.usable / 1e9:,.1f} GB"


def _span(span: Span, unit: str) -> str:
    """ "1.9 hours (0.8 to 9.6)", in minutes where the unit says so."""
    times, digits = (60, 0) if "min" in unit else (1, 1)
    least = 10.0**-digits
    middle, low, high = (
        f"{times * value:,.{digits}f}" if times * value >= least / 2 or value == 0 else f"< {least:g}"
        for value in (span.middle, span.low, span.high)
    )
    return f"{middle} {unit} ({low} to {high})".replace("  ", " ")


def _time(hours: float) -> str:
    return f"{60 * hours:.1f} minutes" if hours < MINUTES else f"{hours:.2f} hours"


def _usd(price: float) -> str:
    return f"{price:,.{2 if price < 10 else 0}f}"


def _passing(arms: Sequence[ArmPlan]) -> str:
    """Why the disk of all runs is less than the sum of the table's column."""
    most = max((arm.cost.disk.get(WHILE, 0.0) for arm in arms), default=0.0)
    return f" (with the {size_text(most)} that only a run under way takes counted once)" if most >= 1e9 else ""


def _disk_text(cost: Cost) -> list[str]:
    """Disk by part, and host memory, of a model that is not tiny."""
    if cost.hours is None or cost.host_memory is None:
        return []
    parts = ", ".join(f"{name} {size_text(size)}" for name, size in cost.disk.items())
    return [f"  disk: {parts}; the machine's memory: {size_text(cost.host_memory)}"]


def _length_text(arm: ArmPlan) -> list[str]:
    """The mean length that the hours are for, where it is known."""
    mean = arm.mean_length
    return [] if mean is None else [f"  mean response: {mean.value:,.0f} tokens [{mean.origin}: {mean.note}]"]


def _shared(settings: Sequence[Settings]) -> Settings:
    if len(settings) < 2:
        return {}
    return {key: value for key, value in settings[0].items() if all(s.get(key) == value for s in settings[1:])}


def _table(settings: Settings) -> list[str]:
    width = max((len(key) for key in settings), default=0)
    lines = []
    for key, sourced in settings.items():
        was = f" (was {sourced.was.value!r}, {sourced.was.origin})" if sourced.was else ""
        lines.append(f"  {key:<{width}}  {sourced.value!r}  [{sourced.origin}: {sourced.note}]{was}")
    return lines


def _hours(total: Total) -> str:
    """The hours of all runs with their price."""
    hours, gpu_hours, unknown = total.hours, total.gpu_hours, total.unknown
    if hours is None or gpu_hours is None:
        return f"unknown hours ({UNKNOWN})" if unknown else "nothing to run"
    spans = [
        _span(span, word.replace("hours", "minutes") if span.middle < MINUTES else word)
        for span, word in ((hours, "hours"), (gpu_hours, "GPU-hours"))
    ]
    without = f", without {unknown} runs ({UNKNOWN})" if unknown else ""
    price, taken = total.price, total.gpu_hours_taken
    if price is None or taken is None:
        return f"about {spans[0]}{without}"
    waiting = taken > 1.005 * gpu_hours.middle
    more = f" for {taken:,.1f} GPU-hours with those in which a GPU waits" * waiting
    return f"about {', '.join(spans)}, {_usd(price)} USD{more}{without}"
