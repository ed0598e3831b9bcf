"""The study's design as jobs of `rlvr run`, in order of execution."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from harness.command.resolve import resolve
from harness.data.tiny import family
from harness.spec.declarations import Experiment
from harness.spec.job import Job
from harness.spec.scales import SCALES
from studies.tiny.design import Design, StudyArm

Settings = Mapping[tuple[str, str, str], Mapping[str, float]]
"""(scale, paper, method) -> the values that the search chose."""


def base_jobs(design: Design) -> list[Job]:
    """The untrained base model of each family, under each paper's name: evaluated, not trained."""
    return [
        job
        for scale in design.families
        for paper in design.papers()
        for job in resolve(paper, arms=["base"], scale=scale, seeds=[0])[:1]
    ]


def study_jobs(design: Design, settings: Settings, *, tiers: Sequence[int] | None = None) -> list[Job]:
    """The runs that count: tier by tier, seed by seed, so that every arm has equally many at any time.

    Args:
        settings: a method without them has no runs yet.
        tiers: only these; None: all.
    """
    jobs = []
    for tier in sorted({arm.tier for arm in design.arms} if tiers is None else set(tiers)):
        for seed in range(design.seeds):
            for arm in design.arms:
                if arm.tier == tier:
                    jobs += [
                        seeded_job(design, arm, scale, seed, settings[scale, arm.paper, arm.method])
                        for scale in design.families
                        if (scale, arm.paper, arm.method) in settings
                    ]
    return jobs


def rate_jobs(design: Design, tier: int) -> list[Job]:
    """The first half of the search: every method of a tier at every learning rate."""
    return [
        trial_job(design, arm, scale, {"learning_rate": rate})
        for arm in design.methods()
        if arm.tier == tier
        for scale in design.families
        for rate in design.learning_rates
    ]


def knob_jobs(design: Design, tier: int, rates: Settings) -> list[Job]:
    """The second half: every method's knob at its chosen learning rate."""
    return [
        trial_job(design, arm, scale, {**rates[scale, arm.paper, arm.method], arm.knob.key: value})
        for arm in design.methods()
        if arm.tier == tier and arm.knob is not None
        for scale in design.families
        for value in arm.knob.values
    ]


def seeded_job(design: Design, arm: StudyArm, scale: str, seed: int, values: Mapping[str, Any]) -> Job:
    """A run that counts: an arm with some values, trained for the design's length and measured on all benchmarks."""
    return _job(arm, scale, seed, {**values, "max_steps": steps(arm, scale, design.rollouts)})


def trial_job(design: Design, arm: StudyArm, scale: str, values: Mapping[str, float]) -> Job:
    """A run of the search: shorter, with its own seed, measured on the validation set."""
    n = design.tuning_samples
    protocol = {
        "protocol.benchmarks": [family(SCALES[scale].family or "").VALIDATION],
        "protocol.n": n,
        "protocol.ks": [1, n],
    }
    length = {"max_steps": steps(arm, scale, design.tuning_rollouts)}
    return _job(arm, scale, design.tuning_seed, {**values, **length, **protocol})


def steps(arm: StudyArm, scale: str, rollouts: int) -> int:
    """Optimiser steps of `rollouts` rollouts."""
    experiment = _job(arm, scale, 0, {}).experiment
    assert isinstance(experiment, Experiment)
    return rollouts * experiment.updates_per_rollout.value


def declared_value(arm: StudyArm, scale: str, key: str) -> float:
    """A value of an arm as its paper declares it, at a scale."""
    return float(_job(arm, scale, 0, {}).settings()[key].value)


def _job(arm: StudyArm, scale: str, seed: int, overrides: Mapping[str, Any]) -> Job:
    return replace(_resolved(arm.paper, arm.arm, scale, json.dumps(overrides, sort_keys=True)), seed=seed)


@cache
def _resolved(paper: str, arm: str, scale: str, overrides: str) -> Job:
    """The job of seed 0; at these scales a paper has one base model."""
    (job, *_) = resolve(paper, arms=[arm], scale=scale, seeds=[0], overrides=json.loads(overrides))
    return job
