"""How many training seeds a paper's claims need, and what they cost. Starts nothing."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evals.data import benchmarks
from evals.stats.power import default_spread, seeds_of_claim
from harness.command.options import RunOptions
from harness.plan.plan import ArmPlan, Plan
from harness.spec import Reproduction, catalogue
from harness.spec.claim import Claim

Scores = Mapping[tuple[str, str], Mapping[str, float]]  # (model, arm) -> printed accuracy by benchmark, a fraction
Options = dict[str, Any]  # the options of `rlvr plan`


@dataclass(frozen=True)
class ClaimSeeds:
    """The seeds of each trained arm of a claim, with which the protocol's samples resolve the printed difference.

    Args:
        printed: the difference by benchmark, a fraction. seeds: None: more problems would be needed.
        gpu_hours, price: of all runs, or None where one is not known. options: of the command that plans them.
        cannot_run, does_not_fit: why an arm cannot run on this hardware.
    """

    claim: Claim
    model: str
    printed: Mapping[str, float]
    seeds: int | None
    gpu_hours: float | None
    price: float | None
    cannot_run: str | None
    does_not_fit: str | None
    options: Options

    @property
    def can_run(self) -> bool:
        return self.seeds is not None and self.cannot_run is self.does_not_fit is None

    def command(self, paper: str) -> str:
        """The command that trains the seeds."""
        words = {"paper": paper, **self.options, "seeds": self.seeds, "scale": "paper"}
        shown = {key: f"[{','.join(value)}]" if isinstance(value, list) else value for key, value in words.items()}
        return shlex.join(["rlvr", "run", *(f"{key}={value}" for key, value in shown.items())])

    def as_dict(self) -> dict[str, object]:
        claim = self.claim
        return {
            "claim": claim.text,
            "model": self.model,
            "printed": dict(self.printed),
            "seeds": self.seeds,
            "where": claim.where,
            "arm": claim.arm,
            "than": claim.than,
            "over": claim.over,
            "gpu_hours": self.gpu_hours,
            "price": self.price,
            "cannot run": self.cannot_run,
            "does not fit": self.does_not_fit,
        }


def claim_seeds(
    paper: Reproduction, values: Mapping[str, Any], power: float, planned: Callable[[RunOptions], Plan]
) -> Iterator[ClaimSeeds]:
    """One for each base model of each claim whose difference in accuracy the paper's tables give.

    Args:
        values: options of `rlvr plan` for all of them. power: the chance to resolve a difference.
        planned: options -> their plan (`harness.launch.prepare.planned`).
    """
    scores = printed_accuracies(catalogue.published(paper.key))
    for claim in paper.claims:
        if not about_accuracies(claim):
            continue
        for model in paper.claimed_models(claim):
            if printed := printed_difference(claim, model, scores):
                options = {"model": model, "arm": [claim.than, claim.arm], "protocol.benchmarks": list(printed)}
                options |= values
                plan = planned(RunOptions.from_keys({**options, "scale": "paper", "seeds": 1}))
                yield _of_claim(claim, model, printed, power, plan.arms, options)


def printed_accuracies(cells: Sequence[catalogue.Published]) -> Scores:
    """The accuracies in a paper's tables, on benchmarks that we have."""
    scores: dict[tuple[str, str], dict[str, float]] = {}
    for cell in cells:
        if cell.metric.startswith("avg") and cell.benchmark in benchmarks.names():
            scores.setdefault((cell.model, cell.arm), {})[cell.benchmark] = cell.value / 100
    return scores


def about_accuracies(claim: Claim) -> bool:
    """Whether a claim compares the accuracies of two arms of one base model."""
    return bool(claim.arm and "avg" in claim.compared and not (claim.curve or claim.than_model or claim.margin))


def printed_difference(claim: Claim, model: str, scores: Scores) -> dict[str, float]:
    """arm - than on each benchmark that the paper prints for both."""
    arm, than = scores.get((model, claim.arm), {}), scores.get((model, claim.than), {})
    return {name: arm[name] - than[name] for name in claim.benchmarks or arm if name in arm and name in than}


def _of_claim(
    claim: Claim,
    model: str,
    printed: Mapping[str, float],
    power: float,
    arms: Sequence[ArmPlan],
    options: Options,
) -> ClaimSeeds:
    protocol = arms[0].job.protocol
    parts = [(d, default_spread(b), benchmarks.count(b), protocol.value("n", b)) for b, d in printed.items()]
    needed = seeds_of_claim(claim.over, parts, power)
    gpu_hours = [None if arm.cost.gpu_hours is None else arm.cost.gpu_hours.middle for arm in arms]
    runs = [needed if arm.job.experiment is not None else 1 for arm in arms]
    return ClaimSeeds(
        claim=claim,
        model=model,
        printed=printed,
        seeds=needed,
        gpu_hours=_sum_of(gpu_hours, runs),
        price=_sum_of([arm.cost.price for arm in arms], runs),
        cannot_run=next((arm.refused for arm in arms if arm.refused), None),
        does_not_fit=next((f"{arm.label}: {arm.fits[1]}" for arm in arms if arm.fits[0] == "no"), None),
        options=options,
    )


def _sum_of(each: Sequence[float | None], runs: Sequence[int | None]) -> float | None:
    """The sum over arms with so many runs, or None where a part is not known."""
    parts = [cost * count for cost, count in zip(each, runs, strict=True) if cost is not None and count is not None]
    return sum(parts) if len(parts) == len(each) else None
