"""Rare behaviour: sentences of a trained model far from everything the base model says (arXiv 2506.14758, section 2).

"We embed all response sentences using SBERT and, for each RL-generated sentence, compute the average distance to its
nearest base-model neighbors. Sentences in the top 10 % of this distance metric are labeled as rare." Our text does not
state how many neighbours (5 here: a public summary of a later version has it), which distance (1 - cosine here), or
whether the neighbours come from the same problem (from all problems here). `plots.rare_map` plots them as in Fig. 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evals.analysis.words.embedders import CachedEmbedder, SentenceEmbedder

if TYPE_CHECKING:
    import pandas as pd

NEIGHBOURS, SHARE = 5, 0.1
_AT_ONCE = 2**25  # similarities held together (128 MiB)


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
    """Which values lie above the (1 - share) quantile: at most that share of them; of equal ones all or none.

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
    cached = CachedEmbedder(embedder)  # models repeat themselves
    own, base = cached.embed(sentences["text"].tolist()), cached.embed(list(base_texts))
    distance = nearest_distances(own, base, neighbours=neighbours)
    held = sentences.assign(distance=distance, rare=most_distant(distance, share=share))
    return Rarity(held, own, base, embedder.name, neighbours, share)
