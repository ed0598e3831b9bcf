"""The study's words, tables and pages on made-up runs with planted effects."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evals.stats.verdict_table import VerdictTable
from harness.tables.measured import Measured
from studies.tiny.design import STUDY
from studies.tiny.figures import figures
from studies.tiny.outcomes import (
    claim_outcome,
    claims,
    controls,
    end_of_curve,
    gains,
    placebo_outcome,
    placebos,
    sampled_tokens,
    score,
)
from studies.tiny.scores import Key
from tests.evals.stats.runs import random_verdicts

TIERS = {
    "tiny": ("tiny_short", "tiny_long", "tiny_rare"),
    "tiny_search": ("search_short", "search_long", "search_rare"),
}
PROBLEMS, SAMPLES, SEEDS = 20, 16, 5
DESIGN = replace(
    STUDY, seeds=SEEDS, arms=tuple(arm for arm in STUDY.arms if arm.tier == 1 and arm.paper in ("egsw", "baselines"))
)


def made_up(
    scale: str, paper: str, arm: str, accuracy: float, *, seeds: int = SEEDS, diverged: bool = False
) -> Measured:
    """Runs whose samples are correct with the given chance, the same for all problems and seeds."""
    rng = np.random.default_rng([len(scale), len(paper), len(arm), round(1000 * accuracy)])
    trained = arm != "base"
    count = seeds if trained else 1
    shape = (count, PROBLEMS, SAMPLES)
    tables = {name: VerdictTable.of_rows(random_verdicts(rng, name, shape, accuracy)) for name in TIERS[scale]}
    steps = range(1, 31)
    curve = {
        "train/entropy": [(step, 1.0) for step in steps],
        "train/response_length": [(step, 10.0) for step in steps],
        "train/accuracy": [(step, step / 100) for step in steps],
    }
    more: dict[str, Any] = {"diverged": {9: {"step": 3, "quantity": "loss", "value": "nan"}}} if diverged else {}
    model = {"egsw": "math-7b", "baselines": "7b"}[paper]
    return Measured(
        *(model, arm, arm, scale, "trl", "", "0", tuple(range(count)), (), (), {}),
        n=dict.fromkeys(tables, SAMPLES),
        verdicts=tables,
        scores={},
        trained=trained,
        curves=dict.fromkeys(range(count), curve),
        **more,
    )


def arms(accuracy: dict[str, float]) -> dict[Key, Measured]:
    """Every arm of the small design on one family. 0.5 where nothing is said."""
    keys = [("egsw", "base"), ("baselines", "base"), *((arm.paper, arm.arm) for arm in DESIGN.arms)]
    return {
        ("tiny", paper, arm): made_up("tiny", paper, arm, accuracy.get(f"{paper} {arm}", 0.5)) for paper, arm in keys
    }


def test_scores_are_means_over_the_benchmarks_with_the_tokens_that_training_sampled() -> None:
    key = ("tiny", "egsw", "egsw")
    arm = made_up(*key, 1.0)
    assert score(arm, "avg").mean == score(arm, "pass", 16).mean == score(arm, "maj", 16).mean == 1
    entropy, sampled = end_of_curve(arm, "train/entropy"), sampled_tokens(arm, key)
    assert entropy is not None and entropy.mean == pytest.approx(1.0)
    # 30 steps of 16 x 8 responses of 10 tokens
    assert sampled is not None and sampled.mean == pytest.approx(30 * 128 * 10)
    assert sampled_tokens(made_up("tiny", "egsw", "base", 0.5), ("tiny", "egsw", "base")) is None


def test_a_planted_gain_that_the_placebo_lacks_shows_that_the_signal_matters() -> None:
    measured = arms({"egsw egsw": 0.9})
    verdicts = {(d.a, d.line.metric): d.line.plain_verdict for d in gains(DESIGN, measured)}
    assert verdicts["egsw", "avg"] == "higher"
    assert placebo_outcome(DESIGN, placebos(DESIGN, measured)) == "the signal matters"


def test_a_gain_that_the_placebo_has_too_is_no_sign_of_the_signal() -> None:
    measured = arms({"egsw egsw": 0.9, "egsw egsw+shuffled_signal": 0.95})
    assert placebo_outcome(DESIGN, placebos(DESIGN, measured)) == "no sign that it does"  # lower than one placebo


def test_a_diverged_seed_keeps_a_placebo_comparison_open() -> None:
    measured = arms({"egsw egsw": 0.9})
    measured["tiny", "egsw", "egsw"] = made_up("tiny", "egsw", "egsw", 0.9, diverged=True)
    assert placebo_outcome(DESIGN, placebos(DESIGN, measured)) == "cannot tell"


def test_controls_are_compared_with_grpo_and_with_the_base_model() -> None:
    measured = arms({"baselines grpo": 0.9})
    words = {(d.a, d.b): d.line.plain_verdict for d in controls(DESIGN, measured)}
    assert words["grpo", "grpo+random_reward"] == "higher"
    assert words["grpo+random_reward", "base"] != "higher"
    assert len(words) == 6


def test_the_family_of_a_correction_is_the_design_and_not_what_was_measured() -> None:
    measured = arms({"baselines grpo": 0.9})
    p = {d.b: d.line.p_holm for d in controls(DESIGN, measured)}["grpo+random_reward"]
    del measured["tiny", "baselines", "grpo+format_only"]
    fewer = {d.b: d.line.p_holm for d in controls(DESIGN, measured)}["grpo+random_reward"]
    assert p is not None and fewer is not None and fewer >= p  # Holm: a comparison that is missing counts as p = 1


@pytest.mark.parametrize(("egsw", "word"), [(0.9, "appears"), (0.1, "reversed"), (0.52, "cannot tell")])
def test_a_claim_gets_the_registered_word(egsw: float, word: str) -> None:
    checked = claims(DESIGN, arms({"egsw egsw": egsw}), "tiny")["egsw"]
    higher = next(c for c in checked if (c.claim.arm, c.claim.than, c.claim.metric) == ("egsw", "grpo", "avg"))
    assert claim_outcome(higher) == word


def test_every_figure_is_rendered(tmp_path: Path) -> None:
    from evals.plots.plot import save

    measured = arms({"egsw egsw": 0.9})
    plots = figures(DESIGN, measured)
    assert {plot.name for plot in plots} == {"tiny_accuracy", "tiny_entropy", "placebos"}
    for plot in plots:
        save(plot, tmp_path)
