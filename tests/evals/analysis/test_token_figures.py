"""Figures of tokens: the numbers behind them, words of their captions, and plots with few, many and missing runs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evals.analysis.figures import plot_token_changes, plot_tokens
from evals.analysis.subjects import Subject
from evals.analysis.tokens.updates import step_weights
from evals.plots.plot import Plot
from tests.evals.analysis.token_tables import random_table

LONG = "GRPO + entropy advantage (alpha=0.4, kappa=2), three seeds, Qwen2.5-Math-7B"


def subjects(*names: str) -> list[Subject]:
    return [Subject(name, {}) for name in names]


def rendered(plots: list[Plot]) -> dict[str, Plot]:
    """Render each on a figure without a file, as `save` does; by name without the benchmark."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    for plot in plots:
        figure = Figure(figsize=plot.size, layout="constrained")
        FigureCanvasAgg(figure)
        plot.render(figure)
        assert all(axis.get_xlabel() for axis in figure.axes) and plot.source and "aime24" in plot.caption
    by_name = {plot.name.removesuffix("_aime24"): plot for plot in plots}
    assert len(by_name) == len(plots)
    return by_name


def test_numbers_are_those_of_the_tables() -> None:
    tables = {"base": random_table(seed=1), LONG: random_table(seed=2)}
    plots = rendered(plot_tokens(subjects("base", "missing", LONG), tables, benchmark="aime24", minimum=2))
    assert list(plots) == [
        "entropy_distribution", "entropy_by_position", "entropy_by_outcome", "branching_factor", "perplexity",
        "update_size", "fork_words_0", "fork_words_2",
    ]  # fmt: skip
    for name, table in tables.items():
        rows = plots["entropy_distribution"].numbers.query("model == @name")
        assert rows["share of tokens (%)"].sum() == pytest.approx(100) and rows["count"].sum() == len(table)
        rbf = plots["branching_factor"].numbers.set_index("model").loc[name]
        means = [rows["nucleus"].mean() for _, rows in table.groupby("problem_id")]
        assert rbf["mean"] == pytest.approx(np.mean(means)) and rbf["pooled"] == pytest.approx(table["nucleus"].mean())
        right = plots["entropy_by_outcome"].numbers.query("model == @name and outcome == 'correct'")
        chosen = table[table["verdict"] == "correct"]
        assert right["pooled"].iloc[0] == pytest.approx(chosen["entropy"].mean())
        ppl = plots["perplexity"].numbers.query("model == @name and outcome == 'correct'")["perplexity"]
        expected = [np.exp(-rows["logp"].mean()) for _, rows in chosen.groupby(["problem_id", "sample"])]
        assert ppl.tolist() == pytest.approx(sorted(expected))
    words = plots["fork_words_2"].numbers.set_index("word")["mean entropy (nats)"]
    chosen = tables[LONG][tables[LONG]["token"] == " w3"]["entropy"]
    assert words["w3"] == pytest.approx(chosen.mean())
    unscored = tables[LONG].query("verdict == 'unscored'").drop_duplicates(["problem_id", "sample"])
    assert (
        len(unscored)
        and f"Unscored responses are in neither outcome ({LONG}: {len(unscored)}" in plots["perplexity"].caption
    )


def test_changes_between_runs() -> None:
    before = random_table(seed=3)
    pairs = {"GRPO": (before, random_table(seed=3, shift=0.2)), "ERPO": (before, random_table(seed=3, shift=1.5))}
    plots = rendered(plot_token_changes(subjects("base", "GRPO", "ERPO"), pairs, benchmark="aime24"))
    assert list(plots) == ["forks_kept", "probability_change", "change_concentration", "weighted_update_size"]
    kept = plots["forks_kept"].numbers.set_index("model")["kept (%)"]
    assert 100 > kept["GRPO"] > kept["ERPO"] > 20  # the more it moves, the fewer forks it keeps
    scored = before[before["verdict"] != "unscored"]
    for name, (_, after) in pairs.items():
        assert plots["probability_change"].numbers.query("model == @name")["count"].sum() == len(scored)
        stable = (np.exp(after["logp"]) - np.exp(before["logp"])).abs() < 0.06
        assert f"{name}: {100 * stable.mean():.1f} %" in plots["probability_change"].caption
    assert "both reading the base model's responses" in plots["forks_kept"].caption


@pytest.mark.parametrize("names", [("base",), ("base", "GRPO", LONG, "EGSW")])
def test_one_and_four_runs(names: tuple[str, ...]) -> None:
    tables = {name: random_table(seed=i) for i, name in enumerate(names)}
    rendered(plot_tokens(subjects(*names), tables, benchmark="aime24"))


def test_missing_values_are_plotted_as_missing() -> None:
    tables = {
        "one problem": random_table(problems=1),
        "nothing right": random_table(seed=1).assign(verdict="wrong"),
        "unscored": random_table(seed=2).assign(verdict="unscored"),
    }
    plots = rendered(plot_tokens(subjects(*tables), tables, benchmark="aime24"))
    by_outcome = plots["entropy_by_outcome"].numbers.set_index(["model", "outcome"])
    assert np.isnan(by_outcome.loc[("nothing right", "correct"), "mean"])
    assert np.isnan(by_outcome.loc[("one problem", "incorrect"), "low"])
    only_unscored = {"unscored": tables["unscored"]}
    assert "entropy_by_outcome" not in rendered(plot_tokens(subjects("unscored"), only_unscored, benchmark="aime24"))
    same = random_table(seed=4)  # a model that did not change
    rendered(plot_token_changes(subjects("base", "GRPO"), {"GRPO": (same, same)}, benchmark="aime24"))


def test_bad_input_is_named() -> None:
    table = random_table()
    wrong: list[tuple[dict[str, pd.DataFrame], str]] = [
        ({}, "expected at least one, got none"),
        ({"other": table}, "got one of 'other'"),
        ({"base": table.head(0)}, "base: expected a token table with rows"),
    ]
    for tables, message in wrong:
        with pytest.raises(ValueError, match=message):
            plot_tokens(subjects("base"), tables, benchmark="aime24")
    with pytest.raises(ValueError, match="no word of base occurs 999 times"):
        plot_tokens(subjects("base"), {"base": table}, benchmark="aime24", minimum=999)


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
