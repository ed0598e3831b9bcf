"""Figures of probability changes, update sizes and perplexities: the numbers behind them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from reproductions.trial_and_error.figures.changes import change_concentration, change_distribution
from reproductions.trial_and_error.figures.updates import perplexity, step_weights, update_sizes, weighted_update_sizes
from tests.evals.analysis.rendered import check_renders
from tests.evals.analysis.token_tables import random_table


def test_perplexities_are_those_of_the_tables() -> None:
    tables = {"base": random_table(seed=1), "a long name " * 6: random_table(seed=2)}
    plot = perplexity(list(tables), tables, "b")
    for name, table in tables.items():
        chosen = table[table["verdict"] == "correct"]
        expected = [np.exp(-rows["logp"].mean()) for _, rows in chosen.groupby(["problem_id", "sample"])]
        shown = plot.numbers.query("model == @name and outcome == 'correct'")["perplexity"]
        assert shown.tolist() == pytest.approx(sorted(expected))
        unscored = table.query("verdict == 'unscored'").drop_duplicates(["problem_id", "sample"])
        assert not len(unscored) or f"{name}: {len(unscored)}" in plot.caption
    check_renders(plot)
    check_renders(update_sizes(list(tables), tables, "b"))


def test_changes_between_runs() -> None:
    before = random_table(seed=3)
    pairs = {"GRPO": (before, random_table(seed=3, shift=0.2)), "ERPO": (before, before)}  # ERPO did not change
    names = ["base", "GRPO", "ERPO"]
    moved = change_distribution(names, pairs, "b")
    scored = before[before["verdict"] != "unscored"]
    for name, (_, after) in pairs.items():
        assert moved.numbers.query("model == @name")["count"].sum() == len(scored)
        stable = (np.exp(after["logp"]) - np.exp(before["logp"])).abs() < 0.06
        assert f"{name}: {100 * stable.mean():.1f} %" in moved.caption
    for plot in (moved, change_concentration(names, pairs, "b"), weighted_update_sizes(names, pairs, "b")):
        check_renders(plot)


def test_step_weights_by_hand() -> None:
    """Two responses to p: correct (advantage 1 / sqrt 2) and wrong (-1 / sqrt 2); one to q: no advantage."""
    rows = [("p", 0, "correct"), ("p", 1, "wrong"), ("q", 0, "correct"), ("q", 1, "unscored")]
    before = pd.DataFrame(rows, columns=["problem_id", "sample", "verdict"]).assign(position=0, token_id=1, logp=-1.0)
    a = 0.5**0.5

    def weights(ratio: float) -> list[float]:
        return step_weights(before, before.assign(logp=-1.0 + np.log(ratio))).fillna(9).tolist()

    # ratio 1.1 is within 0.8 to 1.28: r A; 1.5 is clipped above for A > 0 alone; 0.5 below for A < 0 alone
    assert weights(1.1) == pytest.approx([1.1 * a, -1.1 * a, 0, 9])
    assert weights(1.5) == pytest.approx([0, -1.5 * a, 0, 9])
    assert weights(0.5) == pytest.approx([0.5 * a, 0, 0, 9])
