"""The search for each method's learning rate and knob: the same for all, on problems that no result uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from harness.spec.job import Job
from studies.tiny.design import Design, StudyArm
from studies.tiny.jobs import Settings, knob_jobs, rate_jobs

if TYPE_CHECKING:
    from harness.runs.source import RunSource

Ending = float | Literal["unfinished", "diverged"]
Scored = Callable[[Job], Ending]
"""The mean accuracy of a trial on its validation set, or why it has none."""


@dataclass(frozen=True)
class Trial:
    """One setting tried for one method."""

    scale: str
    paper: str
    method: str
    values: Mapping[str, float]
    accuracy: Ending


@dataclass(frozen=True)
class Search:
    """The state of the search: its trials, the settings of each finished tier and family, and its jobs."""

    tried: tuple[Trial, ...]
    settings: Settings
    jobs: tuple[Job, ...]


def search(design: Design, scored: Scored) -> Search:
    """The finished part of the search."""
    tried: list[Trial] = []
    settings: dict[tuple[str, str, str], Mapping[str, float]] = {}
    jobs: list[Job] = []
    for tier in design.tiers():
        for scale in design.families:
            part = design.of_families([scale])
            own = trials(part, scored, tier)
            tried += own
            jobs += rate_jobs(part, tier)
            if len(own) > len(rate_jobs(part, tier)):
                jobs += knob_jobs(part, tier, chosen(part, own[: len(rate_jobs(part, tier))], tier))
            if all(trial.accuracy != "unfinished" for trial in own):
                settings |= chosen(part, own, tier)
    return Search(tuple(tried), settings, tuple(jobs))


def accuracies(source: RunSource, design: Design) -> Scored:
    """A function from a trial's job to how it ended, by MLflow."""
    ended: dict[tuple[str, int], Ending] = {}
    name = f"_validation/avg_at_{design.tuning_samples}"
    for paper in design.papers():
        for run in source.arms(paper):
            tags = run.data.tags
            key = (tags["rlvr.digest"].partition("-")[0], int(tags["rlvr.seed"]))
            values = [value for metric, value in run.data.metrics.items() if metric.endswith(name)]
            if "rlvr.diverged" in tags:
                ended[key] = "diverged"
            elif len(values) == 1:
                ended[key] = float(values[0])
    return lambda job: ended.get((job.digest, job.seed), "unfinished")


def trials(design: Design, scored: Scored, tier: int) -> list[Trial]:
    """Every trial of a tier, finished or not; knobs only where all learning rates are finished."""
    of_rates = [_trial(job, ("learning_rate",), scored) for job in rate_jobs(design, tier)]
    if any(t.accuracy == "unfinished" for t in of_rates):
        return of_rates
    rates = chosen(design, of_rates, tier)
    knobs = {arm.method: arm.knob.key for arm in design.methods() if arm.knob is not None}
    of_knobs = [_trial(job, ("learning_rate", knobs[job.arm]), scored) for job in knob_jobs(design, tier, rates)]
    return [*of_rates, *of_knobs]


def chosen(design: Design, tried: Sequence[Trial], tier: int) -> Settings:
    """The setting of each method with the highest accuracy; of equal ones the first tried (the
    declared knob before others).

    Raises:
        ValueError: a method of the tier has no finished trial.
    """
    best: dict[tuple[str, str, str], Mapping[str, float]] = {}
    for arm in design.methods():
        if arm.tier == tier:
            for scale in design.families:
                best[scale, arm.paper, arm.method] = _best(arm, scale, tried).values
    return best


def _best(arm: StudyArm, scale: str, tried: Sequence[Trial]) -> Trial:
    finished = [
        (trial.accuracy, trial)
        for trial in tried
        if (trial.scale, trial.paper, trial.method) == (scale, arm.paper, arm.method)
        and isinstance(trial.accuracy, float)
    ]
    if not finished:
        raise ValueError(f"{arm.name} ({scale}): expected a finished trial of its settings, found none")
    return max(finished, key=lambda pair: pair[0])[1]


def _trial(job: Job, keys: Sequence[str], scored: Scored) -> Trial:
    values = {key: float(job.command_line[key]) for key in keys}
    return Trial(job.scale, job.paper, job.arm, values, scored(job))
