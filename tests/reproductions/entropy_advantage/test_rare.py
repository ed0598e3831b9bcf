"""Rare sentences by hand, and the components of their map."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproductions.entropy_advantage.figures import rare
from reproductions.entropy_advantage.figures.rare import find_rare, most_distant, nearest_distances, two_components


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
    monkeypatch.setattr(rare, "_AT_ONCE", 7)
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
    found = find_rare(sentences, ["0", "1", "2", "1"], Compass(), neighbours=1, share=0.2)
    assert found.sentences["rare"].tolist() == [False, False, False, True, False]
    # the nearest of 90 is 2: 1 - cos(88 degrees)
    assert found.sentences["distance"][3] == pytest.approx(1 - np.cos(np.radians(88)), abs=1e-6)
    assert found.embedder == "compass" and found.embeddings.shape == (5, 2) and found.base_embeddings.shape == (4, 2)
    # what the base model says itself is near it, the same sentence many times over counts as often
    twice = find_rare(sentences, ["0", "90", "90"], Compass(), neighbours=2, share=0.2)
    assert twice.sentences["distance"][3] == pytest.approx(0, abs=1e-6)


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match=r"expected 1 to 1 \(the sentences of the base model\), got 5"):
        find_rare(pd.DataFrame({"text": ["0"]}), ["0"], Compass())
    with pytest.raises(ValueError, match="at least one row"):
        find_rare(pd.DataFrame({"text": []}), ["0"], Compass())
    with pytest.raises(ValueError, match=r"share: expected a number in \(0, 1\), got 1"):
        most_distant(np.zeros(3), share=1)


@pytest.mark.parametrize("shape", [(40, 6), (6, 40)])
def test_principal_components(shape: tuple[int, int]) -> None:
    vectors = np.random.default_rng(2).normal(size=shape) * np.linspace(1, 4, shape[1])
    centre, axes, explained = two_components(vectors)
    _, values, rows = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
    assert abs(axes @ rows[:2].T) == pytest.approx(np.eye(2), abs=1e-6)  # but for their signs
    assert explained == pytest.approx((values[:2] ** 2).sum() / (values**2).sum())
    assert centre == pytest.approx(vectors.mean(axis=0)) and (axes.max(axis=1) >= -axes.min(axis=1)).all()
