"""The committed results of the study on real weights: from the archive alone, and counted by hand."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from evals.plots.plot import NUMBERS
from harness.record.archive import read_archive
from rlvr.cli import main
from studies.real import outcomes
from studies.real.design import GREEDY, SAMPLED, STUDY
from studies.real.outcomes import CURVE_CLAIMS, CurveClaim
from studies.real.page import ARCHIVE, BEGIN, END, page, pages_of, picture, section, with_section

FOLDER = Path("results") / "real"
COIN = "egsw/grpo+random_reward"


@pytest.fixture(scope="module")
def runs_by_arm() -> outcomes.Arms:
    return outcomes.arms(read_archive(FOLDER / ARCHIVE))


def test_page_and_picture_are_those_of_the_archive(runs_by_arm: outcomes.Arms) -> None:
    compared = outcomes.differences(STUDY, runs_by_arm)
    plot = picture(STUDY, runs_by_arm, compared)
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == page(STUDY, runs_by_arm, compared, plot)
    assert (FOLDER / f"{plot.name}.csv").is_file() == (len(plot.numbers) > 0)
    if not len(plot.numbers):
        return
    numbers = FOLDER / f"{plot.name}.csv"
    # other machines differ in the last bits of a float
    pd.testing.assert_frame_equal(pd.read_csv(numbers), plot.numbers, check_dtype=False, rtol=1e-9)
    for name in (f"{plot.name}.png", f"{plot.name}-dark.png"):
        with Image.open(FOLDER / name) as drawn:
            assert drawn.info[NUMBERS] == hashlib.sha256(numbers.read_bytes()).hexdigest(), name


@pytest.mark.parametrize("paper", sorted({entry.paper for entry in STUDY.entries}))
def test_the_pages_of_each_paper_have_its_arms(paper: str, runs_by_arm: outcomes.Arms) -> None:
    for path in pages_of(paper):
        text, of_study = path.read_text(encoding="utf-8"), section(STUDY, runs_by_arm, paper, path)
        assert text.count(BEGIN) == 1 and text == with_section(text, of_study), "type python -m studies.real write"
        assert "**Small scale, real weights, made-up task: " in of_study


def test_the_study_does_not_share_a_table_with_a_paper() -> None:
    for paper in {entry.paper for entry in STUDY.entries}:
        _, tables = pages_of(paper)
        before, _, of_study = tables.read_text(encoding="utf-8").partition(BEGIN)
        assert "real weights" not in before and of_study.endswith(f"{END}\n") and "published" not in of_study


def test_the_claim_about_pass_at_8_has_a_row_per_method(runs_by_arm: outcomes.Arms) -> None:
    """Each row repeats a difference, and its answer is read from the printed interval."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    _, _, claim = text.partition("The last claim is that pass@8 is not lower than GRPO's.")
    rows = re.findall(r"^\| ([^|]+) \| (-?\S+ ~?\[(\S+), \S+\]) \| (\d) \| (yes|no|–) \|$", claim, re.M)
    methods = [entry.key for entry in STUDY.entries if entry.than and "+" not in entry.arm and entry.key in runs_by_arm]
    assert len(rows) == len(methods)
    for method, difference, low, seeds, answer in rows:
        assert f"| {method} | GRPO | {seeds} | pass@8 | {difference} |" in text
        assert answer == ("–" if int(seeds) < 3 else "yes" if float(low) > -5 else "no")


def test_the_page_of_the_sums_has_the_control_of_this_study(runs_by_arm: outcomes.Arms) -> None:
    of_seed_0 = {key: next(run for run in runs_by_arm[key] if run.seed == 0) for key in (outcomes.BASE, COIN)}
    base, coin = (100 * (run.verdicts(GREEDY)["verdict"] == "correct").mean() for run in of_seed_0.values())
    text = " ".join(Path("results/sums.md").read_text(encoding="utf-8").split())
    assert f"Seed 0 of that control fell from {base:.1f} to {coin:.1f} % (greedy, 500 problems)" in text


def test_the_page_names_each_run_with_another_copy_of_the_base_model(runs_by_arm: outcomes.Arms) -> None:
    (base,) = runs_by_arm[outcomes.BASE]
    trained = [run for key, runs in runs_by_arm.items() if key != outcomes.BASE for run in runs]
    differing = sum(run.record["base_model"]["sha256"] != base.record["base_model"]["sha256"] for run in trained)
    _, _, named = (FOLDER / "README.md").read_text(encoding="utf-8").partition("another fingerprint")
    assert named.count("\n- ") == differing


