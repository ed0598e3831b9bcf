"""The study's jobs, and its search for settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.spec.job import Job
from studies.tiny import __main__ as study
from studies.tiny.design import STUDY, Design, Knob, StudyArm
from studies.tiny.search import Accuracy, chosen, search, study_jobs

DESIGN = Design(
    families=("tiny", "tiny_search"),
    seeds=3,
    rollouts=10,
    learning_rates=(1e-4, 2e-4),
    tuning_rollouts=5,
    tuning_seed=1000,
    tuning_samples=8,
    arms=(
        StudyArm("egsw", "grpo"),
        StudyArm("egsw", "egsw", "grpo", knob=Knob("egsw.alpha", (0.15, 0.5))),
        StudyArm("egsw", "egsw+shuffled_signal", "grpo"),
        StudyArm("baselines", "gspo", "", tier=2),
    ),
    margins={"avg": 0.02, "pass": 0.02, "maj": 0.02},
)
EGSW = ("tiny", "egsw", "egsw")


def by_rate(accuracy: dict[float, Accuracy], with_knob: Accuracy = 0.0) -> Callable[[Job], Accuracy]:
    def ended(job: Job) -> Accuracy:
        alpha = job.command_line.get("egsw.alpha")
        return accuracy[job.command_line["learning_rate"]] if alpha is None else with_knob

    return ended


def test_trials_run_on_the_validation_set_with_the_declared_length_and_seed() -> None:
    jobs, _ = search(DESIGN, 1, by_rate({1e-4: "unfinished", 2e-4: "unfinished"}))
    assert len(jobs) == 2 * 2 * 2  # methods without controls, families, rates
    for job in jobs:
        assert job.seed == 1000
        assert list(job.protocol.benchmarks.value) == [
            "tiny_validation" if job.scale == "tiny" else "search_validation"
        ]
        assert job.settings()["max_steps"].value == 5
        assert job.protocol.n.value == 8


def test_steps_count_the_updates_of_a_rollout() -> None:
    (job, *_), _ = search(DESIGN, 2, by_rate({1e-4: "unfinished", 2e-4: "unfinished"}))
    assert job.settings()["updates_per_rollout"].value == 2
    assert job.settings()["max_steps"].value == 2 * 5


@pytest.mark.parametrize(
    ("accuracy", "rate"),
    [
        ({1e-4: 0.5, 2e-4: 0.6}, 2e-4),
        ({1e-4: 0.5, 2e-4: 0.5}, 1e-4),  # equal: the first
        ({1e-4: 0.1, 2e-4: "diverged"}, 1e-4),
    ],
)
def test_the_best_trial_that_did_not_diverge_is_chosen(accuracy: dict[float, Accuracy], rate: float) -> None:
    _, trials = search(DESIGN, 1, by_rate(accuracy))
    settings = chosen(trials)
    assert settings[EGSW] == {"learning_rate": rate}
    assert len(settings) == 4


def test_a_better_knob_replaces_the_declared_one_at_the_chosen_rate() -> None:
    _, trials = search(DESIGN, 1, by_rate({1e-4: 0.5, 2e-4: 0.6}, with_knob=0.7))
    assert chosen(trials)[EGSW] == {"learning_rate": 2e-4, "egsw.alpha": 0.15}


def test_knobs_are_tried_only_after_all_rates() -> None:
    _, trials = search(DESIGN, 1, by_rate({1e-4: 0.5, 2e-4: "unfinished"}))
    assert all(set(t.values) == {"learning_rate"} for t in trials)


def test_no_settings_without_a_finished_trial() -> None:
    with pytest.raises(ValueError, match="expected a finished trial"):
        search(DESIGN, 1, by_rate({1e-4: "diverged", 2e-4: "diverged"}))


def test_runs_come_seed_by_seed_and_controls_take_their_methods_settings() -> None:
    ended = by_rate({1e-4: 0.6, 2e-4: 0.5}, with_knob=0.7)
    settings = {**chosen(search(DESIGN, 1, ended)[1]), **chosen(search(DESIGN, 2, ended)[1])}
    jobs = study_jobs(DESIGN, settings)
    first = [job for job in jobs if job.arm != "gspo"]
    assert [job.seed for job in first] == [0] * 6 + [1] * 6 + [2] * 6
    assert {job.arm for job in jobs[18:]} == {"gspo"}  # tier 2 comes last
    placebo = next(job for job in jobs if job.arm == "egsw+shuffled_signal")
    assert placebo.overrides == {"learning_rate": 1e-4, "egsw.alpha": 0.15, "max_steps": 10}
    assert len({(job.digest, job.seed) for job in jobs}) == len(jobs) == 2 * 3 * 4
    assert len(study_jobs(DESIGN, settings, tiers=[2])) == 2 * 3


@pytest.mark.parametrize(("ending", "chooses"), [("unfinished", False), ("diverged", True)])
def test_a_failed_trial_stops_the_choice_and_a_diverged_one_does_not(
    ending: Accuracy, chooses: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    design = STUDY.of_families(["tiny"])
    runs: list[Job] = []

    def accuracy(job: Job) -> Accuracy:
        return ending if (job.arm, job.command_line["learning_rate"]) == ("egsw", 4e-4) else 0.5

    def run(jobs: list[Job]) -> int:
        runs.extend(jobs)
        return 0

    class Finished:
        @staticmethod
        def of(runs: object) -> Finished:
            return Finished()

        def accuracy(self, design: Design) -> Callable[[Job], Accuracy]:
            return accuracy

    monkeypatch.setattr(study, "_run", run)
    monkeypatch.setattr(study, "FinishedRuns", Finished)
    monkeypatch.setattr(study, "find_runs", list)
    if not chooses:
        with pytest.raises(RuntimeError, match="tiny egsw egsw"):
            study.run_study(design, tiers=[1], seeds=10)
        assert {job.seed for job in runs} == {0, design.tuning_seed}  # the base models and the search
    else:
        assert study.run_study(design, tiers=[1], seeds=1) == 0
        egsw = next(job for job in runs if (job.arm, job.seed) == ("egsw", 0))
        assert egsw.command_line["learning_rate"] == 1e-4


def test_a_change_of_the_design_changes_its_digest() -> None:
    assert replace(DESIGN, seeds=4).digest != DESIGN.digest


def test_the_registered_design_is_unchanged() -> None:
    page = (Path(__file__).parents[3] / "results" / "study" / "preregistration.md").read_text(encoding="utf-8")
    assert f"Design {STUDY.digest}, " in page
