"""Every figure of words: arXiv 2508.07534 (Table 5, section 3.2.2) and arXiv 2506.14758 (Fig. 2, 3, 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.analysis import ENTROPY_ADVANTAGE
from evals.analysis.subjects import Subject
from evals.analysis.words.embedders import NEIGHBOURS, SHARE, Rarity, SentenceEmbedder
from evals.analysis.words.plot_categories import (
    INTERVALS,
    category_counts,
    category_entropies,
    category_updates,
    describe_lexicon,
    describe_sizes,
    legend,
    right_end,
    tidy_rows,
    wrap,
)
from evals.analysis.words.words import COMPARISONS, Words, entropy_contrasts, frequencies, read_words
from evals.plots.intervals import points
from evals.plots.plot import PALETTE, WIDTH, Plot, look

if TYPE_CHECKING:
    import pandas as pd


def plot_words(
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
) -> list[Plot]:
    """Every figure of the words of some runs' responses to one benchmark.

    Args:
        subjects: the runs, the base model first.
        tokens: name of the run -> token table. Runs without one are excluded, and the captions say so.
        benchmark: its name, for the captions.
        changes: name of the run -> (token table, p_after - p_before of its rows); None: no plot of probability changes.
        embedder: see `evals.analysis.words.embedders`; None skips rare sentences.
        neighbours, share: see `evals.analysis.words.embedders`.
        stated_only: use the papers' own words only.
        seed: selects the points of the map.
    Raises:
        ValueError: no token table at all, or as `read_words`.
    """
    names = [subject.name for subject in subjects]
    words = read_words(names, tokens, embedder=embedder, neighbours=neighbours, share=share, stated_only=stated_only)
    if not words:
        raise ValueError("token tables: expected one at least")
    missing = [name for name in names if name not in tokens]
    sizes = describe_sizes(words, benchmark) + (f" Not measured: {', '.join(missing)}." if missing else "")
    plots = [
        category_counts(words, sizes, stated_only=stated_only),
        category_entropies(words, sizes, stated_only=stated_only),
        exploratory_entropies(words, sizes, stated_only=stated_only),
        exploratory_counts(words, sizes, stated_only=stated_only),
    ]
    if changes:
        plots.append(category_updates(names, changes, stated_only=stated_only))
    if any(held.rarity for held in words):
        plots.append(rare_map(words, sizes, seed=seed))
    return plots


def exploratory_entropies(words: Sequence[Words], sizes: str, *, stated_only: bool) -> Plot:
    """Entropy of pivotal tokens, reflective and rare sentences against the rest (arXiv 2506.14758, Fig. 2 and 10)."""
    numbers = entropy_contrasts(words)
    shown = [name for name in COMPARISONS if (numbers["comparison"] == name).any()]
    rows = {name: [held for held in words if name != "rare" or held.rarity] for name in shown}
    right = max(right_end(numbers[f"{side}_entropy"], numbers[f"{side}_high"]) for side in ("group", "rest"))

    def render(figure: Any) -> None:
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
    return Plot(
        "exploratory_entropy",
        "Entropy of exploratory reasoning",
        caption,
        f"{ENTROPY_ADVANTAGE}, Fig. 2 (right)",
        numbers,
        render,
        (WIDTH, 0.9 + sum(0.45 + 0.45 * len(held) for held in rows.values())),
    )


def exploratory_counts(words: Sequence[Words], sizes: str, *, stated_only: bool) -> Plot:
    """Pivotal tokens and reflective sentences in a response (arXiv 2506.14758, Fig. 8)."""
    numbers = frequencies(words)
    panels = {"pivotal": "pivotal tokens\nin a response", "reflective": "reflective sentences\nin a response"}
    numbers = numbers[numbers["what"].isin(panels)].reset_index(drop=True)

    def render(figure: Any) -> None:
        axes = figure.subplots(1, 2, sharey=True)
        for axis, (what, label) in zip(axes, panels.items(), strict=True):
            rows = numbers[numbers["what"] == what].set_index("model")
            for y, held in enumerate(words):
                row, colour = rows.loc[held.name], look(held.number)["color"]
                axis.barh(y, row["mean"], height=0.6, color=colour)
                axis.plot([row["low"], row["high"]], [y, y], color="black", linewidth=1)
                if row["mean"] == 0:
                    axis.annotate(" 0", (0, y), color=colour, va="center")
            axis.set_xlabel(label)
            axis.set_xlim(0, right_end(rows["mean"], rows["high"]))
            tidy_rows(axis)
        axes[0].set_yticks(range(len(words)), [wrap(held.name, 24) for held in words])
        axes[0].invert_yaxis()

    caption = (
        f"{sizes} {INTERVALS} {describe_lexicon('pivotal_tokens', stated_only)}; "
        f"{describe_lexicon('reflective', stated_only)}."
    )
    return Plot(
        "exploratory_counts",
        "Pivotal tokens and reflective sentences in a response",
        caption,
        f"{ENTROPY_ADVANTAGE}, Fig. 8",
        numbers,
        render,
        (WIDTH, 1.1 + 0.45 * len(words)),
    )


def _dumbbells(axis: Any, rows: pd.DataFrame, words: Sequence[Words]) -> None:
    """For each model the group (filled, above) and the rest (hollow, below), and their difference in words."""
    labels = []
    for y, held in enumerate(words):
        row: Any = rows.loc[held.name]
        for side, shift in (("group", -0.14), ("rest", 0.14)):
            low, middle, high = (row[f"{side}_{what}"] for what in ("low", "entropy", "high"))
            points(axis, y + shift, low, middle, high, held.number, hollow=side == "rest")
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


_POINTS = 1000  # of a kind in one panel


def rare_map(words: Sequence[Words], sizes: str, *, seed: int) -> Plot:
    """The sentences of each run among the base model's, rare ones marked (arXiv 2506.14758, Fig. 3)."""
    measured = [(held, held.rarity) for held in words if held.rarity]
    numbers = sentence_places(measured, seed)
    columns = 1 if len(measured) == 1 else 2

    def render(figure: Any) -> None:
        panels = figure.subplots(-(-len(measured) // columns), columns, squeeze=False).ravel()
        for axis, (held, _) in zip(panels, measured, strict=False):
            colour = look(held.number)["color"]
            for kind, shade, marker, size, alpha, label in (
                ("base", PALETTE[0], "o", 14, 0.3, f"{words[0].name}"),
                ("other", colour, ".", 9, 0.8, "of the run, not rare"),
                ("rare", colour, "D", 14, 1.0, "of the run, rare"),
            ):
                rows = numbers[(numbers["model"] == held.name) & (numbers["kind"] == kind)]
                edge = "white" if kind == "rare" else "none"
                axis.scatter(
                    rows["x"], rows["y"], size, shade, marker, alpha=alpha, linewidths=0.4, edgecolors=edge,
                    label=wrap(label, 78), rasterized=True,  # thousands of points as shapes take nearly a megabyte
                )  # fmt: skip
            axis.set_title(wrap(held.name, 34), loc="left")
            axis.set(xticks=[], yticks=[], xlabel="first principal component", ylabel="second")
        for axis in panels[len(measured) :]:
            axis.remove()
        legend(figure, 2)

    first = measured[0][1]
    captured = ", ".join(f"{rows['explained'].iloc[0]:.0%}" for _, rows in numbers.groupby("model", sort=False))
    caption = (
        f"{sizes} Each point a sentence, at most {_POINTS} of a kind in a panel, chosen by seed {seed}. The two "
        f"components hold {captured} of the spread. Rare: the {first.share:.0%} of a run's sentences furthest (1 - "
        f"cosine, mean of {first.neighbours} nearest) from those of {words[0].name}. Embedder: {first.embedder}. The "
        "paper does not say how it projects its sentences."
    )
    size = (WIDTH, 4.2) if columns == 1 else (WIDTH * 1.3, 0.8 + 3 * -(-len(measured) // 2))
    return Plot(
        "rare_sentences",
        "Sentences far from the base model's",
        caption,
        f"{ENTROPY_ADVANTAGE}, Fig. 3",
        numbers,
        render,
        size,
    )


def sentence_places(measured: Sequence[tuple[Words, Rarity]], seed: int) -> pd.DataFrame:
    """Some sentences of each run and of the base model on the two principal components of both together."""
    import pandas as pd

    generator = np.random.default_rng(seed)
    parts = []
    for held, rarity in measured:
        centre, axes, explained = two_components(np.concatenate([rarity.base_embeddings, rarity.embeddings]))
        kinds = np.where(rarity.sentences["rare"], "rare", "other")
        for kind, vectors, frame in (
            ("base", rarity.base_embeddings, None),
            ("other", rarity.embeddings[kinds == "other"], rarity.sentences[kinds == "other"]),
            ("rare", rarity.embeddings[kinds == "rare"], rarity.sentences[kinds == "rare"]),
        ):
            chosen = np.sort(generator.permutation(len(vectors))[:_POINTS])
            places = (vectors[chosen] - centre) @ axes.T
            part = pd.DataFrame({"model": held.name, "kind": kind, "x": places[:, 0], "y": places[:, 1]})
            part["explained"] = explained
            for column in ("distance", "entropy", "text"):
                part[column] = np.nan if frame is None else frame[column].to_numpy()[chosen]
            parts.append(part)
    return pd.concat(parts, ignore_index=True)


def two_components(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """(mean, the two principal axes [2, D], their share of the variance). The largest entry of an axis is positive."""
    centre = vectors.mean(axis=0)
    spread = vectors - centre
    if len(spread) < spread.shape[1]:  # the smaller of the two matrices has the same values
        values, axes = np.linalg.eigh(spread @ spread.T)
        two = axes[:, ::-1][:, :2].T @ spread
        two = two / np.maximum(np.linalg.norm(two, axis=1, keepdims=True), 1e-12)
    else:
        values, axes = np.linalg.eigh(spread.T @ spread)
        two = axes[:, ::-1][:, :2].T
    two = two * np.where(two[np.arange(2), abs(two).argmax(axis=1)] < 0, -1, 1)[:, None]
    total = float(values.sum())
    return centre, two, float(values[-2:].sum()) / total if total > 0 else float("nan")
