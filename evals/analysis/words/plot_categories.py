"""Token categories: Table 5 and section 3.2.2 of arXiv 2508.07534 as figures, with the rows that word figures share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.analysis import TRIAL_AND_ERROR
from evals.analysis.tokens.token_table import response_keys
from evals.analysis.words.token_categories import (
    CATEGORIES,
    categorise,
    category_changes,
    category_shares,
    load_lexicon,
)
from evals.analysis.words.words import Words, frequencies
from evals.plots.intervals import points
from evals.plots.plot import WIDTH, Plot, look, tidy

if TYPE_CHECKING:
    import pandas as pd

INTERVALS = (
    "Means over problems of each problem's mean, with 95 % intervals over problems (training seeds are not covered), "
    "cut at the ends of the axis; no line: no interval. Responses of every verdict count."
)


def plot_rows(
    axis: Any,
    numbers: pd.DataFrame,
    by: str,
    order: Sequence[str],
    words: Sequence[Words],
    mean: str,
    low: str,
    high: str,
    *,
    least: float | None = None,
) -> None:
    """One row for each value of `by`, in it a point and an interval for each model; `least` cuts an interval off."""
    for held in words:
        rows = numbers[numbers["model"] == held.name].set_index(by).loc[list(order)]
        y = np.arange(len(order)) + offset(held, words)
        left = rows[low] if least is None else rows[low].clip(lower=least)
        middle = rows[mean] if least is None else rows[mean].where(rows[mean] > 0)
        points(axis, y, left, middle, rows[high], held.number, label=wrap(held.name, 78))
    axis.invert_yaxis()
    tidy_rows(axis)


def point(number: int) -> dict[str, Any]:
    """`look` of a point, without a line."""
    return look(number) | {"linestyle": "none", "markersize": 5}


def offset(held: Words, words: Sequence[Words]) -> float:
    """The offset of a model's point in its row, so that none covers another."""
    return ([other.name for other in words].index(held.name) - (len(words) - 1) / 2) * 0.7 / len(words)


def tidy_rows(axis: Any) -> None:
    """`tidy`, without grid lines along the rows."""
    tidy(axis)
    axis.grid(axis="y", visible=False)


def right_end(means: pd.Series, highs: pd.Series) -> float:
    """The end of an axis from 0: beyond every mean and interval, but at most 1.5 times the largest mean."""
    largest = float(means.max())
    if not largest > 0:  # no value (NaN), or only zeros
        return 1.0
    return 1.05 * min(float(np.nanmax([largest, *highs])), 1.5 * largest)


def height(rows: int, models: int) -> tuple[float, float]:
    """The size in inches, for rows with one point per model, and a legend."""
    return WIDTH, 1.0 + rows * (0.25 + 0.09 * models) + (0.2 * models if models > 1 else 0)


def wrap(name: str, width: int) -> str:
    """A name in at most three lines."""
    return fill(name, width, max_lines=3, placeholder="…")


