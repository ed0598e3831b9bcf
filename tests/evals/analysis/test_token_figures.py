"""Figures of entropies: the numbers behind them, and plots with few, many and missing runs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evals.analysis.entropies import plot_entropies
from evals.plots.plot import Plot
from tests.evals.analysis.rendered import check_renders
from tests.evals.analysis.token_tables import random_table

LONG = "GRPO + entropy advantage (alpha=0.4, kappa=2), three seeds, Qwen2.5-Math-7B"


def plotted(names: list[str], tables: dict[str, pd.DataFrame]) -> dict[str, Plot]:
    plots = plot_entropies(names, tables)
    for plot in plots:
        check_renders(plot)
    return {plot.name: plot for plot in plots}


def test_numbers_are_those_of_the_tables() -> None:
    tables = {"base": random_table(seed=1), LONG: random_table(seed=2)}
    plots = plotted(["base", "missing", LONG], tables)
    assert list(plots) == ["entropy_distribution", "entropy_by_position", "entropy_by_outcome", "branching_factor"]
    for name, table in tables.items():
        rows = plots["entropy_distribution"].numbers.query("model == @name")
        assert rows["share"].sum() == pytest.approx(1) and rows["count"].sum() == len(table)
        rbf = plots["branching_factor"].numbers.set_index(["model", "outcome"]).loc[(name, "all")]
        means = [rows["nucleus"].mean() for _, rows in table.groupby("problem_id")]
        assert rbf["mean"] == pytest.approx(np.mean(means)) and rbf["pooled"] == pytest.approx(table["nucleus"].mean())
        right = plots["entropy_by_outcome"].numbers.query("model == @name and outcome == 'correct'")
        chosen = table[table["verdict"] == "correct"]
        assert right["pooled"].iloc[0] == pytest.approx(chosen["entropy"].mean())


def test_missing_values_are_plotted_as_missing() -> None:
    tables = {
        "one problem": random_table(problems=1),
        "nothing right": random_table(seed=1).assign(verdict="wrong"),
        "unscored": random_table(seed=2).assign(verdict="unscored"),
    }
    by_outcome = plotted(list(tables), tables)["entropy_by_outcome"].numbers.set_index(["model", "outcome"])
    assert np.isnan(by_outcome.loc[("nothing right", "correct"), "mean"])
    assert np.isnan(by_outcome.loc[("one problem", "incorrect"), "low"])
    alone = plotted(["unscored"], {"unscored": tables["unscored"]})["entropy_by_outcome"].numbers.set_index("outcome")
    assert alone.loc["all", "count"] == len(tables["unscored"]) and alone.loc["correct", "count"] == 0
