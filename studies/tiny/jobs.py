"""The study's jobs, in order of execution, with the learning rate and the knob that the search chose for each method.

The search is finished: trials.csv has every trial (one run each at the design's learning rates, then the other values
of the knob at the best of them, `tuning_rollouts` long, on the validation set, which no result uses). `chosen` repeats
its choice. The later tier has no search: its arms take what was chosen for GRPO.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from harness.command.resolve import resolve
from harness.spec.declarations import Experiment
from harness.spec.job import Job
from studies.tiny.design import Design, StudyArm

if TYPE_CHECKING:
    import pandas as pd

FOLDER = Path("results") / "study"
LATER_FOLDER = FOLDER / "later"
Settings = Mapping[tuple[str, str, str], Mapping[str, float]]
"""(scale, paper, method) -> the values that the search chose."""


def read_settings(design: Design) -> Settings:
    """The values that the committed search chose for each method. For one that it did not try, GRPO's."""
    import pandas as pd

    settings = chosen(pd.read_csv(FOLDER / "trials.csv"))
    keys = {(scale, arm.paper, arm.method) for scale in design.families for arm in design.arms}
    return {
        (scale, paper, m): settings.get((scale, paper, m)) or settings[scale, paper, "grpo"] for scale, paper, m in keys
    }


def chosen(trials: pd.DataFrame) -> Settings:
    """The values of each method's best trial; of equal ones the first tried (the declared knob before others).

    A trial that diverged has no accuracy and cannot win.

    Raises:
        ValueError: no trial of a method has an accuracy.
    """
    import pandas as pd

    settings: dict[tuple[str, str, str], Mapping[str, float]] = {}
    for key, tried in trials.groupby(["family", "paper", "method"]):
        accuracy = pd.to_numeric(tried["accuracy"], errors="coerce").to_numpy(float)
        if np.isnan(accuracy).all():
            raise ValueError(f"{' '.join(map(str, key))}: expected a finished trial of its settings, found none")
        best = tried.iloc[int(np.nanargmax(accuracy))]
        knob = {} if pd.isna(best["value"]) else {best["knob"]: float(best["value"])}
        settings[cast(tuple[str, str, str], key)] = {"learning_rate": float(best["learning_rate"]), **knob}
    return settings


def base_jobs(design: Design) -> list[Job]:
    """The untrained base model of each family, under each paper's name: evaluated, not trained."""
    return [resolved(paper, "base", scale) for scale in design.families for paper in design.papers()]


def study_jobs(design: Design, settings: Settings) -> list[Job]:
    """The runs that count: tier by tier, seed by seed, so that every arm has equally many at any time."""
    return [
        study_job(design, arm, scale, seed, settings[scale, arm.paper, arm.method])
        for tier in sorted({arm.tier for arm in design.arms})
        for seed in range(design.seeds)
        for arm in design.arms
        if arm.tier == tier
        for scale in design.families
    ]


def study_job(design: Design, arm: StudyArm, scale: str, seed: int, values: Mapping[str, float]) -> Job:
    """A run that counts: an arm with some values, trained for the design's length and measured on all benchmarks."""
    steps = design.rollouts * declared(arm.paper, arm.arm, scale).updates_per_rollout.value
    return replace(resolved(arm.paper, arm.arm, scale, **values, max_steps=steps), seed=seed)


def declared(paper: str, arm: str, scale: str) -> Experiment:
    """A trained arm as its paper declares it, at a scale."""
    experiment = resolved(paper, arm, scale).experiment
    assert isinstance(experiment, Experiment)
    return experiment


def resolved(paper: str, arm: str, scale: str, **overrides: object) -> Job:
    """The job of seed 0. At these scales a paper has one base model."""
    return _resolved(paper, arm, scale, json.dumps(overrides, sort_keys=True))


@cache
def _resolved(paper: str, arm: str, scale: str, overrides: str) -> Job:
    return resolve(paper, arms=[arm], scale=scale, seeds=[0], overrides=json.loads(overrides))[0]
