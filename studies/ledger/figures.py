"""The figures of docs/ledger, from the ledger's tables alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from evals.plots.plot import PALETTE, WIDTH, Plot, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Tables = Mapping[str, pd.DataFrame]
GREY, BLUE, ORANGE = PALETTE[:3]
NO_SEEDS = ("training reward", "training accuracy", "MATH-500, answer in a tag")


def figures(tables: Tables) -> list[Plot]:
    """Every figure."""
    return [make(tables) for make in (
        _format, _minerva, _largest, _seeds, _pairs, _readme, _peaks, _baselines, _collapse, _variance, _s_grpo,
        _base_rows,
    )]  # fmt: skip


def _plot(
    name: str,
    title: str,
    numbers: pd.DataFrame,
    draw: Callable[[Axes], None],
    height: float = 2.6,
    width: float = WIDTH,
) -> Plot:
    def render(figure: Figure) -> None:
        axis = figure.subplots()
        tidy(axis)
        draw(axis)

    return Plot(name, title, "", "", numbers, render, (width, height))


def _rows_of(table: pd.DataFrame, repository: str) -> pd.DataFrame:
    return table[table["repository"].str.endswith(repository)]


def _dumbbells(axis: Axes, names: list[str], left: pd.Series, right: pd.Series, words: tuple[str, str]) -> None:
    """A line a row from one score to another."""
    rows = range(len(names))[::-1]
    axis.hlines(rows, left, right, color=GREY, linewidth=1)
    axis.plot(left, rows, "o", color=GREY, label=words[0])
    axis.plot(right, rows, "s", color=ORANGE, label=words[1])
    axis.set_yticks(rows, names)
    axis.set_xlabel("percent correct")
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)


def _format(tables: Tables) -> Plot:
    """A base model and its trained model, by the authors' labels and by ours."""
    rows = _rows_of(tables["grades"], "maxent-grpo").set_index("recipe")
    models = {"base model": "Qwen2.5-1.5B-Instruct", "trained": "Qwen2.5-1.5B-Open-R1-GRPO-math-2k, 16:18"}
    numbers = rows.loc[list(models.values())].reset_index()

    def draw(axis: Axes) -> None:
        for at, (column, words, color) in enumerate((("labels", "their verdicts", GREY), ("ours", "ours", ORANGE))):
            low, high = (abs(numbers[column] - numbers[f"{column}_{end}"]) for end in ("low", "high"))
            x = np.arange(2) + 0.3 * (at - 0.5)
            axis.bar(x, numbers[column], 0.28, yerr=(low, high), color=color, label=words, capsize=3)
        axis.set_xticks(range(2), list(models))
        axis.set_ylabel("percent of MATH-500")
        axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)

    return _plot("format", "The same responses by two graders", numbers, draw)


def _minerva(tables: Tables) -> Plot:
    rows = tables["grades"].query("benchmark == 'Minerva' and labels == labels")
    rows = rows[~rows["repository"].str.endswith("S-GRPO")].assign(gap=lambda r: r["ours"] - r["labels"])
    rows = rows.sort_values("gap", ascending=False)

    def draw(axis: Axes) -> None:
        _dumbbells(axis, list(rows["recipe"]), rows["labels"], rows["ours"], ("their verdicts", "ours"))

    return _plot("minerva", "Minerva by two graders", rows, draw)


def _largest(tables: Tables) -> Plot:
    """The checkpoints of the trainings with a printed score, their mean, and the largest of equal models."""
    claims = _rows_of(tables["claims"], "open-rs")[["repository", "recipe", "benchmark"]]
    points, series = (tables[name].merge(claims) for name in ("evaluations", "series"))

    def draw(axis: Axes) -> None:
        for row, mean, largest, color in zip(
            series.itertuples(), series["mean_of_checkpoints"], series["largest_of_equal"], (BLUE, ORANGE), strict=True
        ):
            curve = points[points["benchmark"] == row.benchmark]
            label = f"{row.benchmark}, {row.recipe}"
            axis.plot(
                curve["checkpoint"], curve["percent"], "o-", color=color, markersize=3, linewidth=0.8, label=label
            )
            axis.axhline(mean, color=color, linestyle=":", linewidth=1)
            axis.axhline(largest, color=color, linestyle="--", linewidth=1)
        axis.set_xlabel("step (dotted: mean; dashed: largest expected of equal models)")
        axis.set_ylabel("percent correct")
        axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)

    return _plot("largest", "Checkpoints of two trainings", points, draw, 3.0)


