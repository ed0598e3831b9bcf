"""The command `rlvr reproduce`: seeds and n that resolve a paper's claim within a budget. Starts nothing."""

from __future__ import annotations

import json
import re
from typing import Any

from harness.cli.terminal import wrapped
from harness.command.config import no_more, parse_overrides, take, take_number
from harness.errors import UsageError, nearest

REPRODUCE = """PAPER is an arXiv id (2503.22456) or a key of `rlvr list`.
options:
  budget=HOURS           GPU-hours that may be spent, required
  hardware=PROFILE       the machine (default h100x8), or hardware.KEY=VALUE; see `rlvr run --help`
  power=0.8              the wanted chance that the difference which the paper prints is resolved"""


def do_reproduce(arguments: Any) -> int:
    from harness.plan.budget import what_it_buys
    from harness.plan.machine import take_machine

    values = parse_overrides(arguments.options)
    budget, wanted = take_number(values, "budget", required=True), take_number(values, "power", 0.8)
    if budget <= 0:
        raise UsageError(f"budget: expected GPU-hours above 0, got {budget:g}")
    if not 0 < wanted < 1:
        raise UsageError(f"power: expected a number in (0, 1), got {wanted:g}")
    if not any(key.startswith("hardware") for key in values):
        values["hardware"] = "h100x8"
    machine = take_machine(values)
    take(values, "backend", str)
    no_more(values, ("budget", "power", "hardware", "backend"))
    result = what_it_buys(paper_of(arguments.paper), budget, machine, wanted=wanted)
    print(json.dumps(result.as_json(), indent=2) if arguments.json else wrapped(str(result)))
    return 0


def paper_of(arxiv: str) -> str:
    """The key of the paper with this arXiv id (also with a version, or as a link), or with this key.

    Raises:
        UsageError: none of the papers has it.
    """
    from harness.spec import catalogue

    keys = {catalogue.load(key).arxiv: key for key in catalogue.papers()}
    bare = re.sub(r"^(?:arXiv:|https?://(?:www\.)?arxiv\.org/\w+/)|(?:v\d+)?(?:\.pdf)?$", "", arxiv)
    if bare in keys:
        return keys[bare]
    if arxiv in keys.values():
        return arxiv
    raise UsageError(f"{arxiv}: no paper with this arXiv id; {nearest(bare, [*keys, *keys.values()])}")
