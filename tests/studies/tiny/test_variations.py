"""Choices made otherwise and sweeps beside the study: their jobs and words."""

from __future__ import annotations

from dataclasses import replace

from studies.tiny.design import STUDY
from studies.tiny.jobs import Settings, seeded_job
from studies.tiny.variations import (
    ALTERNATIVES,
    SEEDS,
    SWEEPS,
    alternative_jobs,
    sweep_jobs,
    sweep_trials,
)

DESIGN = STUDY.of_families(["tiny"])
SETTINGS: Settings = {("tiny", arm.paper, arm.arm): {"learning_rate": 2e-4} for arm in STUDY.methods() if arm.tier == 1}


def test_every_alternative_is_another_run_than_the_method_as_declared() -> None:
    jobs = alternative_jobs(DESIGN, SETTINGS)
    assert len(jobs) == SEEDS * len(ALTERNATIVES)
    assert len({(job.paper, job.digest, job.seed) for job in jobs}) == len(jobs)
    for job in jobs:
        arm = next(a for a in STUDY.arms if (a.paper, a.arm) == (job.paper, job.arm))
        declared = seeded_job(DESIGN, arm, "tiny", job.seed, SETTINGS["tiny", job.paper, job.arm])
        assert job.digest != declared.digest
        assert job.protocol == declared.protocol  # measured as the study's own runs are


def test_variations_need_a_finished_search() -> None:
    egsw = {key: value for key, value in SETTINGS.items() if key[1] == "egsw"}
    assert {job.paper for job in alternative_jobs(DESIGN, egsw)} == {"egsw"}
    assert {job.paper for job in sweep_jobs(DESIGN, egsw)} == {"egsw"}


def test_sweeps_are_trials_at_the_chosen_learning_rate_on_validation_problems() -> None:
    jobs = sweep_jobs(DESIGN, SETTINGS)
    assert len(jobs) == sum(len(knob.values) for _, _, knob in SWEEPS)
    assert {job.seed for job in jobs} == {STUDY.tuning_seed}
    assert {job.command_line["learning_rate"] for job in jobs} == {2e-4}
    tried = sweep_trials(DESIGN, SETTINGS, lambda job: 0.25)
    assert [dict(t.values) for t in tried if t.method == "egsw"] == [
        {"learning_rate": 2e-4, "egsw.temperature": value} for value in (0.5, 2.0)
    ]


def test_the_values_of_the_declaration_are_not_among_the_swept() -> None:
    for paper, method, knob in SWEEPS:
        arm = replace(next(a for a in STUDY.arms if (a.paper, a.arm) == (paper, method)), knob=knob)
        job = seeded_job(DESIGN, arm, "tiny", 0, {})
        assert job.settings()[knob.key].value not in knob.values
