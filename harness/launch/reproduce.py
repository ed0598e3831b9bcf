"""`rlvr reproduce ARXIV budget=HOURS`: the seeds and samples that can resolve a paper's claim within GPU-hours, if any.

The target is the paper's printed difference. `evals.stats.power` gives the seeds and samples that it needs; the middle
of the plan's estimate gives the cost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from evals.data import benchmarks
from evals.provenance import Origin
from evals.stats.power import chance, default_spread
from harness.command.resolve import resolve
from harness.errors import UsageError, nearest
from harness.plan.machine import Machine
from harness.plan.plan import gpu_hours
from harness.spec import catalogue
from harness.spec.claim import Claim
from harness.spec.job import Job

SEEDS = tuple(range(3, 33))  # fewer than three do not cover other training seeds
SAMPLES = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class Design:
    """One claim on one benchmark, and the design that resolves it.

    Args:
        difference: printed in the paper, a fraction. seeds, samples: the cheapest with the wanted power; None: no
            design has it. hours: GPU-hours of both arms. power: the chance that the printed difference is resolved.
    """

    claim: str
    model: str
    arm: str
    than: str
    benchmark: str
    difference: float
    seeds: int | None
    samples: int | None
    hours: float | None
    power: float | None

    def options(self, paper: str, hardware: str) -> list[str]:
        """The options of the `rlvr run` for this design."""
        return [
            *(f"paper={paper}", f"arm={self.than},{self.arm}", f"model={self.model}", "scale=paper"),
            *(f"seeds={self.seeds}", f"hardware={hardware}", f"protocol.benchmarks=[{self.benchmark}]"),
            *(f"protocol.n={self.samples}", f"protocol.ks=[{self.samples}]"),
        ]


def paper_of(arxiv: str) -> str:
    """The key of the paper with this arXiv id (also with a version, or as a link), or with this key.

    Raises:
        UsageError: none of the papers has it.
    """
    known = {catalogue.load(key).arxiv: key for key in catalogue.papers()}
    bare = re.sub(r"^(?:arXiv:|https?://(?:www\.)?arxiv\.org/\w+/)|(?:v\d+)?(?:\.pdf)?$", "", arxiv)
    if bare in known:
        return known[bare]
    if arxiv in known.values():
        return arxiv
    raise UsageError(f"{arxiv}: no paper with this arXiv id; {nearest(bare, [*known, *known.values()])}")


def designs(paper: str, machine: Machine, *, wanted: float = 0.8) -> list[Design]:
    """For each claim with a printed difference of avg, on each benchmark: the cheapest design with power `wanted`.
    Sorted by cost; unresolvable ones come last."""
    reproduction = catalogue.load(paper)
    printed = {
        (cell.model, cell.arm, cell.benchmark): cell.value
        for cell in catalogue.published(paper)
        if cell.metric.partition("@")[0] == "avg" and cell.unit == "%"
    }
    resolving = []
    for claim in reproduction.claims:
        if claim.curve is not None or not claim.arm or "avg" not in claim.compared or claim.than_model:
            continue
        for model, arm, benchmark in printed:
            other = printed.get((model, claim.than, benchmark))
            if arm != claim.arm or other is None or (claim.models and model not in claim.models):
                continue
            difference = (printed[model, arm, benchmark] - other) / 100
            if difference and benchmark in benchmarks.names():
                resolving.append(_cheapest(paper, claim, model, benchmark, difference, machine, wanted))
    return sorted(resolving, key=lambda design: (design.hours is None, design.hours or 0.0))


def _cheapest(
    paper: str, claim: Claim, model: str, benchmark: str, difference: float, machine: Machine, wanted: float
) -> Design:
    jobs = resolve(paper, models=[model], arms=[claim.than, claim.arm], scale="paper", seeds=[0])
    spread, problems = default_spread(benchmark), int(benchmarks.task(benchmark)["metadata"]["rows"])
    best: Design | None = None
    common = (claim.text, model, claim.arm, claim.than, benchmark, difference)
    for samples in SAMPLES:
        each = _hours(jobs, machine, benchmark, samples)
        if each is None:
            break
        for seeds in SEEDS:
            trained, once = each
            hours = seeds * trained + once
            if best is not None and best.hours is not None and hours >= best.hours:
                break
            resolved = chance(difference, spread, problems=problems, samples=samples, seeds=seeds)
            if resolved >= wanted:
                best = Design(*common, seeds, samples, round(hours, 1), round(resolved, 3))
                break
    return best or Design(*common, None, None, None, None)


def _hours(jobs: Sequence[Job], machine: Machine, benchmark: str, samples: int) -> tuple[float, float] | None:
    """GPU-hours (of a training seed of the arms that are trained, of those that are not); None: not known."""
    trained = once = 0.0
    for job in jobs:
        values = {"benchmarks": [benchmark], "n": samples, "ks": [samples]}
        try:
            measured = replace(job, protocol=job.protocol.override(values, Origin.USER, "rlvr reproduce"))
        except ValueError:  # several samples of a greedy protocol are all the same
            return None
        hours = gpu_hours(measured, machine.of(measured))
        if hours is None:
            return None
        if job.experiment is None:
            once += hours[1]
        else:
            trained += hours[1]
    return trained, once


def rehearsed(options: Sequence[str]) -> list[str]:
    """The same arms and seeds at tiny scale, on the benchmarks and with the samples of that scale."""
    kept = [option for option in options if option.partition("=")[0] in ("paper", "arm", "model", "seeds")]
    return [*kept, "scale=tiny"]


def document(paper: str, candidates: Sequence[Design], budget: float, hardware: str, wanted: float) -> dict[str, Any]:
    """All designs, those that fit, and the command of the best fit."""
    fit = [design for design in candidates if design.hours is not None and design.hours <= budget]
    # of the designs that fit, the one with the highest power
    chosen = max(fit, key=lambda design: (design.power or 0.0, -(design.hours or 0.0)), default=None)
    return {
        "paper": paper,
        "budget_gpu_hours": budget,
        "hardware": hardware,
        "power": wanted,
        "designs": [asdict(design) for design in candidates],
        "chosen": None if chosen is None else asdict(chosen),
        "options": None if chosen is None else chosen.options(paper, hardware),
    }
