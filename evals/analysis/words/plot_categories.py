"""Token categories: Table 5 and section 3.2.2 of arXiv 2508.07534 as figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.analysis.papers import TRIAL_AND_ERROR
from evals.analysis.words.lexicon import load_lexicon
from evals.analysis.words.plot_rows import (
    INTERVALS,
    describe_lexicon,
    height,
    legend,
    offset,
    plot_rows,
    point,
    right_end,
    tidy_rows,
    wrap,
)
from evals.analysis.words.token_categories import CATEGORIES, categorise, category_changes, category_shares
from evals.analysis.words.words import Words, frequencies
from evals.plots.plot import Plot, look

if TYPE_CHECKING:
    import pandas as pd


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
