"""What a budget of GPU-hours buys: the seeds and samples with which a paper's claims can be resolved, if any.

The target is the difference that the paper prints. `evals.stats.power` gives the chance that a plan resolves it; the
middle of the plan's estimate gives the cost.
"""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from evals.data import benchmarks
from evals.notebook import text_table
from evals.provenance import Origin
from evals.stats.power import average, chance, default_spread
from harness.command.resolve import resolve
from harness.plan.machine import Machine
from harness.plan.plan import gpu_hours
from harness.spec import catalogue
from harness.spec.claim import Claim
from harness.spec.job import Job

SEEDS = tuple(range(3, 33))  # fewer do not cover other training seeds
SAMPLES = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class Design:
    """One claim on one base model, and the cheapest design that resolves it.

    Attributes:
        where: section or table of the claim. over: "each", "most" or "average" of the benchmarks.
        differences: benchmark -> printed difference, a fraction; the claim's own benchmarks that have one.
        seeds, samples, hours, power: of the cheapest design with the wanted power; None: none within `SEEDS` and
            `SAMPLES`, or the hours are not known. GPU-hours are those of both arms.
    """

    claim: str
    where: str
    model: str
    arm: str
    than: str
    over: str
    differences: dict[str, float]
    seeds: int | None = None
    samples: int | None = None
    hours: float | None = None
    power: float | None = None


@dataclass(frozen=True)
class Budget:
    """The designs of a paper's claims, in the paper's order, for a number of GPU-hours. It prints itself."""

    paper: str
    hours: float
    target_power: float
    designs: tuple[Design, ...]

    @property
    def chosen(self) -> Design | None:
        """The first claim of the paper that the budget resolves: papers state their main claim first."""
        return next((d for d in self.designs if d.hours is not None and d.hours <= self.hours), None)

    @property
    def options(self) -> list[str] | None:
        """The options of the `rlvr run` for `chosen`, without those of the machine."""
        if self.chosen is None:
            return None
        d = self.chosen
        return [
            *(f"paper={self.paper}", f"arm={d.than},{d.arm}", f"model={d.model}", "scale=paper", f"seeds={d.seeds}"),
            f"protocol.benchmarks=[{','.join(d.differences)}]",
            *(f"protocol.n={d.samples}", f"protocol.ks=[{d.samples}]"),
        ]

    def as_json(self) -> dict[str, Any]:
        """One JSON document."""
        return {
            "paper": self.paper,
            "budget_gpu_hours": self.hours,
            "power": self.target_power,
            "designs": [asdict(design) for design in self.designs],
            "chosen": None if self.chosen is None else asdict(self.chosen),
            "options": self.options,
        }

    def __str__(self) -> str:
        if not self.designs:
            return f"{self.paper}: no claim is about a difference of avg that its tables print"
        rows = [
            (
                f"{d.model}: {d.arm} - {d.than}",
                f"{len(d.differences)}, {d.over}" if len(d.differences) > 1 else next(iter(d.differences)),
                f"{100 * statistics.fmean(d.differences.values()):+.1f}",
                *("–" if value is None else f"{value:g}" for value in (d.seeds, d.samples, d.hours)),
            )
            for d in self.designs
        ]
        lines = [
            text_table(("claim", "benchmarks", "printed", "seeds", "n", "GPU-hours"), rows, left=2),
            "printed: the mean difference in points. seeds (each arm), n, GPU-hours: the cheapest that resolve it with "
            f"a chance of {100 * self.target_power:g} %; –: none with at most {SEEDS[-1]} seeds and n = {SAMPLES[-1]}, "
            "or the hours are not known.",
        ]
        if self.options is None:
            costs = [d.hours for d in self.designs if d.hours is not None]
            least = f"; the cheapest takes about {min(costs):,.0f}" if costs else ""
            lines.append(f"Nothing resolves a claim within {self.hours:g} GPU-hours{least}.")
        else:
            lines += [f"within {self.hours:g} GPU-hours:", f"  rlvr run {shlex.join(self.options)}"]
        return "\n".join(lines)


def what_it_buys(paper: str, hours: float, machine: Machine, *, target_power: float = 0.8) -> Budget:
    """For each claim with printed differences of avg, on each base model: the cheapest design with that power.

    Args:
        paper: a key of the catalogue. hours: GPU-hours that may be spent. machine: decides the cost.
    """
    printed = {
        (cell.model, cell.arm, cell.benchmark): cell.value / 100
        for cell in catalogue.published(paper)
        if cell.metric.partition("@")[0] == "avg" and cell.unit == "%"
    }
    designs = []
    for claim in catalogue.load(paper).claims:
        if claim.curve is not None or not claim.arm or "avg" not in claim.compared or claim.than_model:
            continue
        for model in dict.fromkeys(model for model, arm, _ in printed if arm == claim.arm):
            if claim.models and model not in claim.models:
                continue
            differences = {
                benchmark: value - printed[model, claim.than, benchmark]
                for (of_model, arm, benchmark), value in printed.items()
                if (of_model, arm) == (model, claim.arm)
                and (model, claim.than, benchmark) in printed
                and benchmark in (claim.benchmarks or benchmarks.names())
                and benchmark in benchmarks.names()
            }
            if any(differences.values()):
                designs.append(_cheapest(paper, claim, model, differences, machine, target_power))
    return Budget(paper, hours, target_power, tuple(designs))


def _cheapest(
    paper: str, claim: Claim, model: str, differences: dict[str, float], machine: Machine, target_power: float
) -> Design:
    jobs = resolve(paper, models=[model], arms=[claim.than, claim.arm], scale="paper", seeds=[0])
    best = Design(claim.text, claim.where, model, claim.arm, claim.than, claim.over, differences)
    for samples in SAMPLES:
        each = _hours(jobs, machine, list(differences), samples)
        if each is None:
            break
        trained, once = each
        for seeds in SEEDS:
            hours = seeds * trained + once
            if best.hours is not None and hours >= best.hours:
                break
            resolved = claim_chance(claim.over, differences, samples, seeds)
            if resolved >= target_power:
                best = replace(best, seeds=seeds, samples=samples, hours=round(hours, 1), power=round(resolved, 3))
                break
    return best


def claim_chance(over: str, differences: dict[str, float], samples: int, seeds: int) -> float:
    """The chance that a claim's comparison resolves the printed differences.

    "average": of the mean over the benchmarks. "each": of the benchmark that is hardest to resolve, "most": of the
    median one, both at Holm's first level, 5 % divided by the number of benchmarks.
    """
    problems = {name: int(benchmarks.task(name)["metadata"]["rows"]) for name in differences}
    spreads = {name: default_spread(name) for name in differences}
    if over == "average":
        mean = statistics.fmean(differences.values())
        pooled, fewest = average([(spreads[name], problems[name]) for name in differences])
        return chance(mean, pooled, problems=fewest, samples=samples, seeds=seeds) if mean else 0.0
    level = 1 - 0.05 / len(differences)
    chances = [
        chance(d, spreads[name], problems=problems[name], samples=samples, seeds=seeds, level=level) if d else 0.0
        for name, d in differences.items()
    ]
    return min(chances) if over == "each" else statistics.median_low(chances)


def _hours(jobs: Sequence[Job], machine: Machine, names: list[str], samples: int) -> tuple[float, float] | None:
    """GPU-hours (of a training seed of the arms that are trained, of those that are not); None: not known."""
    trained = once = 0.0
    for job in jobs:
        values = {"benchmarks": names, "n": samples, "ks": [samples]}
        try:
            measured = replace(job, protocol=job.protocol.override(values, Origin.USER, "a budget"))
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
