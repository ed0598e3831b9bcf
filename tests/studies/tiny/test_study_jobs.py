"""The study's jobs, and the settings that its search chose."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from studies.tiny.design import LATER, STUDY, Design, Knob, StudyArm
from studies.tiny.jobs import base_jobs, chosen, read_settings, study_jobs

FOLDER = Path(__file__).parents[3] / "results" / "study"
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


def trials(*tried: tuple[float, float | None, float | str]) -> pd.DataFrame:
    """(learning rate, alpha, accuracy) of one method, in the order in which they were tried."""
    columns = ["learning_rate", "value", "accuracy"]
    rows = pd.DataFrame(tried, columns=columns).assign(family="tiny", paper="egsw", method="egsw")
    return rows.assign(knob=["egsw.alpha" if alpha is not None else None for _, alpha, _ in tried])


@pytest.mark.parametrize(
    ("tried", "choice"),
    [
        (trials((1e-4, None, 0.5), (2e-4, None, 0.6)), {"learning_rate": 2e-4}),
        (trials((1e-4, None, 0.5), (2e-4, None, 0.5)), {"learning_rate": 1e-4}),  # equal: the first
        (trials((1e-4, None, "0.1"), (2e-4, None, "diverged")), {"learning_rate": 1e-4}),
        (trials((1e-4, None, 0.5), (1e-4, 0.15, 0.5), (1e-4, 0.5, 0.7)), {"learning_rate": 1e-4, "egsw.alpha": 0.5}),
    ],
)
def test_the_best_trial_that_did_not_diverge_is_chosen(tried: pd.DataFrame, choice: dict[str, float]) -> None:
    assert chosen(tried) == {("tiny", "egsw", "egsw"): choice}


def test_a_method_whose_trials_all_diverged_has_no_settings() -> None:
    with pytest.raises(ValueError, match="tiny egsw egsw: expected a finished trial"):
        chosen(trials((1e-4, None, "diverged")))


def test_runs_go_tier_by_tier_and_seed_by_seed_with_the_settings_of_their_method() -> None:
    methods = [(scale, *name) for scale in DESIGN.families for name in (("egsw", "grpo"), ("egsw", "egsw"))]
    gspo = [(scale, "baselines", "gspo") for scale in DESIGN.families]
    settings = {key: {"learning_rate": 1e-4} for key in [*methods, *gspo]}
    settings["tiny", "egsw", "egsw"] = {"learning_rate": 1e-4, "egsw.alpha": 0.15}
    jobs = study_jobs(DESIGN, settings)
    assert [job.seed for job in jobs[:18]] == [0] * 6 + [1] * 6 + [2] * 6
    assert {job.arm for job in jobs[18:]} == {"gspo"}  # tier 2 comes last
    placebo = next(job for job in jobs if job.arm == "egsw+shuffled_signal")
    assert placebo.overrides == {"learning_rate": 1e-4, "egsw.alpha": 0.15, "max_steps": 10}
    assert jobs[18].settings()["max_steps"].value == 2 * 10  # two updates of a rollout
    assert len({(job.digest, job.seed) for job in jobs}) == len(jobs) == 2 * 3 * 4


def test_the_committed_search_chose_the_settings_of_the_committed_runs() -> None:
    settings = read_settings(STUDY)
    marked = pd.read_csv(FOLDER / "trials.csv").query("chosen")
    for trial in marked.itertuples():
        knob = {} if pd.isna(trial.value) else {trial.knob: trial.value}
        assert settings[trial.family, trial.paper, trial.method] == {"learning_rate": trial.learning_rate, **knob}
    assert len(marked) == len(settings)
    jobs = [*base_jobs(STUDY), *study_jobs(STUDY, settings)]
    digests = {(job.scale, job.paper, job.arm, job.seed): job.digest for job in jobs}
    runs = pd.read_csv(FOLDER / "runs.csv")
    assert digests == dict(
        zip(zip(runs.family, runs.paper, runs.arm, runs.seed, strict=True), runs.digest, strict=True)
    )


@pytest.mark.parametrize(("design", "folder"), [(STUDY, FOLDER), (LATER, FOLDER / "later")])
def test_the_registered_design_is_unchanged(design: Design, folder: Path) -> None:
    assert f"Design {design.digest}, " in (folder / "preregistration.md").read_text(encoding="utf-8")


def test_later_arms_take_what_the_search_chose_for_grpo() -> None:
    settings = read_settings(LATER)
    assert {key[2] for key in settings} == {arm.method for arm in LATER.arms}
    for (scale, paper, _), values in settings.items():
        assert values == settings[scale, paper, "grpo"]
    # every arm samples as much as GRPO: 16 prompts x 8 responses, or 64 x 2
    for job in study_jobs(LATER, settings):
        values = job.settings()
        assert values["prompts_per_rollout"].value * values["group_size"].value == 128
