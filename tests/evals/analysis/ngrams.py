"""An embedder without a model, for tests: hashed counts of character 3-grams. It sees spelling, not meaning."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np


class Ngrams:
    name = "hashed character 3-grams"

    def embed(self, sentences: Sequence[str]) -> np.ndarray:
        counts = np.zeros((len(sentences), 2048), np.float32)
        for row, sentence in zip(counts, sentences, strict=True):
            text = f" {sentence.lower()} ".ljust(3)
            for i in range(len(text) - 2):
                row[zlib.crc32(text[i : i + 3].encode()) % 2048] += 1
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)
