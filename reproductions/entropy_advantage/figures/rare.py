"""Rare sentences: a trained model's sentences far from all sentences of the base model (arXiv 2506.14758, section 2).

"We embed all response sentences using SBERT and, for each RL-generated sentence, compute the average distance to its
nearest base-model neighbors. Sentences in the top 10 % of this distance metric are labeled as rare." Our text of the
paper does not state the number of neighbours (5 here, from a public summary of a later version), the distance (1 -
cosine here), or whether the neighbours come from the same problem (from all problems here). `rare_map` plots them as in
Fig. 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evals.analysis import ENTROPY_ADVANTAGE
from evals.analysis.embedders import CachedEmbedder, SentenceEmbedder
from evals.plots.panels import grid
from evals.plots.parts import legend_below
from evals.plots.plot import PALETTE, WIDTH, Plot, look

if TYPE_CHECKING:
    import pandas as pd

NEIGHBOURS, SHARE = 5, 0.1
_AT_ONCE = 2**25  # similarities in memory at a time (128 MiB)


@dataclass(frozen=True)
class Rarity:
    """Sentences with their distance to the base model's.

    Args:
        sentences: as given, with `distance` (1 - cosine, in [0, 2], mean over the neighbours) and `rare`.
        embeddings, base_embeddings: [N, D], [M, D], rows of length 1.
        embedder: its name. neighbours, share: as asked for.
    """

    sentences: pd.DataFrame
    embeddings: NDArray[np.float32]
    base_embeddings: NDArray[np.float32]
    embedder: str
    neighbours: int
    share: float


def nearest_distances(
    embeddings: NDArray[np.float32], base: NDArray[np.float32], *, neighbours: int
) -> NDArray[np.float64]:
    """The mean distance (1 - cosine) to the nearest base vectors: [N, D], [M, D] of unit rows -> [N].

    Raises:
        ValueError: fewer than `neighbours` base vectors, or neighbours < 1.
    """
    if not 1 <= neighbours <= len(base):
        raise ValueError(f"neighbours: expected 1 to {len(base)} (the sentences of the base model), got {neighbours}")
    distances = np.empty(len(embeddings))
    step = max(1, _AT_ONCE // len(base))
    for start in range(0, len(embeddings), step):
        similar = embeddings[start : start + step] @ base.T
        nearest = np.partition(similar, len(base) - neighbours, axis=1)[:, len(base) - neighbours :]
        distances[start : start + step] = 1 - nearest.mean(axis=1, dtype=np.float64)
    return np.clip(distances, 0, 2)


def most_distant(distances: NDArray[np.float64], *, share: float) -> NDArray[np.bool_]:
    """Which values are above the (1 - share) quantile: at most that share of them; ties count all or none.

    Raises:
        ValueError: share outside (0, 1).
    """
    if not 0 < share < 1:
        raise ValueError(f"share: expected a number in (0, 1), got {share}")
    if not len(distances):
        return np.zeros(0, bool)
    above = np.sort(distances)[-1 - int(share * len(distances) + 1e-9)]
    chosen: NDArray[np.bool_] = distances > above
    return chosen


def find_rare(
    sentences: pd.DataFrame,
    base_texts: Sequence[str],
    embedder: SentenceEmbedder,
    *,
    neighbours: int = NEIGHBOURS,
    share: float = SHARE,
) -> Rarity:
    """The sentences of a trained model, and which of them are rare for the base model.

    Args:
        sentences: with a column `text` (`sentences.sentence_table`). base_texts: the base model's sentences.
    Raises:
        ValueError: as `nearest_distances` and `most_distant`; a frame without `text`, or without rows.
    """
    if "text" not in sentences or sentences.empty:
        raise ValueError("sentences: expected a column text and at least one row")
    cached = CachedEmbedder(embedder)  # models repeat sentences
    trained, base = cached.embed(sentences["text"].tolist()), cached.embed(list(base_texts))
    distance = nearest_distances(trained, base, neighbours=neighbours)
    measured = sentences.assign(distance=distance, rare=most_distant(distance, share=share))
    return Rarity(measured, trained, base, embedder.name, neighbours, share)


_POINTS = 1000  # of a kind in one panel


def rare_map(names: Sequence[str], rarities: Mapping[str, Rarity], sizes: str, *, seed: int = 0) -> Plot:
    """The sentences of each run among the base model's, rare ones marked (arXiv 2506.14758, Fig. 3)."""
    numbers = sentence_places(rarities, seed)
    columns = 1 if len(rarities) == 1 else 2
    first = next(iter(rarities.values()))

    def render(figure: Any) -> None:
        for axis, name in zip(grid(figure, len(rarities), columns), rarities, strict=True):
            colour = look(names.index(name))["color"]
            for kind, shade, marker, size, alpha, label in (
                ("base", PALETTE[0], "o", 14, 0.3, names[0]),
                ("other", colour, ".", 9, 0.8, "of the run, not rare"),
                ("rare", colour, "D", 14, 1.0, "of the run, rare"),
            ):
                rows = numbers[(numbers["model"] == name) & (numbers["kind"] == kind)]
                edge = "white" if kind == "rare" else "none"
                axis.scatter(
                    rows["x"], rows["y"], size, shade, marker, alpha=alpha, linewidths=0.4, edgecolors=edge,
                    label=label, rasterized=True,  # thousands of points as shapes take nearly a megabyte
                )  # fmt: skip
            axis.set_title(fill(name, 34), loc="left")
            axis.set(xticks=[], yticks=[], xlabel="first principal component", ylabel="second")
        legend_below(figure, *figure.axes[0].get_legend_handles_labels())

    captured = ", ".join(f"{rows['explained'].iloc[0]:.0%}" for _, rows in numbers.groupby("model", sort=False))
    caption = (
        f"{sizes} Each point a sentence, at most {_POINTS} of a kind in a panel, chosen by seed {seed}. The two "
        f"components hold {captured} of the spread. Rare: the {first.share:.0%} of a run's sentences furthest (1 - "
        f"cosine, mean of {first.neighbours} nearest) from those of {names[0]}. Embedder: {first.embedder}. The "
        "paper does not say how it projects its sentences."
    )
    size = (WIDTH, 4.2) if columns == 1 else (WIDTH * 1.3, 0.8 + 3 * -(-len(rarities) // 2))
    return Plot(
        "rare_sentences",
        "Sentences far from the base model's",
        caption,
        f"{ENTROPY_ADVANTAGE}, Fig. 3",
        numbers,
        render,
        size,
    )


def sentence_places(rarities: Mapping[str, Rarity], seed: int) -> pd.DataFrame:
    """Some sentences of each run and of the base model on the two principal components of both together."""
    import pandas as pd

    generator = np.random.default_rng(seed)
    parts = []
    for name, rarity in rarities.items():
        centre, axes, explained = two_components(np.concatenate([rarity.base_embeddings, rarity.embeddings]))
        kinds = np.where(rarity.sentences["rare"], "rare", "other")
        for kind, vectors, frame in (
            ("base", rarity.base_embeddings, None),
            ("other", rarity.embeddings[kinds == "other"], rarity.sentences[kinds == "other"]),
            ("rare", rarity.embeddings[kinds == "rare"], rarity.sentences[kinds == "rare"]),
        ):
            chosen = np.sort(generator.permutation(len(vectors))[:_POINTS])
            places = (vectors[chosen] - centre) @ axes.T
            part = pd.DataFrame({"model": name, "kind": kind, "x": places[:, 0], "y": places[:, 1]})
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