def test_a_page_without_a_place_for_the_section_is_refused() -> None:
    with pytest.raises(ValueError, match="the page lacks the lines"):
        with_section("# A paper\n", "## On real weights")


def test_the_archive_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(FOLDER)]) == 0


def test_every_run_has_the_registered_recipe_and_all_problems(runs_by_arm: outcomes.Arms) -> None:
    keys = {entry.key for entry in STUDY.entries}
    for key, runs in runs_by_arm.items():
        for run in runs:
            assert key in keys or key == outcomes.BASE
            sizes = {
                name: (rows["problem_id"].nunique(), len(rows))
                for name in (GREEDY, SAMPLED)
                if (rows := run.verdicts(name)) is not None
            }
            assert sizes == {GREEDY: (500, 500), SAMPLED: (250, 2000)}
            if run.trained:
                settings = {name: value["value"] for name, value in run.settings.items()}
                assert settings["learning_rate"] == STUDY.learning_rate and settings["max_steps"] == STUDY.rollouts
                assert max(run.curve) == STUDY.rollouts


def test_scores_counted_by_hand(runs_by_arm: outcomes.Arms) -> None:
    """pass@1, avg@8 and pass@8 from the verdicts, with loops. Problems with an unscored sample are left out."""
    for runs in runs_by_arm.values():
        per_seed = []
        for run in runs:
            greedy = run.verdicts(GREEDY)
            right = [verdict == "correct" for verdict in greedy["verdict"] if verdict != "unscored"]
            by_problem: dict[str, list[str]] = {}
            for problem, verdict in zip(*(run.verdicts(SAMPLED)[c] for c in ("problem_id", "verdict")), strict=True):
                by_problem.setdefault(problem, []).append(verdict)
            whole = [verdicts for verdicts in by_problem.values() if "unscored" not in verdicts]
            solved = [
                any(v == "correct" for v in verdicts)
                for verdicts in by_problem.values()
                if "correct" in verdicts or "unscored" not in verdicts
            ]
            shares = [sum(v == "correct" for v in verdicts) / 8 for verdicts in whole]
            per_seed.append((sum(right) / len(right), sum(shares) / len(shares), sum(solved) / len(solved)))
        by_hand = [sum(values) / len(values) for values in zip(*per_seed, strict=True)]
        measured = [score.value for score in outcomes.scores(runs)]
        # an unscored sample moves a mean by less than one problem of 250
        assert measured == pytest.approx(by_hand, abs=0.004)


def test_a_window_of_a_curve_is_the_mean_of_its_rollouts(runs_by_arm: outcomes.Arms) -> None:
    run = runs_by_arm["egsw/grpo"][0]
    rewards = dict(run.metrics("train/reward"))
    # the last quarter of 20 rollouts is 16 to 20, the second is 6 to 10
    last, second = (sum(rewards[step] for step in steps) / 5 for steps in (range(16, 21), range(6, 11)))
    assert outcomes.window_mean(run, "train/reward", (0.75, 1.0)) == pytest.approx(last)
    late = next(claim for claim in CURVE_CLAIMS if claim.less)
    assert outcomes.curve_value(run, late) == pytest.approx(last - second)


def test_a_window_without_a_rollout_is_refused(runs_by_arm: outcomes.Arms) -> None:
    claim = CurveClaim("", "train/reward", (0.991, 0.999), "higher", ())
    with pytest.raises(ValueError, match="has no value in the rollouts"):
        outcomes.curve_value(runs_by_arm["egsw/grpo"][0], claim)


def test_arms_without_a_run_are_named(runs_by_arm: outcomes.Arms) -> None:
    made = {(key, run.seed) for key, runs in runs_by_arm.items() for run in runs} - {(outcomes.BASE, 0)}
    assert len(outcomes.missing(STUDY, runs_by_arm)) == len(STUDY.entries) * STUDY.seeds - len(made)


def test_the_front_page_of_results_counts_the_runs(runs_by_arm: outcomes.Arms) -> None:
    ended = sum(len(runs) for key, runs in runs_by_arm.items() if key != outcomes.BASE)
    planned = len(STUDY.entries) * STUDY.seeds
    text = Path("results/README.md").read_text(encoding="utf-8")
    assert f"{ended} of {planned} registered runs have ended" in text
