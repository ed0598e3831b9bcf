"""The command `rlvr reproduce`: seeds and n that resolve a paper's claim within a budget. Starts nothing by default."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from harness.cli.terminal import paragraph, table
from harness.command.config import no_more, parse_overrides, take, take_number
from harness.errors import UsageError

REPRODUCE = """PAPER is an arXiv id (2503.22456) or a key of `rlvr list`.
options:
  budget=HOURS           GPU-hours that may be spent, required
  hardware=PROFILE       the machine (default h100x8); see `rlvr run --help`
  power=0.8              the wanted chance that the difference which the paper prints is resolved
  run=true               start what was chosen (default: only say what it would be)
  rehearse=true          start it at tiny scale instead: its arms and seeds with the tiny base model
With either, any further option is one of `rlvr run`, such as launcher=slurm."""


def do_reproduce(arguments: Any) -> int:
    from harness.launch.reproduce import designs, document, paper_of
    from harness.plan.machine import take_machine

    values = parse_overrides(arguments.options)
    budget, wanted = take_number(values, "budget", required=True), take_number(values, "power", 0.8)
    if budget <= 0:
        raise UsageError(f"budget: expected GPU-hours above 0, got {budget:g}")
    if not 0 < wanted < 1:
        raise UsageError(f"power: expected a number in (0, 1), got {wanted:g}")
    start, rehearse = take(values, "run", bool, False), take(values, "rehearse", bool, False)
    hardware = take(values, "hardware", str, "h100x8")
    own = ("budget", "power", "run", "rehearse", "hardware")
    if start and rehearse:
        raise UsageError("rehearse=true: expected it or run=true, got both")
    if not start and not rehearse:
        no_more(values, own)
    more = [option for option in arguments.options if option.partition("=")[0] not in own]
    paper = paper_of(arguments.paper)
    machine = take_machine({"hardware": hardware})
    plan = document(paper, designs(paper, machine, wanted=wanted), budget, hardware, wanted)
    print(json.dumps(plan, indent=2) if arguments.json else as_text(plan))
    if not start and not rehearse:
        return 0
    if plan["options"] is None:
        name = "run" if start else "rehearse"
        raise UsageError(f"{name}=true: nothing resolves a claim of {paper} within {budget:g} GPU-hours")
    from harness.cli.training import report
    from harness.launch import launch
    from harness.launch.prepare import prepare
    from harness.launch.reproduce import rehearsed

    prepared = prepare([*(plan["options"] if start else rehearsed(plan["options"])), *more])
    return report(launch([prepared], prepared.launcher, keep_going=False))


def as_text(plan: Mapping[str, Any]) -> str:
    """The designs as a table, and the chosen one."""
    if not plan["designs"]:
        return paragraph(f"{plan['paper']}: no claim of it is about a difference of avg@n that its tables print")
    rows = [
        (
            f"{d['model']}: {d['arm']} - {d['than']}",
            d["benchmark"],
            f"{100 * d['difference']:+.1f}",
            *("–" if d[key] is None else f"{d[key]:g}" for key in ("seeds", "samples", "hours")),
        )
        for d in plan["designs"]
    ]
    lines = [table(("claim", "benchmark", "printed", "seeds", "n", "GPU-hours"), rows, left=2)]
    lines.append(
        paragraph(
            f"seeds (each arm), n, GPU-hours: the cheapest that resolve the printed difference (points) with a chance "
            f"of {100 * plan['power']:g} %; –: none with at most 32 seeds and n = 64, or the hours are not known."
        )
    )
    if plan["options"] is None:
        known = [d["hours"] for d in plan["designs"] if d["hours"] is not None]
        least = f"; the cheapest takes about {min(known):,.0f}" if known else ""
        lines.append(paragraph(f"Nothing resolves a claim within {plan['budget_gpu_hours']:g} GPU-hours{least}."))
    else:
        lines.append(f"within {plan['budget_gpu_hours']:g} GPU-hours:")
        lines.append(f"  rlvr run {shlex.join(plan['options'])}")
    return "\n".join(lines)