def _last(evaluations: pd.DataFrame) -> pd.DataFrame:
    keys = ["repository", "recipe", "benchmark", "seed"]
    return evaluations.loc[evaluations.groupby(keys, dropna=False)["checkpoint"].idxmax()]


def _seeds(tables: Tables) -> Plot:
    """The last scores of the seeds of equal recipes."""
    last = _last(tables["evaluations"])
    last = last[~last["benchmark"].isin(NO_SEEDS)]
    groups = {
        key: rows_of_recipe["percent"]
        for key, rows_of_recipe in last.groupby(["repository", "recipe", "benchmark"])
        if len(rows_of_recipe) >= 4
    }
    spreads = sorted(groups, key=lambda key: groups[key].std())
    numbers = pd.concat(last[(last[["repository", "recipe", "benchmark"]] == list(key)).all(axis=1)] for key in spreads)

    def draw(axis: Axes) -> None:
        for at, key in enumerate(spreads):
            axis.plot(groups[key], [at] * len(groups[key]), "o", color=BLUE, alpha=0.6, markersize=4)
        axis.set_yticks(range(len(spreads)), [f"{recipe}, {benchmark}" for _, recipe, benchmark in spreads], fontsize=7)
        axis.set_xlabel("percent correct, a point a seed")

    return _plot("seeds", "Equal recipes, other seeds", numbers, draw, 3.6, 6.4)


def _pairs(tables: Tables) -> Plot:
    rows = tables["series"].query("seed_pairs_called_different == seed_pairs_called_different and seed_pairs >= 3")
    rows = rows.assign(share=100 * rows["seed_pairs_called_different"] / rows["seed_pairs"]).sort_values("share")

    def draw(axis: Axes) -> None:
        axis.barh(range(len(rows)), rows["share"], color=BLUE)
        names = rows["recipe"] + ", " + rows["benchmark"] + " (" + rows["seed_pairs"].astype(str) + ")"
        axis.set_yticks(range(len(rows)), list(names), fontsize=7)
        axis.axvline(5, color=ORANGE, linestyle="--", linewidth=1)
        axis.set_xlabel("percent called different; dashed: 5")

    return _plot("pairs", "Pairs of equal recipes that a paired interval calls different", rows, draw, 3.8, 6.4)


def _readme(tables: Tables) -> Plot:
    rows = _rows_of(tables["claims"], "RLVR-Schedule").assign(printed=lambda r: r["printed"].astype(float))

    def draw(axis: Axes) -> None:
        names = list(rows["recipe"] + ", " + rows["benchmark"])
        _dumbbells(axis, names, rows["printed"], rows["file"], ("printed", "in its own files"))

    return _plot("readme", "Printed, and in the files beside it", rows, draw, 2.0)


def _peaks(tables: Tables) -> Plot:
    """How far the largest score is above the mean: seen, and of equal models."""
    rows = tables["series"].query("largest_of_equal == largest_of_equal and checkpoints >= 5")
    rows = rows.assign(
        seen=rows["largest"] - rows["mean_of_checkpoints"], equal=rows["largest_of_equal"] - rows["mean_of_checkpoints"]
    )[["repository", "recipe", "benchmark", "checkpoints", "seen", "equal"]]

    def draw(axis: Axes) -> None:
        axis.plot(rows["equal"], rows["seen"], "o", color=BLUE)
        top = float(rows[["equal", "seen"]].max().max()) + 1
        axis.plot([0, top], [0, top], "--", color=GREY, linewidth=1)
        axis.set_xlabel("largest less mean, of equal models (points)")
        axis.set_ylabel("largest less mean, seen (points)")

    return _plot("peaks", "What choosing the largest checkpoint gives", rows, draw, 3.0)


