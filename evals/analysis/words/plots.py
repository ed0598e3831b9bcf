"""What words do: arXiv 2508.07534 (Table 5, section 3.2.2) and arXiv 2506.14758 (Fig. 2, 3, 8) again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.analysis.subjects import Subject
from evals.analysis.words.embedders import SentenceEmbedder
from evals.analysis.words.plot_categories import category_counts, category_entropies, category_updates
from evals.analysis.words.plot_map import rare_map
from evals.analysis.words.plot_rows import (
    INTERVALS,
    describe_lexicon,
    describe_sizes,
    point,
    right_end,
    tidy_rows,
    wrap,
)
from evals.analysis.words.rare import NEIGHBOURS, SHARE
from evals.analysis.words.words import COMPARISONS, Words, entropy_contrasts, frequencies, read_words
from evals.plots.drawing import WIDTH, Drawing, look

if TYPE_CHECKING:
    import pandas as pd

PAPER = "arXiv 2506.14758"


def draw_words(
    subjects: Sequence[Subject],
    tokens: Mapping[str, pd.DataFrame],
    *,
    benchmark: str = "",
    changes: Mapping[str, tuple[pd.DataFrame, pd.Series]] | None = None,
    embedder: SentenceEmbedder | None = None,
    neighbours: int = NEIGHBOURS,
    share: float = SHARE,
    stated_only: bool = False,
    seed: int = 0,
) -> list[Drawing]:
    """Every figure of the words of some runs' responses to one benchmark.

    Args:
        subjects: the runs, the base model first.
        tokens: name of the run -> token table. Those without are left out, and the captions say so.
        benchmark: its name, for the captions.
        changes: name of the run -> (token table, p_after - p_before of its rows); None draws no probability changes.
        embedder: see `evals.analysis.words.embedders`; None leaves rare sentences out.
        neighbours, share: see `evals.analysis.words.rare`.
        stated_only: use the papers' own words only.
        seed: draws the sign flips, and the points of the map.
    Raises:
        ValueError: no token table at all, or as `read_words`.
    """
    names = [subject.name for subject in subjects]
    words = read_words(names, tokens, embedder=embedder, neighbours=neighbours, share=share, stated_only=stated_only)
    if not words:
        raise ValueError("token tables: expected one at least")
    missing = [name for name in names if name not in tokens]
    sizes = describe_sizes(words, benchmark) + (f" Not measured: {', '.join(missing)}." if missing else "")
    drawings = [
        category_counts(words, sizes, stated_only=stated_only),
        category_entropies(words, sizes, stated_only=stated_only),
        exploratory_entropies(words, sizes, stated_only=stated_only, seed=seed),
        exploratory_counts(words, sizes, stated_only=stated_only),
    ]
    if changes:
        drawings.append(category_updates(names, changes, stated_only=stated_only))
    if any(held.rarity for held in words):
        drawings.append(rare_map(words, sizes, seed=seed))
    return drawings


def exploratory_entropies(words: Sequence[Words], sizes: str, *, stated_only: bool, seed: int) -> Drawing:
    """Entropy of pivotal tokens, reflective and rare sentences against the rest (arXiv 2506.14758, Fig. 2 and 10)."""
    numbers = entropy_contrasts(words, seed=seed)
    shown = [name for name in COMPARISONS if (numbers["comparison"] == name).any()]
    rows = {name: [held for held in words if name != "rare" or held.rarity] for name in shown}
    right = max(right_end(numbers[f"{side}_entropy"], numbers[f"{side}_high"]) for side in ("group", "rest"))

    def draw(figure: Any) -> None:
        heights = [len(rows[name]) for name in shown]
        axes = figure.subplots(len(shown), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
        for axis, name in zip(axes, shown, strict=True):
            _dumbbells(axis, numbers[numbers["comparison"] == name].set_index("model"), rows[name])
            axis.set_title(f"{name} {COMPARISONS[name]} (filled), others (hollow)", loc="left")
        axes[-1].set_xlabel("mean entropy (nats)")
        axes[-1].set_xlim(0, right)

    rare = next((held.rarity for held in words if held.rarity), None)
    about_rare = (
        f"Rare: the {rare.share:.0%} of sentences furthest from their {rare.neighbours} nearest sentences of "
        f"{words[0].name}; embedder: {rare.embedder}."
        if rare
        else "Rare sentences: not measured (needs an embedder, the base model's token table and another run's)."
    )
    caption = (
        f"{sizes} {INTERVALS} A sentence's entropy is the mean of its tokens'. At the right: group less rest, over the "
        f"problems that have both. {about_rare} {describe_lexicon('pivotal_tokens', stated_only)}; "
        f"{describe_lexicon('reflective', stated_only)}."
    )
    return Drawing(
        "exploratory_entropy",
        "Entropy of exploratory reasoning",
        caption,
        f"{PAPER}, Fig. 2 (right)",
        numbers,
        draw,
        (WIDTH, 0.9 + sum(0.45 + 0.45 * len(held) for held in rows.values())),
    )


def exploratory_counts(words: Sequence[Words], sizes: str, *, stated_only: bool) -> Drawing:
    """Pivotal tokens and reflective sentences in a response (arXiv 2506.14758, Fig. 8)."""
    numbers = frequencies(words)
    panels = {"pivotal": "pivotal tokens\nin a response", "reflective": "reflective sentences\nin a response"}
    numbers = numbers[numbers["what"].isin(panels)].reset_index(drop=True)

    def draw(figure: Any) -> None:
        axes = figure.subplots(1, 2, sharey=True)
        for axis, (what, label) in zip(axes, panels.items(), strict=True):
            found = numbers[numbers["what"] == what].set_index("model")
            for y, held in enumerate(words):
                row, colour = found.loc[held.name], look(held.number)["color"]
                axis.barh(y, row["mean"], height=0.6, color=colour)
                axis.plot([row["low"], row["high"]], [y, y], color="black", linewidth=1)
                if row["mean"] == 0:
                    axis.annotate(" 0", (0, y), color=colour, va="center")
            axis.set_xlabel(label)
            axis.set_xlim(0, right_end(found["mean"], found["high"]))
            tidy_rows(axis)
        axes[0].set_yticks(range(len(words)), [wrap(held.name, 24) for held in words])
        axes[0].invert_yaxis()

    caption = (
        f"{sizes} {INTERVALS} {describe_lexicon('pivotal_tokens', stated_only)}; "
        f"{describe_lexicon('reflective', stated_only)}."
    )
    return Drawing(
        "exploratory_counts",
        "Pivotal tokens and reflective sentences in a response",
        caption,
        f"{PAPER}, Fig. 8",
        numbers,
        draw,
        (WIDTH, 1.1 + 0.45 * len(words)),
    )


def _dumbbells(axis: Any, rows: pd.DataFrame, words: Sequence[Words]) -> None:
    """For each model the group (filled, above) and the rest (hollow, below), and what lies between them in words."""
    labels = []
    for y, held in enumerate(words):
        row: Any = rows.loc[held.name]
        colour = look(held.number)["color"]
        for side, shift, face in (("group", -0.14, colour), ("rest", 0.14, "white")):
            axis.hlines(y + shift, row[f"{side}_low"], row[f"{side}_high"], color=colour, linewidth=1)
            axis.plot(row[f"{side}_entropy"], y + shift, markerfacecolor=face, **point(held.number))
        labels.append(_difference(row))
    axis.set_yticks(range(len(words)), [wrap(held.name, 24) for held in words])
    axis.set_ylim(len(words) - 0.5, -0.5)
    tidy_rows(axis)
    right = axis.twinx()
    right.set_ylim(axis.get_ylim())
    right.set_yticks(range(len(words)), labels, fontsize=8)
    right.tick_params(length=0)
    for side in ("top", "right"):
        right.spines[side].set_visible(False)


def _difference(row: pd.Series) -> str:
    if np.isnan(row["difference"]):
        return "no problem has both"
    if np.isnan(row["difference_low"]):
        text = f"{row['difference']:+.3f}\n(no interval)"
    else:
        text = f"{row['difference']:+.3f}\n[{row['difference_low']:+.3f}, {row['difference_high']:+.3f}]"
    return text.replace("-", "−")
