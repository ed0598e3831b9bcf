"""Sentences as points: Fig. 3 of arXiv 2506.14758."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evals.analysis.words.plot_rows import legend, wrap
from evals.analysis.words.words import Words
from evals.plots.drawing import PALETTE, WIDTH, Drawing, look

_POINTS = 1000  # of a kind in one panel


def rare_map(words: Sequence[Words], sizes: str, *, seed: int) -> Drawing:
    """The sentences of each run among the base model's, rare ones marked (arXiv 2506.14758, Fig. 3)."""
    import pandas as pd

    measured = [(held, held.rarity) for held in words if held.rarity]
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
    numbers = pd.concat(parts, ignore_index=True)
    columns = 1 if len(measured) == 1 else 2

    def draw(figure: Any) -> None:
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
                    label=wrap(label, 78), rasterized=True,  # thousands of points: as shapes, nearly a megabyte
                )  # fmt: skip
            axis.set_title(wrap(held.name, 34), loc="left")
            axis.set(xticks=[], yticks=[], xlabel="first principal component", ylabel="second")
        for axis in panels[len(measured) :]:
            axis.remove()
        legend(figure, 2)

    first = measured[0][1]
    captured = ", ".join(f"{rows['explained'].iloc[0]:.0%}" for _, rows in numbers.groupby("model", sort=False))
    caption = (
        f"{sizes} Each point a sentence, at most {_POINTS} of a kind in a panel, drawn by seed {seed}. The two "
        f"components hold {captured} of the spread. Rare: the {first.share:.0%} of a run's sentences furthest (1 - "
        f"cosine, mean of {first.neighbours} nearest) from those of {words[0].name}. Embedder: {first.embedder}. The "
        "paper does not say how it projects its sentences."
    )
    size = (WIDTH, 4.2) if columns == 1 else (WIDTH * 1.3, 0.8 + 3 * -(-len(measured) // 2))
    return Drawing(
        "rare_sentences",
        "Sentences far from the base model's",
        caption,
        "arXiv 2506.14758, Fig. 3",
        numbers,
        draw,
        size,
    )


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