def _baselines(tables: Tables) -> Plot:
    """The logs whose last score is not the printed one."""
    claims = tables["claims"].query("where.str.contains('veRL') and verdict != 'stands'")
    curves = tables["evaluations"].merge(claims[["repository", "recipe", "benchmark", "printed"]])

    def draw(axis: Axes) -> None:
        for color, (recipe, curve) in zip(PALETTE, curves.groupby("recipe", sort=False), strict=False):
            axis.plot(curve["checkpoint"], curve["percent"], color=color, linewidth=1, label=recipe)
            axis.axhline(float(curve["printed"].iloc[0]), color=color, linestyle="--", linewidth=1)
        axis.set_xlabel("step (dashed: printed)")
        axis.set_ylabel("percent of GSM8K")
        axis.set_ylim(45, 75)
        axis.legend(frameon=False, fontsize=7, loc="lower right")

    return _plot("baselines", "Printed scores and the logs that are linked", curves, draw, 3.0)


def _collapse(tables: Tables) -> Plot:
    curves = _rows_of(tables["evaluations"], "reasoning-from-scratch")

    def draw(axis: Axes) -> None:
        for color, (recipe, curve) in zip(PALETTE[1:], curves.groupby("recipe", sort=False), strict=False):
            axis.plot(curve["checkpoint"], curve["percent"], "o-", color=color, markersize=3, linewidth=1, label=recipe)
        axis.set_xlabel("step")
        axis.set_ylabel("percent of MATH-500")
        axis.legend(frameon=False, fontsize=7)

    return _plot("collapse", "Four trainings of one model", curves, draw, 3.0)


def _variance(tables: Tables) -> Plot:
    """The spread of a problem's rate over a training, and what eight samples at its mean rate would give."""
    rows = tables["history"]

    def draw(axis: Axes) -> None:
        axis.plot(rows["mean"], rows["sd"], "o", color=BLUE, markersize=2, alpha=0.4, rasterized=True)
        rate = np.linspace(0, 1, 101)
        axis.plot(rate, np.sqrt(rate * (1 - rate) / 8), color=ORANGE, label="eight samples at the mean rate")
        axis.set_xlabel("mean rate of a problem over the training")
        axis.set_ylabel("standard deviation over time")
        axis.legend(frameon=False)

    return _plot("variance", "1,209 problems of one training", rows, draw, 3.0)


def _s_grpo(tables: Tables) -> Plot:
    """The mean of four benchmarks by checkpoint, by their verdicts and by ours."""
    rows = _rows_of(tables["evaluations"], "S-GRPO")
    whole = rows.groupby("checkpoint").filter(lambda group: len(group) == 4)
    means = whole.groupby("checkpoint")[["percent", "ours"]].mean().reset_index()

    def draw(axis: Axes) -> None:
        for column, words, color in (("percent", "their verdicts", GREY), ("ours", "ours", ORANGE)):
            axis.plot(means["checkpoint"], means[column], "o-", color=color, markersize=3, linewidth=1, label=words)
        axis.set_xlabel("checkpoint")
        axis.set_ylabel("percent, four benchmarks")
        axis.legend(frameon=False)

    return _plot("s_grpo", "27 checkpoints by two graders", means, draw)


def _base_rows(tables: Tables) -> Plot:
    """Printed scores of untrained models, and the mean of others' evaluations of the same: those more than three points
    apart."""
    rows = tables["base_rows"].query("by == 'bethgelab/sober-reasoning'").astype({"published": float})
    rows = rows.assign(others=rows["others"].str.partition(" ")[0].astype(float))
    rows = rows[(rows["others"] - rows["published"]).abs() > 3].sort_values("others", ascending=False)
    names = rows["model"].str.partition("/")[2] + ", " + rows["cell"] + " (" + rows["paper"] + ")"

    def draw(axis: Axes) -> None:
        _dumbbells(axis, list(names), rows["published"], rows["others"], ("printed", "measured by others"))
        axis.tick_params(axis="y", labelsize=7)

    return _plot("base_rows", "Untrained models, printed and measured by others", rows, draw, 3.8, 6.4)
