from __future__ import annotations

from dataclasses import replace

import pytest

from harness.spec.job import Job
from studies.tiny.design import Design, Knob, StudyArm
from studies.tiny.jobs import knob_jobs, rate_jobs, study_jobs
from studies.tiny.tuning import Ending, chosen, search, trials

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


def by_rate(accuracy: dict[float, Ending], of_knob: Ending = 0.0) -> object:
    def scored(job: Job) -> Ending:
        alpha = job.command_line.get("egsw.alpha")
        return accuracy[job.command_line["learning_rate"]] if alpha is None else of_knob

    return scored


def test_trials_run_on_the_validation_set_with_the_declared_length_and_seed() -> None:
    jobs = rate_jobs(DESIGN, 1)
    assert len(jobs) == 2 * 2 * 2  # methods without controls, families, rates
    for job in jobs:
        assert job.seed == 1000
        assert list(job.protocol.benchmarks.value) == [
            "tiny_validation" if job.scale == "tiny" else "search_validation"
        ]
        assert job.settings()["max_steps"].value == 5
        assert job.protocol.n.value == 8


def test_steps_count_the_updates_of_a_rollout() -> None:
    (job, *_) = rate_jobs(DESIGN, 2)
    assert job.experiment is not None
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
def test_the_best_trial_that_did_not_diverge_is_chosen(accuracy: dict[float, Ending], rate: float) -> None:
    settings = chosen(DESIGN, trials(DESIGN, by_rate(accuracy), 1), 1)
    assert settings[EGSW] == {"learning_rate": rate}
    assert len(settings) == 4


def test_a_better_knob_replaces_the_declared_one_at_the_chosen_rate() -> None:
    tried = trials(DESIGN, by_rate({1e-4: 0.5, 2e-4: 0.6}, of_knob=0.7), 1)
    assert chosen(DESIGN, tried, 1)[EGSW] == {"learning_rate": 2e-4, "egsw.alpha": 0.15}


def test_knobs_are_tried_only_after_all_rates() -> None:
    unfinished = trials(DESIGN, by_rate({1e-4: 0.5, 2e-4: "unfinished"}), 1)
    assert all(set(t.values) == {"learning_rate"} for t in unfinished)
    state = search(DESIGN, by_rate({1e-4: 0.5, 2e-4: "unfinished"}))
    assert state.settings == {}
    assert len(state.jobs) == len(rate_jobs(DESIGN, 1)) + len(rate_jobs(DESIGN, 2))


def test_no_settings_without_a_finished_trial() -> None:
    with pytest.raises(ValueError, match="expected a finished trial"):
        chosen(DESIGN, trials(DESIGN, by_rate({1e-4: "diverged", 2e-4: "diverged"}), 1), 1)


def test_runs_come_seed_by_seed_and_controls_take_their_methods_settings() -> None:
    settings = search(DESIGN, by_rate({1e-4: 0.6, 2e-4: 0.5}, of_knob=0.7)).settings
    jobs = study_jobs(DESIGN, settings)
    first = [job for job in jobs if job.arm != "gspo"]
    assert [job.seed for job in first] == [0] * 6 + [1] * 6 + [2] * 6
    assert {job.arm for job in jobs[18:]} == {"gspo"}  # tier 2 comes last
    of_placebo = next(job for job in jobs if job.arm == "egsw+shuffled_signal")
    assert of_placebo.overrides == {"learning_rate": 1e-4, "egsw.alpha": 0.15, "max_steps": 10}
    assert len({(job.digest, job.seed) for job in jobs}) == len(jobs) == 2 * 3 * 4
    assert len(study_jobs(DESIGN, settings, tiers=[2])) == 2 * 3


def test_a_change_of_the_design_changes_its_digest() -> None:
    assert replace(DESIGN, seeds=4).digest != DESIGN.digest
    assert len({job.digest for job in knob_jobs(DESIGN, 1, {**search_rates()})}) == 2 * 2


def search_rates() -> dict[tuple[str, str, str], dict[str, float]]:
    return {
        (scale, "egsw", method): {"learning_rate": 1e-4} for scale in DESIGN.families for method in ("grpo", "egsw")
    }
