"""The study's jobs, in order of execution, and the search for each method's learning rate and knob.

The search is the same for all methods, on problems that no result uses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from harness.command.resolve import resolve
from harness.data.tiny import family
from harness.spec.declarations import Experiment
from harness.spec.job import Job
from harness.spec.scales import SCALES
from studies.tiny.design import Design, StudyArm

Settings = Mapping[tuple[str, str, str], Mapping[str, float]]
"""(scale, paper, method) -> the values that the search chose."""
Accuracy = float | Literal["unfinished", "diverged"]


@dataclass(frozen=True)
class Trial:
    """One setting tried for one method, and its mean accuracy on the validation set (or why it has none)."""

    scale: str
    paper: str
    method: str
    values: Mapping[str, float]
    accuracy: Accuracy


# -- jobs ------------------------------------------------------------------------------------------------------------


def base_jobs(design: Design) -> list[Job]:
    """The untrained base model of each family, under each paper's name: evaluated, not trained."""
    return [resolved(paper, "base", scale) for scale in design.families for paper in design.papers()]


def study_jobs(design: Design, settings: Settings, *, tiers: Sequence[int] | None = None) -> list[Job]:
    """The runs that count: tier by tier, seed by seed, so that every arm has equally many at any time.

    Args:
        settings: a method without them has no runs yet. tiers: only these; None: all.
    """
    return [
        study_job(design, arm, scale, seed, settings[scale, arm.paper, arm.method])
        for tier in (design.tiers() if tiers is None else sorted(set(tiers)))
        for seed in range(design.seeds)
        for arm in design.arms
        if arm.tier == tier
        for scale in design.families
        if (scale, arm.paper, arm.method) in settings
    ]


def study_job(design: Design, arm: StudyArm, scale: str, seed: int, values: Mapping[str, float]) -> Job:
    """A run that counts: an arm with some values, trained for the design's length and measured on all benchmarks."""
    steps = _steps(arm, scale, design.rollouts)
    return replace(resolved(arm.paper, arm.arm, scale, **values, max_steps=steps), seed=seed)


def trial_job(design: Design, arm: StudyArm, scale: str, values: Mapping[str, float]) -> Job:
    """A run of the search: shorter, with its own seed, measured on the validation set."""
    n = design.tuning_samples
    protocol = {
        "protocol.benchmarks": [family(SCALES[scale].family or "").validation],
        "protocol.n": n,
        "protocol.ks": [1, n],
    }
    steps = _steps(arm, scale, design.tuning_rollouts)
    return replace(resolved(arm.paper, arm.arm, scale, **values, **protocol, max_steps=steps), seed=design.tuning_seed)


def _steps(arm: StudyArm, scale: str, rollouts: int) -> int:
    """Optimiser steps of `rollouts` rollouts."""
    return rollouts * declared(arm.paper, arm.arm, scale).updates_per_rollout.value


def declared(paper: str, arm: str, scale: str) -> Experiment:
    """A trained arm as its paper declares it, at a scale."""
    experiment = resolved(paper, arm, scale).experiment
    assert isinstance(experiment, Experiment)
    return experiment


def resolved(paper: str, arm: str, scale: str, **overrides: Any) -> Job:
    """The job of seed 0; at these scales a paper has one base model."""
    return _resolved(paper, arm, scale, json.dumps(overrides, sort_keys=True))


@cache
def _resolved(paper: str, arm: str, scale: str, overrides: str) -> Job:
    return resolve(paper, arms=[arm], scale=scale, seeds=[0], overrides=json.loads(overrides))[0]


# -- the search ------------------------------------------------------------------------------------------------------


def search(design: Design, tier: int, accuracy: Callable[[Job], Accuracy]) -> tuple[list[Job], list[Trial]]:
    """The jobs of a tier's search and how they ended: every learning rate; once these have ended, every value of each
    method's knob at its best learning rate.
    """
    pairs = [(arm, scale) for arm in design.methods() if arm.tier == tier for scale in design.families]
    tried = [(arm, scale, {"learning_rate": rate}) for arm, scale in pairs for rate in design.learning_rates]
    jobs, trials = _tried(design, tried, accuracy)
    if any(trial.accuracy == "unfinished" for trial in trials):
        return jobs, trials
    rates = chosen(trials)
    tried = [
        (arm, scale, {**rates[scale, arm.paper, arm.method], arm.knob.key: value})
        for arm, scale in pairs
        if arm.knob is not None
        for value in arm.knob.values
    ]
    more, ended = _tried(design, tried, accuracy)
    return [*jobs, *more], [*trials, *ended]


def _tried(
    design: Design, tried: Sequence[tuple[StudyArm, str, Mapping[str, float]]], accuracy: Callable[[Job], Accuracy]
) -> tuple[list[Job], list[Trial]]:
    jobs = [trial_job(design, arm, scale, values) for arm, scale, values in tried]
    trials = [
        Trial(scale, arm.paper, arm.arm, values, accuracy(job))
        for (arm, scale, values), job in zip(tried, jobs, strict=True)
    ]
    return jobs, trials


def chosen(trials: Sequence[Trial]) -> Settings:
    """The values of each method's best trial; of equal ones the first tried (the declared knob before others).

    Raises:
        ValueError: no trial of a method has an accuracy.
    """
    finished: dict[tuple[str, str, str], list[tuple[float, Trial]]] = {}
    for trial in trials:
        of_method = finished.setdefault((trial.scale, trial.paper, trial.method), [])
        if isinstance(trial.accuracy, float):
            of_method.append((trial.accuracy, trial))
    for key, of_method in finished.items():
        if not of_method:
            raise ValueError(f"{' '.join(key)}: expected a finished trial of its settings, found none")
    return {key: max(of_method, key=lambda pair: pair[0])[1].values for key, of_method in finished.items()}
