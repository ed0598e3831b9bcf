"""Effects of training seeds in several shapes, and the true rates of a model with these effects."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

SHAPES = ("normal", "uniform", "exponential", "two values", "collapse")


def seed_effects(shape: str, rng: np.random.Generator, size: tuple[int, ...]) -> Vector:
    """Seeds' effects of mean 0 and deviation 1.

    "two values": about +-0.95; "collapse": -1.9 in a fifth of them; "heavy": Student's t with three degrees of freedom.
    """
    if shape == "heavy":
        return np.asarray(rng.standard_t(3, size) / 3**0.5)
    if shape == "uniform":
        return np.asarray(rng.uniform(-(3**0.5), 3**0.5, size))
    if shape == "exponential":
        return np.asarray(rng.exponential(1, size) - 1)
    if shape == "two values":
        return np.asarray(0.95 * rng.choice([-1.0, 1.0], size) + 0.312 * rng.standard_normal(size))
    if shape == "collapse":
        return np.asarray(0.95 * np.where(rng.random(size) < 0.2, -2.0, 0.5) + 0.312 * rng.standard_normal(size))
    return rng.standard_normal(size)


def true_rates(rates: Vector, deviation: float, shape: str, draws: int = 40_000) -> Vector:
    """The mean over seeds of rate + effect, clipped to [0, 1]; clipping moves it away from the rate."""
    effects = deviation * seed_effects(shape, np.random.default_rng(9), (draws, 1))
    return np.asarray(np.clip(rates + effects, 0, 1).mean(axis=0))
