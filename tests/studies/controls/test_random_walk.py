"""The benchmark of random walks: its vectors by hand."""

from __future__ import annotations

import pytest
import torch

from studies.controls.random_walk import Walk, flat, moved, noise_like, page


def test_points_along_a_direction() -> None:
    w = {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor([[3.0]])}
    d = {"a": torch.tensor([0.5, -1.0]), "b": torch.tensor([[2.0]])}
    assert flat(moved(w, d, -2.0)).tolist() == [0.0, 4.0, -1.0]
    assert flat(moved(w, d, 0.0)).tolist() == flat(w).tolist()


def test_noise_has_the_length_of_the_direction_in_every_tensor() -> None:
    d = {"a": torch.tensor([3.0, 4.0]), "b": torch.zeros(3), "c": torch.full((1000,), 2.0)}
    noise = noise_like(d, seed=1)
    assert float(noise["a"].norm()) == pytest.approx(5.0, abs=1e-5)
    assert noise["b"].tolist() == [0.0] * 3
    # 1,000 Gaussian numbers and a constant vector: the cosine has a standard deviation of 1 / sqrt(1000); five of them
    cosine = float(noise["c"] @ d["c"] / (noise["c"].norm() * d["c"].norm()))
    assert abs(cosine) < 0.16
    assert not torch.equal(noise["a"], noise_like(d, seed=2)["a"])


def test_the_page_has_every_walk_and_the_mean_of_a_rate() -> None:
    at = {"w + d": 10.0, "w + d/2": 25.0, "w - d": 12.0, "w + noise": 30.0}
    walks = [Walk(2e-4, 0, 20, 4.5, at), Walk(2e-4, 1, 20, 4.7, {name: value + 4 for name, value in at.items()})]
    text = page(31.0, walks, {2e-4: 0.01})
    assert "| 0.0002 | 1 | 20 | 4.70 | 14.0 | 29.0 | 16.0 | 34.0 |" in text
    assert "| 0.0002 | mean of 2 | | | 12.0 | 27.0 | 14.0 | 32.0 |" in text
    assert "+0.010 at 0.0002." in text