def legend(figure: Any, series: int) -> None:
    """The series of the first panel, under all panels; none for a single series."""
    if series > 1:
        handles = figure.axes[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower left", ncols=1, frameon=False, fontsize=8)


def describe_sizes(words: Sequence[Words], benchmark: str) -> str:
    """The number of problems and responses of each model."""
    counts = {}
    for held in words:
        problems = held.table["problem_id"].nunique()
        responses = held.table.groupby(response_keys(held.table)).ngroups
        counts[held.name] = f"{problems} {'problem' if problems == 1 else 'problems'}, {responses} responses"
    prefix = f"{benchmark}: " if benchmark else ""
    if len(set(counts.values())) == 1:
        return prefix + counts[words[0].name] + (" of each run." if len(words) > 1 else ".")
    return prefix + "; ".join(f"{name} {count}" for name, count in counts.items()) + "."


def describe_lexicon(name: str, stated_only: bool) -> str:
    """The lexicon, and how much of it is assumed."""
    return f"Lexicon {load_lexicon(name, stated_only=stated_only).describe()}"


def category_counts(words: Sequence[Words], sizes: str, *, stated_only: bool) -> Plot:
    """Tokens of each category in a response (arXiv 2508.07534, Table 5; its categories are those of Table 1)."""
    numbers = frequencies(words)
    whats = ("length", *CATEGORIES)
    numbers = numbers[numbers["what"].isin(whats)].reset_index(drop=True)
    empty = numbers[numbers["mean"] == 0]
    seen = numbers.loc[numbers["mean"] > 0, ["mean", "low"]].to_numpy()
    left = 10 ** np.floor(np.log10(seen[seen > 0].min()))  # a power of ten: what is 0 has no place on this axis

    def render(figure: Any) -> None:
        axis = figure.subplots()
        plot_rows(axis, numbers, "what", whats, words, "mean", "low", "high", least=left)
        for held in words:
            at = [whats.index(what) for what in empty.loc[empty["model"] == held.name, "what"]]
            offsets = [y + offset(held, words) for y in at]
            for y in offsets:
                axis.annotate("0", (left, y), color=look(held.number)["color"], va="center", ha="center", fontsize=8)
        axis.set_xscale("log")
        axis.set_xlim(left=left / 1.6)
        axis.set_yticks(range(len(whats)), ["all tokens", *CATEGORIES])
        axis.set_xlabel("tokens in a response")
        legend(figure, len(words))

    caption = (
        f"{sizes} {INTERVALS} The horizontal scale is logarithmic; 0: none. Table 1 places no punctuation, markup or "
        f"white space: other. {describe_lexicon('token_categories', stated_only)}."
    )
    return Plot(
        "token_categories",
        "Tokens of each category in a response",
        caption,
        f"{TRIAL_AND_ERROR}, Table 5",
        numbers,
        render,
        height(len(whats), len(words)),
    )


def category_entropies(words: Sequence[Words], sizes: str, *, stated_only: bool) -> Plot:
    """Mean entropy of the tokens of each category (the categories of arXiv 2508.07534, Table 1; the figure is ours)."""
    import pandas as pd

    numbers = pd.concat(
        [category_shares(held.table, held.category).assign(model=held.name) for held in words], ignore_index=True
    )

    def render(figure: Any) -> None:
        axis = figure.subplots()
        plot_rows(axis, numbers, "category", CATEGORIES, words, "entropy", "entropy_low", "entropy_high")
        axis.set_yticks(range(len(CATEGORIES)), CATEGORIES)
        axis.set_xlabel("mean entropy (nats)")
        axis.set_xlim(0, right_end(numbers["entropy"], numbers["entropy_high"]))
        legend(figure, len(words))

    caption = (
        f"{sizes} {INTERVALS} A category that a model never uses has no point. "
        f"{describe_lexicon('token_categories', stated_only)}."
    )
    return Plot(
        "category_entropy",
        "Entropy of the tokens of each category",
        caption,
        "",
        numbers,
        render,
        height(len(CATEGORIES), len(words)),
    )


def category_updates(
    names: Sequence[str], changes: Mapping[str, tuple[pd.DataFrame, pd.Series]], *, stated_only: bool, top: float = 0.2
) -> Plot:
    """Where an update moved the probabilities of tokens (arXiv 2508.07534, section 3.2.2, its four numbers)."""
    import pandas as pd

    lexicon = load_lexicon("token_categories", stated_only=stated_only)
    numbers = pd.concat(
        [
            category_changes(change, categorise(table, lexicon=lexicon), top=top).assign(model=name)
            for name, (table, change) in changes.items()
        ],
        ignore_index=True,
    )
    shown = [name for name in names if name in changes]

    def render(figure: Any) -> None:
        axes = figure.subplots(1, 2, sharey=True)
        for axis, column, label in zip(
            axes, ("share_in_top", "size"), (f"share in the top {top:.0%}", "mean |probability change|"), strict=True
        ):
            for i, name in enumerate(shown):
                rows = numbers[numbers["model"] == name].set_index("category").loc[list(CATEGORIES)]
                y = np.arange(len(CATEGORIES)) + (i - (len(shown) - 1) / 2) * 0.7 / len(shown)
                axis.plot(rows[column], y, label=wrap(name, 78), clip_on=False, **point(names.index(name)))
            axis.set_xlabel(label)
            axis.set_xlim(left=0)
            axis.locator_params(axis="x", nbins=4)
            tidy_rows(axis)
        axes[0].axvline(top, color="black", linewidth=0.8, linestyle=":")
        axes[0].set_yticks(range(len(CATEGORIES)), CATEGORIES)
        axes[0].invert_yaxis()
        legend(figure, len(shown))

    tokens = ", ".join(f"{name} {len(changes[name][1]):,}" for name in shown)
    caption = (
        f"Left: which part of a category's tokens is among the {top:.0%} of all tokens whose probability changed most "
        f"(dotted: {top:.0%}, as for any token). Right: mean size of the change. Over all tokens at once, so without "
        f"intervals; tokens: {tokens}. {describe_lexicon('token_categories', stated_only)}."
    )
    return Plot(
        "category_changes",
        "Probability changes of the tokens of each category",
        caption,
        f"{TRIAL_AND_ERROR}, section 3.2.2",
        numbers,
        render,
        height(len(CATEGORIES), len(shown)),
    )
