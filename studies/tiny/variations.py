"""Exploratory runs beside the registered study: alternatives to choices that a paper leaves open, and more sweeps.

Exploratory: not registered, fewer seeds, and never part of a claim. The list was committed before its first run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evals.stats.compare import compare_average, corrected
from harness.spec.job import Job
from harness.tables.measured import Measured
from studies.tiny.design import Design, Knob, StudyArm
from studies.tiny.jobs import Settings, seeded_job, trial_job
from studies.tiny.outcomes import Difference, Key, measured_of
from studies.tiny.tuning import Scored, Trial

if TYPE_CHECKING:
    from harness.runs.source import RunSource

SEEDS = 3


@dataclass(frozen=True)
class Alternative:
    """A method with an alternative choice, at the settings that the search chose for the method."""

    paper: str
    arm: str
    values: Mapping[str, float | str | int]
    choice: str

    @property
    def name(self) -> str:
        """ "egsw.rescale=mean_one"."""
        return " ".join(f"{key}={value}" for key, value in self.values.items())


ALTERNATIVES = (
    Alternative("egsw", "egsw", {"egsw.rescale": "mean_one"},
                "weights as printed sum to one at each position (none); or have mean one (mean_one)"),
    Alternative("egsw", "egsw", {"egsw.over": "micro_batch", "egsw.micro_batch": 16},
                "softmax over the batch, as the text says; or over a micro-batch of 16, as inside TRL's loss"),
    Alternative("egsw", "egsw", {"egsw.entropy": "raw"}, "entropy divided by log |V|; or in nats"),
    Alternative("egsw", "egsw", {"egsw.level": "trajectory"}, "a weight for each step; or one for each response"),
    # which part of EGSW's weights exp((A + alpha H) / P) makes it guess on tiny_search (results/study/findings.md)
    Alternative("egsw", "egsw", {"egsw.alpha": 0.0}, "weights of advantage and entropy; or of the advantage alone"),
    Alternative("egsw", "egsw", {"egsw.temperature": 20.0}, "P = 1; or 20, where all weights are nearly equal"),
    Alternative("forking_tokens", "top20", {"denominator": "all"},
                "mean over the kept tokens, as the code and v2 have it; or over all, as v1 has it"),
    Alternative("forking_tokens", "top20", {"forking_tokens.micro_batch_tokens": 512},
                "quantile over the update; or over micro-batches of at most 512 tokens"),
    Alternative("trial_and_error", "grpo_position", {"position_advantage.n": -0.5},
                "n = 0.5, as released; or -0.5, as printed"),
    Alternative("trial_and_error", "grpo_ppl", {"ppl_advantage.statistics": "as_released"},
                "statistics of the group, as printed; or as released"),
)  # fmt: skip

SWEEPS = (
    ("egsw", "egsw", Knob("egsw.temperature", (0.5, 2.0))),
    ("entropy_advantage", "grpo_entropy_advantage", Knob("entropy_advantage.kappa", (1.25, 4.0))),
    ("erpo", "erpo", Knob("erpo.buckets", (5, 20))),
    ("erpo", "erpo", Knob("erpo.eta", (0.05, 0.8))),
)
"""Values that the study does not search; tried like its trials, on the validation set, with one seed."""


def alternative_jobs(design: Design, settings: Settings) -> list[Job]:
    """Every alternative with the first seeds of the study, seed by seed."""
    return [
        seeded_job(design, _arm(design, a), scale, seed, {**settings[scale, a.paper, a.arm], **a.values})
        for seed in range(SEEDS)
        for a in ALTERNATIVES
        for scale in design.families
        if (scale, a.paper, a.arm) in settings
    ]


def sweep_jobs(design: Design, rates: Settings) -> list[Job]:
    """The values of SWEEPS at the method's chosen learning rate.

    Args:
        rates: (scale, paper, method) -> settings with the learning rate.
    """
    return [
        trial_job(design, sweep_arm(design, paper, arm, knob), scale,
                     {"learning_rate": rates[scale, paper, arm]["learning_rate"], knob.key: value})
        for paper, arm, knob in SWEEPS
        for scale in design.families
        if (scale, paper, arm) in rates
        for value in knob.values
    ]  # fmt: skip


def sweep_arm(design: Design, paper: str, arm: str, knob: Knob) -> StudyArm:
    """The arm of the design with another knob."""
    return replace(next(a for a in design.arms if (a.paper, a.arm) == (paper, arm)), knob=knob)


def alternatives(
    design: Design, settings: Settings, source: RunSource, arms: Mapping[Key, Measured]
) -> list[tuple[Alternative, Difference]]:
    """Each alternative minus the declared method, the same seeds, in avg; Holm over all alternatives of a family."""
    wanted: dict[tuple[str, str], Key] = {}
    for a in ALTERNATIVES:
        for scale in design.families:
            if (scale, a.paper, a.arm) in settings:
                job = seeded_job(design, _arm(design, a), scale, 0, {**settings[scale, a.paper, a.arm], **a.values})
                wanted[a.paper, job.digest] = (scale, a.paper, a.name)
    measured = measured_of(wanted, [a.paper for a in ALTERNATIVES], source)
    done = []
    for scale in design.families:
        there = [
            (a, measured[scale, a.paper, a.name], arms[scale, a.paper, a.arm])
            for a in ALTERNATIVES
            if (scale, a.paper, a.name) in measured and (scale, a.paper, a.arm) in arms
        ]
        lines = [
            compare_average(x.run(), _of_seeds(y, x.seeds).run(), list(x.verdicts), "avg", margin=design.margins["avg"])
            for _, x, y in there
        ]
        family = f"alternatives in avg on {scale}, {len(ALTERNATIVES)} comparisons"
        for (a, x, y), line in zip(there, corrected(lines, family, len(ALTERNATIVES)), strict=True):
            done.append((a, Difference(scale, a.paper, a.name, a.arm, line, bool(x.diverged or y.diverged))))
    return done


def sweep_trials(design: Design, rates: Settings, scored: Scored) -> list[Trial]:
    """How each run of SWEEPS ended."""
    keys = {(paper, arm, knob.key) for paper, arm, knob in SWEEPS}
    return [
        Trial(job.scale, job.paper, job.arm, {"learning_rate": float(job.command_line["learning_rate"]),
              key: float(job.command_line[key])}, scored(job))
        for job in sweep_jobs(design, rates)
        for paper, arm, key in sorted(keys)
        if (paper, arm) == (job.paper, job.arm) and key in job.command_line
    ]  # fmt: skip


def sweep_arms(design: Design) -> Sequence[StudyArm]:
    """The arms of SWEEPS, each with its knob."""
    return [sweep_arm(design, paper, arm, knob) for paper, arm, knob in SWEEPS]


def _of_seeds(m: Measured, seeds: Sequence[int]) -> Measured:
    tables = {name: table.only(seeds) for name, table in m.verdicts.items()}
    return replace(m, seeds=tuple(s for s in m.seeds if s in seeds), verdicts=tables)


def _arm(design: Design, a: Alternative) -> StudyArm:
    return next(arm for arm in design.arms if (arm.paper, arm.arm) == (a.paper, a.arm))
